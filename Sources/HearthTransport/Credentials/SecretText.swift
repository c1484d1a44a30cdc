/// Takes secrets out of texts that people will read: backends and token providers may repeat a token in their messages.
package enum SecretText {
  /// What stands in the place of a secret.
  static let replacement = "(hidden)"

  /// `text` without any of `secrets`, and without anything that has the form of a JSON Web Token.
  package static func hidden(in text: String, secrets: [String] = []) -> String {
    var bytes = Array(text.utf8)
    // Shorter ones, such as "owner", are words rather than secrets, and would make messages unreadable.
    for secret in secrets where secret.utf8.count >= 8 {
      bytes = replacing(Array(secret.utf8), in: bytes)
    }
    return String(decoding: replacingWebTokens(in: bytes), as: UTF8.self)
  }

  private static func replacing(_ secret: [UInt8], in bytes: [UInt8]) -> [UInt8] {
    guard bytes.count >= secret.count else { return bytes }
    var result: [UInt8] = []
    var position = 0
    while position < bytes.count {
      if bytes[position] == secret[0], bytes[position...].starts(with: secret) {
        result += replacement.utf8
        position += secret.count
      } else {
        result.append(bytes[position])
        position += 1
      }
    }
    return result
  }

  /// A JSON Web Token begins with the base64url form of `{"` and has two more parts after dots (RFC 7519).
  private static func replacingWebTokens(in bytes: [UInt8]) -> [UInt8] {
    let start = Array("eyJ".utf8)
    var result: [UInt8] = []
    var position = 0
    while position < bytes.count {
      let run = bytes[position...].prefix { isTokenByte($0) || $0 == UInt8(ascii: ".") }
      if run.isEmpty {
        result.append(bytes[position])
        position += 1
        continue
      }
      let isToken = run.starts(with: start) && run.filter { $0 == UInt8(ascii: ".") }.count >= 2
      result += isToken ? Array(replacement.utf8) : Array(run)
      position = run.endIndex
    }
    return result
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="):
      true
    default:
      false
    }
  }
}
