internal import Foundation
internal import HearthModel

/// The position at which a list continues. To clients it is opaque text (``Session/text(of:)``); a token of another list is refused.
struct PageToken {
  enum Kind: UInt8 {
    case documents = 1
    case collections = 2
    case partitions = 3
  }

  /// Entries per page if the client does not set a page size.
  static let defaultPageSize = 300

  /// The last entry of the page before: a document's path below that of the list, a collection id, or a document's path.
  var lastID: String
  var kind: Kind
  /// The list: parent, collection and order. The token holds its hash only.
  private var listHash: UInt64

  init(lastID: String, kind: Kind, of list: String) {
    self.lastID = lastID
    self.kind = kind
    self.listHash = Self.hash(list)
  }

  /// - Throws: INVALID_ARGUMENT for bytes that are not a token of this list.
  init(parsing bytes: [UInt8], kind: Kind, of list: String) throws(StatusError) {
    guard bytes.count > 9, bytes.first == kind.rawValue,
      let id = String(bytes: bytes.dropFirst(9), encoding: .utf8)
    else {
      throw .invalid("invalid page token")
    }
    let hash = bytes.dropFirst().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard hash == Self.hash(list) else { throw .invalid("invalid page token") }
    self.init(lastID: id, kind: kind, of: list)
  }

  var bytes: [UInt8] {
    let hash = (0..<8).map { UInt8(truncatingIfNeeded: listHash >> (56 - 8 * $0)) }
    return [kind.rawValue] + hash + Array(lastID.utf8)
  }

  /// FNV-1a, 64 bits: the same in every run, which Swift's own hash is not.
  private static func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
  }
}
