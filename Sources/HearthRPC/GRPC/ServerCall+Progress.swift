internal import NIOCore
internal import Synchronization

// The request in progress, as ServerLoad counts it. One at a time in each call: a stream has done with one when it asks for the next.

extension ServerCall {
  /// Counts a request that is complete, in place of the one before.
  ///
  /// - Parameter isBody: True for a body of HTTP, whose parts are unknown before it is decoded into a message.
  /// - Throws: `CallStatus` RESOURCE_EXHAUSTED if there is no room for it.
  func requestBegins(_ request: ByteBuffer, isBody: Bool) throws(CallStatus) {
    try countRequest(request.readableBytes) { [method] in
      isBody ? method.endsTransaction != nil : method.endsTransaction?(request) ?? false
    }
  }

  /// Counts the bytes that are held while a body is decoded, in place of those before.
  func bodyGrows(to total: Int) throws(CallStatus) {
    try countRequest(total) { [method] in method.endsTransaction != nil }
  }

  /// Counts what is made of the entries of the request in progress.
  ///
  /// - Parameter message: The request as it is on the wire.
  func requestDecodes(entries: Int, of message: ByteBuffer) throws(CallStatus) {
    try countRequest(message.readableBytes + entries * Self.entryBytes) { [method] in
      method.endsTransaction?(message) ?? false
    }
  }

  /// The memory that a write, a name or a field's path takes in addition to its bytes in the request.
  private static let entryBytes = 512

  /// The request in progress has been answered, or has failed.
  func requestEnded() {
    let held = requestInProgress.withLock { held in
      defer { held = RequestBudget.Held() }
      return held
    }
    if held.bytes > 0 { load.requests.giveBack(held, of: origin) }
  }

  private func countRequest(_ total: Int, endsTransaction: () -> Bool) throws(CallStatus) {
    let isTaken = requestInProgress.withLock { held in
      load.requests.take(total, for: origin, &held, endsTransaction: endsTransaction)
    }
    guard isTaken else { throw .tooManyInProgress(total, load.limits.requestBytesInProgress) }
  }
}
