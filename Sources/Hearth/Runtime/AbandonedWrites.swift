internal import Foundation
internal import HearthModel
internal import HearthSync

/// The end of the writes that have no answer of the backend when their client ends: each gets an error with the
/// reason and its own place.
struct AbandonedWrites {
  /// The place of the writes that were saved.
  enum Place: Sendable {
    /// The queue of a cache on disk, which the next client continues.
    case disk
    /// A cache in memory, which ends with the client.
    case memory
    /// The queue of a cache that another process has, or that is damaged.
    case outOfReach
  }

  /// The reason why the client ends.
  let reason: NSError
  let place: Place
  /// The writes that are not saved.
  let unsaved: Set<WriteID>

  /// - Parameter lost: Gets those that were not saved, also writes that nobody waits for.
  func end(_ writes: [WriteID: WriteCompletion], _ lost: LostWrites) {
    for (id, write) in writes {
      if unsaved.contains(id) {
        write.refuse(Self.unsavedError(reason))
      } else {
        write.abandon(Self.error(reason, savedIn: place))
      }
    }
    guard !unsaved.isEmpty else { return }
    lost.add(unsaved, writes, because: reason.localizedDescription)
    let error = StatusError.notSaved(writeCount: unsaved.count, because: reason.localizedDescription)
    HearthLog.error("\(error.message)")
  }

  /// The error of a write that has ended before it was saved.
  static func unsavedError(_ reason: NSError) -> NSError {
    error(reason, "The write was not saved and is not sent.")
  }

  private static func error(_ reason: NSError, savedIn place: Place) -> NSError {
    switch place {
    case .disk: error(reason, "The write stays in the cache's queue.")
    case .memory: error(reason, "The write was saved in memory only; it is lost unless the backend has received it.")
    case .outOfReach: error(reason, "The write was saved in the cache's queue, which this client can no longer read.")
    }
  }

  private static func error(_ reason: NSError, _ consequence: String) -> NSError {
    guard reason != .terminated else {
      return .firestore(.cancelled, "The client was terminated before the backend answered. \(consequence)")
    }
    return .firestore(
      FirestoreErrorCode.Code(rawValue: reason.code) ?? .unknown, "\(reason.localizedDescription) \(consequence)",
      underlying: reason)
  }
}
