internal import HearthModel
internal import HearthRPC
internal import Synchronization

/// The memory for the targets of all Listen streams: see ``DatabaseLimits/targetBytes``.
///
/// An origin of calls may have as many bytes as it leaves free.
final class TargetBudget: Sendable {
  let maximumBytes: Int
  private let taken: Mutex<SharedLimit<CallOrigin>>

  init(maximumBytes: Int) {
    self.maximumBytes = maximumBytes
    taken = Mutex(SharedLimit(maximumBytes))
  }

  var usedBytes: Int { taken.withLock { $0.count } }

  /// The memory of a target by a small request, also with documents that rules look up for it. Measured: 1.6 to 5.2 KB.
  private static let bytesPerTarget = 8 << 10
  /// Measured: 1.2 bytes for long texts, 3.3 for names of documents, 7 for lists of small values.
  private static let bytesPerRequestByte = 8

  /// - Parameter requestBytes: The bytes of the target's request.
  /// - Throws: RESOURCE_EXHAUSTED if the origin may have no more now.
  func take(requestBytes: Int, for origin: CallOrigin) throws(CallStatus) -> TargetMemory {
    let bytes = Self.bytesPerTarget + Self.bytesPerRequestByte * requestBytes
    guard taken.withLock({ $0.take(bytes, for: origin) }) else {
      throw CallStatus(
        .resourceExhausted,
        "The target takes \(bytes) bytes, for which there is no room now. The targets of all streams together may take \(maximumBytes) bytes "
          + "(hearth serve --max-target-bytes), and those of one client as many as are still free.",
        exceeding: .targetBytes)
    }
    return TargetMemory(self, bytes, origin)
  }

  fileprivate func giveBack(_ bytes: Int, of origin: CallOrigin) {
    taken.withLock { $0.giveBack(bytes, of: origin) }
  }
}

/// The memory of one target. It is released with the last reference.
final class TargetMemory: Sendable {
  private let budget: TargetBudget
  private let bytes: Int
  private let origin: CallOrigin

  fileprivate init(_ budget: TargetBudget, _ bytes: Int, _ origin: CallOrigin) {
    self.budget = budget
    self.bytes = bytes
    self.origin = origin
  }

  deinit { budget.giveBack(bytes, of: origin) }
}
