/// Reads the records of a file in the log format of LevelDB, in which emulators write their exports.
///
/// The file consists of blocks of 32 KiB, and a block of pieces: a masked CRC-32C of the type and the bytes, a length of two bytes, a type
/// (whole record, first, middle or last piece of one), and the bytes. The rest of a block that is too short for a piece is zero.
struct LogRecords {
  static let blockBytes = 32 << 10
  static let headerBytes = 7

  private enum PieceType: UInt8 {
    case whole = 1
    case first = 2
    case middle = 3
    case last = 4
  }

  /// A place that is not as the format demands.
  struct Failure: Error {
    var offset: Int
    var message: String
  }

  private let bytes: [UInt8]
  private var position = 0
  /// The place of the latest piece.
  private var pieceStart = 0
  /// The place of the latest record.
  private(set) var recordStart = 0
  /// Nothing is read behind the first fault.
  private var failure: Failure?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The next record; nil at the end of the file.
  mutating func next() throws(Failure) -> [UInt8]? {
    if let failure { throw failure }
    do throws(Failure) {
      return try nextRecord()
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func nextRecord() throws(Failure) -> [UInt8]? {
    var record: [UInt8]?
    while true {
      guard let (type, piece) = try nextPiece() else {
        guard record == nil else {
          throw Failure(offset: bytes.count, message: "the file ends within a record; it is cut off")
        }
        return nil
      }
      if record == nil { recordStart = pieceStart }
      switch (type, record) {
      case (.whole, nil): return Array(piece)
      case (.first, nil): record = Array(piece)
      case (.middle, _?): record?.append(contentsOf: piece)
      case (.last, let former?): return former + piece
      default: throw fault("the pieces of a record are out of order")
      }
    }
  }

  private func fault(_ message: String) -> Failure { Failure(offset: pieceStart, message: message) }

  private var blockRest: Int { Self.blockBytes - position % Self.blockBytes }

  private mutating func nextPiece() throws(Failure) -> (PieceType, ArraySlice<UInt8>)? {
    while true {
      // The end of a block that is too short for a piece.
      if blockRest < Self.headerBytes { position += blockRest }
      guard position < bytes.count else { return nil }
      pieceStart = position
      guard bytes.count - position >= Self.headerBytes else {
        throw fault("the file ends within the header of a record; it is cut off")
      }
      let header = bytes[position..<(position + Self.headerBytes)]
      if header.allSatisfy({ $0 == 0 }) {
        try skipUnusedSpace()
        continue
      }
      return try piece(header)
    }
  }

  /// Skips the rest of a block that a writer has filled with zeros.
  private mutating func skipUnusedSpace() throws(Failure) {
    let end = min(position + blockRest, bytes.count)
    guard bytes[position..<end].allSatisfy({ $0 == 0 }) else {
      throw fault("a record has neither a type nor a length; the file is damaged")
    }
    guard position % Self.blockBytes > 0 else { throw fault("a block holds nothing but zeros; the file is damaged") }
    position = end
  }

  private mutating func piece(_ header: ArraySlice<UInt8>) throws(Failure) -> (PieceType, ArraySlice<UInt8>) {
    let checksum = header.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let length = Int(header[header.startIndex + 4]) | Int(header[header.startIndex + 5]) << 8
    let start = position + Self.headerBytes
    guard length <= blockRest - Self.headerBytes, start + length <= bytes.count else {
      throw fault("a record is longer than its block or the file; the file is damaged or cut off")
    }
    guard let type = PieceType(rawValue: header[header.startIndex + 6]) else {
      throw fault("\(header[header.startIndex + 6]) is not a type of record")
    }
    guard CRC32C.masked(bytes[(start - 1)..<(start + length)]) == checksum else {
      throw fault("the checksum of a record is wrong; the file is damaged")
    }
    position = start + length
    return (type, bytes[start..<position])
  }
}

/// The checksum of LevelDB's logs: CRC-32C (RFC 3720, appendix B.4), rotated and added to so that checksums of checksums differ.
enum CRC32C {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
  }

  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ crc >> 8 }
  }

  static func masked(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    let crc = checksum(bytes)
    return (crc >> 15 | crc << 17) &+ 0xA282_EAD8
  }
}
