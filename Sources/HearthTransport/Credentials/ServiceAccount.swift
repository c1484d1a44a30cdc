#if ServiceAccounts
  package import Foundation
  package import HearthModel
  internal import JWTKit

  /// A Google service account: its identity, and the key that proves it. No text of it shows the key.
  package struct ServiceAccount: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let email: String
    /// The project that the account belongs to, if the file says so.
    package let projectID: String?
    let keyID: String?
    let key: Insecure.RSA.PrivateKey

    /// Larger files are not service accounts; real ones have less than 3 KiB.
    private static let maximumFileBytes = 64 * 1024

    /// Reads the JSON file that the Google Cloud console provides for a service account.
    ///
    /// - Throws: `failedPrecondition` when the file cannot be read, `invalidArgument` when it is not the file of a service
    ///   account. The message names the file and the member, and never contains the key.
    package init(contentsOfFile path: String) throws(StatusError) {
      let content: Data
      do {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        content = try file.read(upToCount: Self.maximumFileBytes + 1) ?? Data()
      } catch {
        throw StatusError(
          code: .failedPrecondition,
          message: "Service account file \"\(path)\" cannot be read: \(FileFailure.reason(error)).")
      }
      guard content.count <= Self.maximumFileBytes else {
        throw StatusError(
          code: .invalidArgument,
          message:
            "Service account file \"\(path)\" has more than \(Self.maximumFileBytes) bytes, so it is not a service account's."
        )
      }
      try self.init(json: content, source: "Service account file \"\(path)\"")
    }

    /// Reads the members of a service account's JSON file.
    ///
    /// - Parameter source: The name of the text in messages.
    /// - Throws: `invalidArgument`; the message never contains the key.
    package init(json: Data, source: String) throws(StatusError) {
      // Foundation's own messages quote unreadable parts, which may be the key.
      guard let object = (try? JSONSerialization.jsonObject(with: json)) as? [String: Any] else {
        throw StatusError(code: .invalidArgument, message: "\(source) is not a JSON object.")
      }
      let members = ServiceAccountMembers(members: object, source: source)
      let type = try members.text("type")
      guard type == "service_account" else {
        throw members.error("type", "is \"\(type.prefix(40))\"; \"service_account\" is expected")
      }
      email = try members.text("client_email")
      guard email.contains("@") else { throw members.error("client_email", "is not an e-mail address") }
      projectID = try members.optionalText("project_id")
      keyID = try members.optionalText("private_key_id")
      let pem = try members.text("private_key")
      guard pem.contains("-----BEGIN") else {
        throw members.error("private_key", "is not a key in PEM form (\"-----BEGIN PRIVATE KEY-----\" is missing)")
      }
      do {
        key = try Insecure.RSA.PrivateKey(pem: pem)
      } catch {
        throw members.error("private_key", "is not an RSA key of at least 2048 bits in PEM form")
      }
    }

    package var description: String { "ServiceAccount(\(email))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["email": email]) }
  }

  /// The members of the file, with errors that name them and not their content.
  private struct ServiceAccountMembers {
    let members: [String: Any]
    let source: String

    func text(_ name: String) throws(StatusError) -> String {
      guard let text = try optionalText(name) else { throw error(name, "is missing") }
      return text
    }

    /// Nil if the member is missing or null.
    func optionalText(_ name: String) throws(StatusError) -> String? {
      guard let value = members[name], !(value is NSNull) else { return nil }
      guard let text = value as? String else { throw error(name, "is not a string") }
      guard !text.isEmpty else { throw error(name, "is empty") }
      return text
    }

    func error(_ name: String, _ fault: String) -> StatusError {
      StatusError(code: .invalidArgument, message: "\(source): member \"\(name)\" \(fault).")
    }
  }
#endif
