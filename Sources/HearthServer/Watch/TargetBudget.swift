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

  /// The memory of a target with one document, and with the documents that rules look up for it. Measured: up to 5.2 KB.
  private static let bytesPerTarget = 4 << 10
  /// The memory that the parts of a request take, for each byte with which they count in the request.
  private static let bytesPerRequestByte = 2

  /// - Parameter requestBytes: The bytes of the target's request, with those of what is made of its entries.
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
