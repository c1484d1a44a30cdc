internal import Foundation
internal import HearthModel
internal import HearthSync

/// The numbers of writes that were not saved, for each reason.
///
/// | writes | reported by the next list of pending writes | by the end of the client |
/// |---|---|---|
/// | without a completion: nobody has heard of them | yes | unless that list has reported them |
/// | with one, lost together with a client | - | yes |
///
/// A ``ClientLoop`` shares it with its clients. Confined to the queue that all of them run on.
final class LostWrites {
  private struct Loss {
    let reason: String
    var unheard: Int
    var heard: Int
  }

  private static let refused = "The cache did not take them."
  /// In the order in which the reasons came up. At most ``maximumReasons``, because each path or number in a reason makes another one.
  /// Writes lost for further reasons count as refused.
  private var losses: [Loss] = []
  private static let maximumReasons = 8

  /// - Parameters:
  ///   - unheard: The number of writes without a completion.
  ///   - heard: The number of writes with a completion that the end of the client reports as well.
  func add(unheard: Int, heard: Int = 0, because reason: String? = nil) {
    guard unheard + heard > 0 else { return }
    var reason = reason ?? Self.refused
    if losses.count >= Self.maximumReasons, !losses.contains(where: { $0.reason == reason }) { reason = Self.refused }
    if let index = losses.firstIndex(where: { $0.reason == reason }) {
      losses[index].unheard += unheard
      losses[index].heard += heard
    } else {
      losses.append(Loss(reason: reason, unheard: unheard, heard: heard))
    }
  }

  /// - Parameter isEnd: True if they end with the client.
  func add(_ writes: [WriteCall], isEnd: Bool, because reason: String? = nil) {
    let heard = writes.count(where: \.hasCaller)
    add(unheard: writes.count - heard, heard: isEnd ? heard : 0, because: reason)
  }

  /// - Parameter completions: The completions of the writes that have one.
  func add(_ writes: some Collection<WriteID>, _ completions: [WriteID: WriteCompletion], because reason: String) {
    let heard = writes.count { completions[$0]?.hasCaller ?? false }
    add(unheard: writes.count - heard, heard: heard, because: reason)
  }

  /// Reports the writes that nobody has heard of, once.
  ///
  /// - Parameter report: Gets the error for them, and returns true if a caller has heard of it. Otherwise they are reported again the next time.
  /// - Returns: False if there are none.
  func reportUnheard(_ report: (NSError) -> Bool) -> Bool {
    guard let error = error(\.unheard) else { return false }
    guard report(error) else { return true }
    for index in losses.indices { losses[index].unheard = 0 }
    losses.removeAll { $0.heard == 0 }
    return true
  }

  /// - Returns: The error for all of them; nil if there are none. It is not given again.
  func takeAll() -> NSError? {
    defer { losses = [] }
    return error { $0.unheard + $0.heard }
  }

  private func error(_ count: (Loss) -> Int) -> NSError? {
    let errors = losses.filter { count($0) > 0 }.map { StatusError.notSaved(writeCount: count($0), because: $0.reason) }
    guard let first = errors.first else { return nil }
    return .firestore(StatusError(code: first.code, message: errors.map(\.message).joined(separator: " Besides, ")))
  }
}
