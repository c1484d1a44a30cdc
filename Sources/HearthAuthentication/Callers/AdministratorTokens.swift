internal import Foundation
internal import HearthRPC

/// Secrets whose bearers are administrators. Only their digests are kept.
package struct AdministratorTokens: Sendable {
  private let digests: Set<[UInt8]>

  /// So many bytes of letters and digits cannot be guessed.
  static let minimumBytes = 32
  private static let maximumFileBytes = 64 << 10

  /// - Parameter secrets: Each has at least 32 bytes, and none that a header cannot hold.
  /// - Throws: `TokenKeyError` that names the secret by its number, not by its text.
  package init(_ secrets: [String], source: String) throws(TokenKeyError) {
    guard !secrets.isEmpty else { throw TokenKeyError("\(source) has no token") }
    for (index, secret) in secrets.enumerated() {
      guard secret.utf8.count >= Self.minimumBytes else {
        throw TokenKeyError(
          "\(source): token \(index + 1) has \(secret.utf8.count) bytes, but must have at least \(Self.minimumBytes)")
      }
      guard secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw TokenKeyError("\(source): token \(index + 1) has characters that a header cannot hold")
      }
    }
    digests = Set(secrets.map { KnownTokens.digest($0[...], .caller) })
  }

  /// Reads a file with one token in each line. Empty lines and lines that begin with # do not count.
  package init(contentsOfFile path: String) throws(TokenKeyError) {
    let source = "The file \"\(path)\""
    let text: String
    do {
      text = try BoundedFile(path: path, maximumBytes: Self.maximumFileBytes).text()
    } catch {
      throw TokenKeyError("\(source) \(error)")
    }
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
    try self.init(lines.filter { !$0.isEmpty && !$0.hasPrefix("#") }, source: source)
  }

  /// - Parameter digest: That of a caller's token.
  /// - Returns: True if the token is one of the secrets.
  func contains(_ digest: [UInt8]) -> Bool { digests.contains(digest) }
}
