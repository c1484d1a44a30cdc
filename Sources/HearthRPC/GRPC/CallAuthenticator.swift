internal import HearthModel

/// Identifies the callers of a server before anything of a call is carried out.
package protocol CallAuthenticator: Sendable {
  /// Identifies a caller without waiting. Called on event loops, for every call.
  ///
  /// - Throws: `CallStatus` UNAUTHENTICATED or INVALID_ARGUMENT for credentials that are not accepted.
  func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller

  /// Identifies a caller. It may wait for keys, and computes.
  ///
  /// It is called again, from time to time, as long as a stream is open whose credentials expire: keys may be withdrawn.
  ///
  /// - Throws: As ``known(_:)``; UNAVAILABLE if the keys cannot be had.
  func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity
}

/// The identity of a caller, as far as it is known without waiting.
package enum KnownCaller: Sendable {
  case identity(CallIdentity)
  /// The credentials were accepted before, and ``CallAuthenticator/identify(_:)`` has to find out whether they still are.
  case toBeConfirmed
  /// ``CallAuthenticator/identify(_:)`` has to verify the credentials.
  case unknown
}

/// The identity of a caller, as the service that is called understands it.
package struct CallIdentity: Sendable {
  package let caller: any Sendable
  /// When the credentials expire; nil for those that do not, and cannot be withdrawn either.
  package let expiry: ContinuousClock.Instant?

  package init(_ caller: any Sendable, expiry: ContinuousClock.Instant? = nil) {
    self.caller = caller
    self.expiry = expiry
  }
}
