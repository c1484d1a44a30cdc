internal import GRPCCore
internal import HearthModel
internal import HearthWire

/// The progress of a call when it failed.
enum CallStage: Sendable {
  case connecting, connected, unknown
}

extension StatusError {
  /// Translates `error`, thrown by a call to the backend at `endpoint`, for the modules above.
  ///
  /// - Parameter stage: the progress of the call, as far as it is known. It decides what the message says about a backend that is
  ///   unavailable.
  init(_ error: any Error, endpoint: String, stage: CallStage) {
    switch error {
    case let error as StatusError:
      self = error
    case let error as WireError:
      self.init(code: .internal, message: "The answer of \(endpoint) cannot be understood: \(error)")
    case let error as RPCError:
      self.init(error, endpoint: endpoint, stage: stage)
    case let error as RuntimeError:
      self.init(code: .unavailable, message: "Cannot connect to \(endpoint): \(StatusError.chain(error))")
    case is CancellationError:
      self.init(code: .cancelled, message: "The call to \(endpoint) was cancelled.")
    default:
      self.init(code: .unknown, message: "The call to \(endpoint) failed: \(error)")
    }
  }

  /// The same error with a message that repeats none of `secrets`.
  func hiding(_ secrets: [String]) -> StatusError {
    StatusError(code: code, message: SecretText.hidden(in: message, secrets: secrets))
  }

  private init(_ error: RPCError, endpoint: String, stage: CallStage) {
    let code = StatusCode(rawValue: error.code.rawValue) ?? .unknown
    switch (code, error.cause) {
    case (.unavailable, nil) where stage == .unknown && !error.metadata.isEmpty:
      // Only an answer has metadata: the backend is there, and says what is not.
      self.init(code: .unavailable, message: error.message)
    case (.unavailable, _) where stage == .connecting:
      self.init(code: .unavailable, message: "Cannot connect to \(endpoint): \(StatusError.chain(error))")
    case (.unavailable, _) where stage == .unknown:
      self.init(code: .unavailable, message: "\(endpoint) is unavailable: \(StatusError.chain(error))")
    case (.unknown, .some):
      // A status of the backend has no cause: this end lost the connection.
      self.init(code: .unavailable, message: "Lost the connection to \(endpoint): \(StatusError.chain(error))")
    case (_, .some):
      self.init(code: code, message: StatusError.chain(error))
    case (_, nil):
      self.init(code: code, message: error.message)
    }
  }

  /// The messages of an error and of its causes, outermost first.
  private static func chain(_ error: any Error) -> String {
    var messages: [String] = []
    var next: (any Error)? = error
    while let current = next, messages.count < 8 {
      switch current {
      case let error as RPCError:
        messages.append(error.message)
        next = error.cause
      case let error as RuntimeError:
        messages.append(error.message)
        next = error.cause
      default:
        messages.append(String(describing: current))
        next = nil
      }
    }
    return messages.map(inWords).joined(separator: " ")
  }

  /// The names by which NIOSSL and BoringSSL call what is wrong with a backend's certificate.
  private static let certificateFaults = [
    (name: "failedToValidateHostname", text: untrustedName),
    (name: "CERTIFICATE_VERIFY_FAILED", text: untrustedCertificate),
  ]

  /// The message for a certificate that is for other hosts.
  package static let untrustedName = "The backend's certificate is not one for this host."
  /// The message for a certificate that cannot be verified.
  package static let untrustedCertificate =
    "The backend's certificate is not trusted: it is of an unknown authority, has expired, or is not valid yet."

  /// The message of a library without the places in its source, and in words where its reason is a wrong setting.
  private static func inWords(_ message: String) -> String {
    // BoringSSL reads the answer of a server without TLS as a record of an unknown version.
    if ["WRONG_VERSION_NUMBER", "HTTP_REQUEST"].contains(where: message.contains) {
      return "The backend there does not use TLS."
    }
    if let known = certificateFaults.first(where: { message.contains($0.name) }) { return known.text }
    return message.replacing(#/ at /[^\s\])]+/#, with: "")
  }
}
