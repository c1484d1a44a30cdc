/// Removes secrets from texts that people read: backends and token providers may repeat a token in their messages.
package enum SecretText {
  /// The replacement of a secret.
  static let replacement = Array("(hidden)".utf8)

  /// Parts of tokens that are shorter than this many bytes are words rather than secrets.
  private static let shortestPart = 12

  /// Returns `text` without any of `secrets`, their beginnings and their parts between dots, and without anything that has the form of a
  /// JSON Web Token, of one of Google's access or refresh tokens, or of a private key in PEM form.
  package static func hidden(in text: String, secrets: [String] = []) -> String {
    // By form first: otherwise only the common part of two tokens might be removed from one of them.
    let bytes = replacingTokens(in: replacingPrivateKeys(in: Array(text.utf8)))
    // Shorter ones, such as "owner", are words rather than secrets, and would make messages unreadable.
    let known = secrets.map { Array($0.utf8) }.filter { $0.count >= 8 }
    let parts = known.flatMap { $0.split(separator: UInt8(ascii: ".")) }.filter { $0.count >= shortestPart }.map(
      Array.init)
    return String(decoding: replacing(known + parts, in: bytes), as: UTF8.self)
  }

  /// Replaces secrets and beginnings of secrets: messages may truncate long texts.
  private static func replacing(_ secrets: [[UInt8]], in bytes: [UInt8]) -> [UInt8] {
    let beginnings = secrets.map { $0.prefix(shortestPart) }
    var result: [UInt8] = []
    var position = 0
    while position < bytes.count {
      let rest = bytes[position...]
      let longest = zip(secrets, beginnings).lazy.filter { rest.starts(with: $0.1) }
        .map { zip(rest, $0.0).prefix { $0 == $1 }.count }.max()
      if let longest {
        result += replacement
        position += longest
      } else {
        result.append(bytes[position])
        position += 1
      }
    }
    return result
  }

  // MARK: - Tokens by their form

  /// The beginnings of tokens: a JSON Web Token with the base64url form of `{"` (RFC 7519), Google's access and refresh tokens with
  /// prefixes of their own.
  private static let tokenStarts = ["eyJ", "ya29.", "1//0"].map { Array($0.utf8) }
  /// Shorter texts are not tokens.
  private static let shortestToken = 16

  private static func replacingTokens(in bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var position = 0
    var previous: UInt8?
    while position < bytes.count {
      let rest = bytes[position...]
      if !(previous.map(isWordByte) ?? false), let start = tokenStarts.first(where: { rest.starts(with: $0) }) {
        let end = rest.dropFirst(start.count).firstIndex { !isTokenByte($0) } ?? bytes.endIndex
        if end - position >= shortestToken {
          result += replacement
          previous = nil
          position = end
          continue
        }
      }
      previous = bytes[position]
      result.append(bytes[position])
      position += 1
    }
    return result
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      false
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isWordByte(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "=")
      || byte == UInt8(ascii: ".")
  }

  // MARK: - Private keys

  /// Replaces PEM blocks (RFC 7468) whose label ends in `PRIVATE KEY`, up to their end or that of the text.
  private static func replacingPrivateKeys(in bytes: [UInt8]) -> [UInt8] {
    let (begin, label, end) = (Array("-----BEGIN ".utf8), Array("PRIVATE KEY-----".utf8), Array("-----END ".utf8))
    var result: [UInt8] = []
    var rest = bytes[...]
    while let start = rest.firstOffset(of: begin) {
      let title = rest[(start + begin.count)...].prefix(64)
      guard let labelStart = title.firstOffset(of: label) else {
        result += rest[..<(start + begin.count)]
        rest = rest[(start + begin.count)...]
        continue
      }
      result += rest[..<start] + replacement
      rest = rest[(labelStart + label.count)...]
      guard let last = rest.firstOffset(of: end) else { return result }
      rest = rest[(last + end.count)...]
      rest = rest[(rest.firstOffset(of: label).map { $0 + label.count } ?? rest.endIndex)...]
    }
    return result + rest
  }
}

extension ArraySlice<UInt8> {
  /// The index at which `pattern`, which is not empty, first begins.
  fileprivate func firstOffset(of pattern: [UInt8]) -> Int? {
    guard count >= pattern.count else { return nil }
    return (startIndex...(endIndex - pattern.count)).first {
      self[$0] == pattern[0] && self[$0...].starts(with: pattern)
    }
  }
}
