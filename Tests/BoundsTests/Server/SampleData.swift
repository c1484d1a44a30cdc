import HearthWire
import Synchronization

/// The documents that attacks read: few megabytes, which a server that holds a result for each client has many times.
enum SampleData {
  static let bigCount = 500
  /// Bytes of the text in a document of `big`; 16 MB in all.
  static let bigText = 32_000
  static let largeCount = 16
  static let subcollections = 2000

  static func load(with client: CallClient) async throws {
    try await overwriteBig(with: client)
    for first in stride(from: 0, to: largeCount, by: 8) {
      let text = String(repeating: "l", count: 900_000)
      try await client.answers(
        to: .commit((first..<first + 8).map { try .set("large/\($0)", ["s": .string(text), "n": .integer($0)]) }))
    }
    try await client.answers(
      to: .commit((0..<subcollections).map { try .set("tree/root/branch\($0)/leaf", ["n": .integer($0)]) }))
    try await client.answers(
      to: .commit((0..<subcollections).map { try .set("missing/\($0)/leaves/leaf", ["n": .integer($0)]) }))
  }

  /// Gives every document of `big` another text of the same size.
  static func overwriteBig(with client: CallClient) async throws {
    let text = nextText()
    for first in stride(from: 0, to: bigCount, by: 25) {
      try await client.answers(to: .commit((first..<first + 25).map { try bigDocument($0, text) }))
    }
  }

  /// A text that the one before differs from, so that writing it is a change.
  static func nextText() -> String {
    let number = texts.withLock { count in
      count += 1
      return count
    }
    return String(repeating: Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(number % 26))), count: bigText)
  }

  private static let texts = Mutex(0)

  static func bigDocument(_ id: Int, _ text: String) throws -> Google_Firestore_V1_Write {
    try .set(
      "big/\(id)",
      [
        "n": .integer(id), "m": .integer(id * 7919 % bigCount), "s": .string(text),
        "v": .vector([Double(id % 17), Double(id % 23), Double(id % 29), 1]),
      ])
  }
}
