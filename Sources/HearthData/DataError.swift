package import HearthModel
internal import HearthTransport

/// A failure of `hearth data`, in words that name the value, the place and what to do.
package struct DataError: Error, Sendable, CustomStringConvertible {
  package var description: String
  /// True if the reader of standard output has ended, such as `head`. Then the program exits silently.
  package var isBrokenPipe = false
  /// True if the words of the command line are wrong, so that the same command cannot succeed.
  package private(set) var isWrongArgument = false

  /// True if the description says how much of long work was done.
  package var saysProgress = false

  /// - Parameter description: A sentence or more. One that ends with the sentence of another error has one full stop all the same.
  package init(_ description: String) {
    var description = description
    while description.hasSuffix(".."), !description.hasSuffix("...") { description.removeLast() }
    self.description = description
  }
}

extension DataError {
  /// A word of the command line that is not understood.
  package static func argument(_ description: String) -> DataError {
    var error = DataError(description)
    error.isWrongArgument = true
    return error
  }

  /// A file that the system does not let us use.
  static func file(_ path: String, _ fault: String) -> DataError {
    DataError("\"\(path)\" \(fault)")
  }

  /// A file or a stream that the system does not let us use.
  ///
  /// - Parameters:
  ///   - place: Its name, such as `"fields.json"`.
  ///   - what: The work that failed, such as "read".
  package static func file(_ place: String, cannotBe what: String, _ error: any Error) -> DataError {
    DataError("\(place) cannot be \(what): \(FileFailure.reason(error)).")
  }

  /// True if the other end has ended a handshake because of this end's certificate (RFC 8446, section 6.2).
  private static func refusesCertificate(_ message: String) -> Bool {
    ["ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_CERTIFICATE_EXPIRED", "ALERT_CERTIFICATE_UNKNOWN"]
      .contains(where: message.contains)
  }

  private static let startHint =
    " Is the backend running there? Start one with `hearth serve --in-memory` or `hearth serve --data FOLDER`, or name another with --host HOST:PORT."

  /// True if this end has lost the connection, or had none. The message of a backend that has answered is its own.
  private static func isOfConnection(_ message: String) -> Bool {
    ["Cannot connect to ", "Lost the connection to ", " is unavailable: "].contains(where: message.contains)
  }

  /// True if a write that needs a document found none (`hearth serve` and Cloud Firestore, Google's emulator).
  private static func findsNoDocument(_ message: String) -> Bool {
    message.contains("No document to update") || message.contains("no entity to update")
  }

  /// The failure of a call, with a hint for the usual reasons.
  ///
  /// - Parameters:
  ///   - what: The subject of the sentence, such as "Reading".
  ///   - place: The address of the backend.
  ///   - hasCaller: True if the call had a token that identifies its caller.
  package init(_ error: StatusError, doing what: String, at place: String, hasCaller: Bool) {
    guard !error.message.contains("Connection refused") else {
      self.init(
        "\(what): nothing listens at \(place).\(Self.startHint)"
      )
      return
    }
    guard !error.message.contains(StatusError.untrustedCertificate) else {
      self.init(
        "\(what): the certificate of \(place) is not trusted: it is of an unknown authority (name the file of one of your own with "
          + "--ca-file), has expired, or is not valid yet.")
      return
    }
    guard !error.message.contains(StatusError.untrustedName) else {
      self.init(
        "\(what): the certificate of the backend is not one for \(place). Use a name or an address that it has. An address has to be in it "
          + "as one (subjectAltName=IP:127.0.0.1), a name as one (DNS:localhost).")
      return
    }
    guard !error.message.contains("CERTIFICATE_REQUIRED") else {
      self.init(
        "\(what): the server at \(place) demands a certificate of its callers: give yours with --cert-file and --key-file."
      )
      return
    }
    guard !Self.refusesCertificate(error.message) else {
      self.init(
        "\(what): the server at \(place) does not accept the certificate in --cert-file: it is of an authority that the server does not "
          + "know (`hearth serve` knows those of --tls-client-authority), has expired, or is not valid yet.")
      return
    }
    guard !error.message.contains("Couldn't resolve") else {
      self.init("\(what): the host of \(place) is not known: no name server has an address for it.")
      return
    }
    let isOfToken = error.message.contains("token is not accepted")
    let hint =
      switch error.code {
      case .unavailable where error.message.contains("does not use TLS"): " Leave out --tls."
      case .unavailable where error.message.contains("EOF during handshake"):
        " The connection was closed before TLS began: the server may have as many as it allows (hearth serve --max-connections)."
      case .unavailable where error.message.contains("HTTP/2 connection preface"):
        " Is a Firestore backend there? If it uses TLS, add --tls. `hearth serve` also closes a connection beyond --max-connections at once."
      case .unavailable where Self.isOfConnection(error.message): Self.startHint
      case .notFound where Self.findsNoDocument(error.message):
        " `hearth data set` without --must-exist creates a document that is missing; with --merge it keeps the other fields of one that exists."
      case .invalidArgument where error.message.contains("invalid jwt"):
        " What was given with --token or HEARTH_TOKEN is not a token. A token is a JSON Web Token: three parts with full stops between "
          + "them, such as eyJhbGciOi….eyJzdWIiOi….c2lnbmF0, as Firebase Auth (getIDToken) or an OpenID provider gives it to a signed-in "
          + "user. This server verifies no token, so the third part may be empty; the text then ends with the second full stop. Without "
          + "--token and HEARTH_TOKEN you call as the owner, for whom no rules apply."
      case .unauthenticated where !hasCaller && isOfToken:
        " No token was given. To a server without TLS `hearth data` sends \"owner\" then, and this one is locked: give --token or "
          + "HEARTH_TOKEN."
      case .unauthenticated where error.message.contains("not a JSON Web Token"):
        " Users have a token of three parts with full stops between them, which Firebase Auth (getIDToken) or an OpenID provider gives; "
          + "administrators have a line of the server's --admin-token-file. Give one of them with --token or HEARTH_TOKEN."
      case .unauthenticated where isOfToken:
        " Give another one with --token or HEARTH_TOKEN."
      case .unauthenticated where hasCaller:
        " The backend does not accept the token or the key that was given: give another one."
      case .unauthenticated: " Give --token (or HEARTH_TOKEN), or --credentials with the key file of a service account."
      case .permissionDenied where hasCaller:
        " The caller whose token was given may not do this: give that of another one with --token (or HEARTH_TOKEN). Users may do what the "
          + "rules allow, on a locked server only in the projects of its --project; `hearth rules explain` shows which rule decides. Only "
          + "administrators may list databases and collections, and export all of them."
      case .permissionDenied:
        " Another caller may be allowed to: give --token (or HEARTH_TOKEN), or --credentials with the key file of a service account."
      case .deadlineExceeded: " The backend at \(place) is slow; ask for less with --limit, or try again."
      default: ""
      }
    let text = error.message.hasSuffix(".") ? error.description : error.description + "."
    self.init("\(what): \(text)\(hint)")
  }
}
