internal import Foundation
internal import HearthRPC
package import Logging

extension TokenIssuer {
  /// The audiences of tokens that a service account signs itself for Firestore (Google documentation, "Self-signed JWTs").
  private static let firestoreAudiences: Set<String> = [
    "https://firestore.googleapis.com/", "https://firestore.googleapis.com",
    "https://firestore.googleapis.com/google.firestore.v1.Firestore",
  ]

  /// Larger files are not service accounts; real ones have less than 3 KiB.
  private static let maximumFileBytes = 64 << 10

  /// A service account, by the JSON file of its key. Only the public half of the key is kept.
  ///
  /// - Throws: `TokenKeyError` that names the file and the member, and never contains the key.
  package static func serviceAccount(
    contentsOfFile path: String, logger: Logger
  ) async throws(TokenKeyError) -> TokenIssuer {
    let source = "Service account file \"\(path)\""
    let content: Data
    do {
      content = try BoundedFile(path: path, maximumBytes: maximumFileBytes).contents()
    } catch {
      throw TokenKeyError("\(source) \(error)")
    }
    // Foundation's own messages quote unreadable parts, which may be the key.
    guard let members = (try? JSONSerialization.jsonObject(with: content)) as? [String: Any] else {
      throw TokenKeyError("\(source) is not a JSON object")
    }
    guard members["type"] as? String == "service_account", let email = members["client_email"] as? String,
      email.contains("@")
    else {
      throw TokenKeyError("\(source) is not the key file of a service account (type, client_email)")
    }
    guard let pem = members["private_key"] as? String,
      let key = await TokenKey.publicHalf(ofPrivateKey: pem, id: members["private_key_id"] as? String)
    else {
      throw TokenKeyError("\(source): private_key is not an RSA key of at least 2048 bits in PEM form")
    }
    return TokenIssuer(
      name: email, audiences: firestoreAudiences, keys: TokenKeys(TokenKeySet([key]), logger: logger),
      role: .administrator)
  }
}
