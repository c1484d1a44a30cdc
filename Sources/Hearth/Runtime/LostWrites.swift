internal import Foundation
internal import HearthModel
internal import HearthSync

/// The writes without a completion that were not saved and that nobody has heard of. They are reported once: by the next list of pending
/// writes, or by the end of the client.
///
/// A ``ClientLoop`` shares it with its clients. Confined to the queue that all of them run on.
final class LostWrites {
  private var count = 0

  func add(_ count: Int) { self.count += count }

  /// Adds what was not reported to an error that is reported.
  func takeError(after error: NSError?) -> NSError? {
    guard let error else { return takeError() }
    guard let lost = takeError() else { return error }
    return .firestore(.unavailable, "\(error.localizedDescription) Besides, \(lost.localizedDescription)")
  }

  /// - Returns: The error to report; nil if there is nothing that was not reported.
  func takeError() -> NSError? {
    guard count > 0 else { return nil }
    defer { count = 0 }
    return .firestore(StatusError.notSaved(writeCount: count, because: "The cache did not take them."))
  }
}
