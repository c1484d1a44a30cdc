import HearthModel
import TestSupport
import Testing

@testable import HearthData

@Suite("The files of an emulator's export")
struct LogRecordsTests {
  /// Writes records in the format, independently of the reader.
  private func log(_ records: [[UInt8]]) -> [UInt8] {
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

  private func records(_ bytes: [UInt8]) throws -> [[UInt8]] {
    var reader = LogRecords(bytes)
    var records: [[UInt8]] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }

  @Test("the checksum is CRC-32C, as RFC 3720 shows it")
  func checksum() {
    #expect(CRC32C.checksum(Array(repeating: 0, count: 32)[...]) == 0x8A91_36AA)
    #expect(CRC32C.checksum(Array(0..<32)[...]) == 0x46DD_794E)
  }

  @Test("records of all sizes are read, over the borders of blocks")
  func sizes() throws {
    for size in [0, 1, 32754, 32755, 32761, 32762, 70_000] {
      let expected: [[UInt8]] = [[1, 2], Array(repeating: 7, count: size), [3], Array(repeating: 9, count: 33_000)]
      #expect(try records(log(expected)) == expected, "\(size)")
    }
  }

  @Test("a file that is cut off or damaged is refused, and never crashes")
  func damage() throws {
    let bytes = log([Array(repeating: 5, count: 40_000), [1, 2, 3]])
    for cut in [1, 6, 7, 100, 32768, 40_000, bytes.count - 1] {
      #expect(throws: LogRecords.Failure.self, "\(cut)") { try records(Array(bytes.prefix(cut))) }
    }
    var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 3)
    for _ in 0..<300 {
      var damaged = bytes
      damaged[generator.below(bytes.count)] ^= UInt8(1 + generator.below(255))
      #expect(throws: LogRecords.Failure.self) { try records(damaged) }
    }
  }

  @Test("entities of any bytes are read or refused")
  func entities() {
    // A key, and a property "i" of 42.
    let path: [UInt8] = [0x0B, 0x12, 1, 0x61, 0x22, 1, 0x62, 0x0C]
    let key: [UInt8] = [0x6A, UInt8(path.count + 2), 0x72, UInt8(path.count)] + path
    let property: [UInt8] = [0x7A, 9, 0x1A, 1, 0x69, 0x20, 0, 0x2A, 2, 0x08, 42]
    let entity = key + property
    let reader = EntityReader(database: DatabaseID(projectID: "p"))
    let document = try? reader.document(entity)
    #expect(document?.key.canonicalString == "a/b" && document?.fields == ["i": 42])
    var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 5)
    for _ in 0..<5000 {
      var damaged = entity
      for _ in 0..<(1 + generator.below(3)) { damaged[generator.below(damaged.count)] = UInt8(generator.below(256)) }
      _ = try? reader.document(Array(damaged.prefix(1 + generator.below(damaged.count))))
    }
  }
}
