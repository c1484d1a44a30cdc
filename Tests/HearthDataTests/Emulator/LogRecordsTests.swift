import HearthModel
import TestSupport
import Testing

@testable import HearthData

@Suite("The files of an emulator's export")
struct LogRecordsTests {
  private func log(_ records: [[UInt8]]) -> [UInt8] { ExportBytes.log(records) }

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

  @Test("blocks may end in unused bytes", arguments: 0...9)
  func blockEnds(unused: Int) throws {
    let block = LogRecords.blockBytes
    let first = Array(repeating: 1 as UInt8, count: block - 7 - unused)
    let second = Array(repeating: 2 as UInt8, count: block - 7 - unused)
    #expect(try records(log([first])) == [first])
    #expect(try records(log([first, [2], second, [3]])) == [first, [2], second, [3]])
    #expect(try records(log([first, second, [3]])) == [first, second, [3]])
    // The writer has filled the last block.
    let bytes = log([first, [2]])
    #expect(try records(bytes + Array(repeating: 0, count: (block - bytes.count % block) % block)) == [first, [2]])
  }

  @Test("behind a fault nothing is read, however often")
  func stops() {
    // The second record lacks its first piece, and a whole one follows.
    let bytes = log([[1], Array(repeating: 5, count: 40_000), [3]])
    var damaged = bytes
    damaged[8 + 6] = 4
    let piece = damaged[(8 + 7)..<LogRecords.blockBytes]
    let crc = CRC32C.masked([4] + piece)
    for byte in 0..<4 { damaged[8 + byte] = UInt8(truncatingIfNeeded: crc >> (8 * UInt32(byte))) }
    var reader = LogRecords(damaged)
    #expect((try? reader.next()) == [1])
    for _ in 0..<3 {
      let failure = #expect(throws: LogRecords.Failure.self) { try reader.next() }
      #expect(failure?.offset == 8)
    }
  }

  @Test("a block of zeros, or a record of zeros before others, is damage")
  func zeros() {
    let bytes = log([
      Array(repeating: 1, count: 100), Array(repeating: 2, count: 100), Array(repeating: 3, count: 33_000),
    ])
    var hole = bytes
    for index in 107..<214 { hole[index] = 0 }
    #expect(throws: LogRecords.Failure.self) { try records(hole) }
    let empty = Array(repeating: 0 as UInt8, count: LogRecords.blockBytes)
    #expect(throws: LogRecords.Failure.self) { try records(empty) }
    #expect(throws: LogRecords.Failure.self) { try records(empty + bytes) }
  }

  @Test("a file that is cut off or damaged is refused, and never crashes")
  func damage() async throws {
    let bytes = log([Array(repeating: 5, count: 40_000), [1, 2, 3]])
    for cut in [1, 6, 7, 100, 32768, 40_000, bytes.count - 1] {
      #expect(throws: LogRecords.Failure.self, "\(cut)") { try records(Array(bytes.prefix(cut))) }
    }
    var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 3)
    for _ in 0..<300 {
      await Task.yield()
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
