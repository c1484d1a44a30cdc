internal import HearthModel

/// Identifies the callers of a server before anything of a call is carried out.
package protocol CallAuthenticator: Sendable {
  /// Identifies a caller without waiting. Called on event loops, for every call.
  ///
  /// - Returns: Nil if it takes longer. Then ``identify(_:)`` is asked.
  /// - Throws: `CallStatus` UNAUTHENTICATED or INVALID_ARGUMENT for credentials that are not accepted.
  func known(_ metadata: CallMetadata) throws(CallStatus) -> CallIdentity?

  /// Identifies a caller. It may wait for keys, and computes.
  ///
  /// - Throws: As ``known(_:)``; UNAVAILABLE if the keys cannot be had.
  func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity
}

/// The identity of a caller, as the service that is called understands it.
package struct CallIdentity: Sendable {
  package let caller: any Sendable
  /// When the credentials expire; nil for those that do not.
  package let expiry: ContinuousClock.Instant?

  package init(_ caller: any Sendable, expiry: ContinuousClock.Instant? = nil) {
    self.caller = caller
    self.expiry = expiry
  }
}

extension ServerCall {
  /// Ends the call when its caller's credentials expire, as long as it is in progress.
  ///
  /// - Returns: The task that waits for that, to be cancelled at the end of the call; nil if nothing expires.
  func endingAtExpiry() -> Task<Void, Never>? {
    guard let expiry = identity?.expiry else { return nil }
    return Task { [weak self] in
      guard (try? await Task.sleep(until: expiry, clock: .continuous)) != nil else { return }
      self?.stop(CallStatus(.unauthenticated, "The token of the call has expired."))
    }
  }
}
