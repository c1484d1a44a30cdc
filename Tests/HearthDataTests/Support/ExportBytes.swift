@testable import HearthData

/// Writes the files of an emulator's export, independently of the reader.
enum ExportBytes {
  /// A log of LevelDB.
  static func log(_ records: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    for record in records {
      var rest = record[...]
      var isFirst = true
      repeat {
        let room = 32768 - bytes.count % 32768
        if room < 7 {
          bytes += Array(repeating: 0, count: room)
          continue
        }
        let piece = rest.prefix(room - 7)
        rest = rest.dropFirst(piece.count)
        let type: UInt8 = isFirst ? (rest.isEmpty ? 1 : 2) : (rest.isEmpty ? 4 : 3)
        let crc = CRC32C.masked([type] + piece)
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: crc >> (8 * UInt32($0))) }
        bytes += [UInt8(piece.count & 0xFF), UInt8(piece.count >> 8), type] + piece
        isFirst = false
      } while !rest.isEmpty || isFirst
    }
    return bytes
  }

  static func varint(_ value: Int) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F | 0x80)] + varint(value >> 7)
  }

  static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(bytes.count) + bytes
  }
  static func field(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

  private static func group(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
    varint(number << 3 | 3) + bytes + varint(number << 3 | 4)
  }

  /// A database as exports name it: the default one by its project alone.
  struct Database {
    var project: String
    var id: String?
  }

  /// The document `c/ID`.
  static func entity(
    _ id: String, in database: Database = Database(project: "p"), text: String = "x",
    references: [(name: String, database: Database)] = []
  ) -> [UInt8] {
    let path = group(1, field(2, "c") + field(4, id))
    let key = field(13, "dev~" + database.project) + field(14, path) + (database.id.map { field(23, $0) } ?? [])
    let properties = references.map { reference in
      let element = group(14, field(15, "c") + field(17, "1"))
      let value = field(13, "dev~" + reference.database.project) + element
      return property(reference.name, group(12, value + (reference.database.id.map { field(23, $0) } ?? [])))
    }
    return field(13, key) + property("t", field(3, text)) + properties.joined()
  }

  private static func property(_ name: String, _ value: [UInt8]) -> [UInt8] {
    field(15, field(3, name) + [0x20, 0] + field(5, value))
  }

  /// The part of an `.export_metadata` that names its outputs.
  static func metadata(_ outputs: [String]) -> [UInt8] {
    field(1, field(1, "e")) + field(2, field(1, "") + outputs.flatMap { field(2, $0) })
  }

  /// An `.overall_export_metadata` that names others, with the bytes of their outputs.
  static func overall(_ metadata: [(name: String, bytes: Int)]) -> [UInt8] {
    log([Array("3".utf8), metadata.flatMap { field(1, field(2, $0.name) + [0x18, 1, 0x20] + varint($0.bytes)) }])
  }
}
