/// Provides the token of requests, each time a stream is opened or a call is made.
package protocol CredentialsProvider: Sendable {
  /// Returns the token to send, or `nil` to send requests without one.
  func token() async throws -> AccessToken?

  /// The backend refused `token`, or a request without one: the next token must be fetched again, unless another one was fetched since.
  /// Takes effect at once, so that a stream which is opened right afterwards does not get the refused token.
  func invalidate(_ token: AccessToken?)
}

/// A bearer token. Its description never shows it, so that it cannot reach a log.
package struct AccessToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The secret itself, as it follows `Bearer ` in the header.
  package let value: String

  package init(_ value: String) {
    self.value = value
  }

  package var description: String { "AccessToken(hidden)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Sends no token: security rules decide what such requests may do.
package struct NoCredentials: CredentialsProvider {
  package init() {}
  package func token() async -> AccessToken? { nil }
  package func invalidate(_ token: AccessToken?) {}
}

/// Sends the token of an emulator's owner, who is not subject to security rules. Emulators and local servers accept it.
package struct OwnerCredentials: CredentialsProvider {
  package init() {}
  package func token() async -> AccessToken? { AccessToken("owner") }
  package func invalidate(_ token: AccessToken?) {}
}
