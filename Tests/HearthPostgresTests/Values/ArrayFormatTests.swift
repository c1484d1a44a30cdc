#if PostgreSQL
  import TestSupport
  import Testing

  @testable import HearthPostgres

  @Suite("The format of arrays")
  struct ArrayFormatTests {
    private func elements(_ bytes: [UInt8]) -> [Int64?]? {
      bytes.withUnsafeBytes { bytes in
        PostgresRow.elements(of: bytes, .int8) { element -> Int64?? in
          guard let element else { return .some(nil) }
          guard element.count == 8 else { return nil }
          return Int64(bigEndian: element.loadUnaligned(as: Int64.self))
        }
      }
    }

    private func encoded(_ values: [Int64?]) -> [UInt8] {
      var bytes: [UInt8] = []
      PostgresValue.nullableInt8Array(values).append(to: &bytes)
      return bytes
    }

    @Test("what is written is read")
    func roundTrip() {
      for values in [[], [nil], [1, nil, .min]] as [[Int64?]] { #expect(elements(encoded(values)) == values) }
    }

    @Test("a value that is cut anywhere is no array")
    func cutValues() {
      let bytes = encoded([1, nil, 3])
      for length in bytes.indices { #expect(elements(Array(bytes[..<length])) == nil, "cut after \(length) bytes") }
      #expect(elements(bytes + [0]) == nil)
    }

    @Test("a changed byte gives another array or none, and never a trap")
    func changedBytes() {
      let bytes = encoded([1, nil, 3])
      for index in bytes.indices {
        for value in UInt8.min...UInt8.max {
          var changed = bytes
          changed[index] = value
          if let elements = elements(changed) { #expect(elements.count <= bytes.count / 4) }
        }
      }
    }

    @Test("counts and lengths beyond the value are refused")
    func wrongCounts() {
      let header: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20]
      for count: [UInt8] in [[0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 2]] {
        #expect(elements(header + count + [0, 0, 0, 1] + [0, 0, 0, 8] + [0, 0, 0, 0, 0, 0, 0, 1]) == nil)
      }
      for length: [UInt8] in [[0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFE], [0, 0, 0, 9]] {
        #expect(elements(header + [0, 0, 0, 1, 0, 0, 0, 1] + length + [0, 0, 0, 0, 0, 0, 0, 1]) == nil)
      }
    }
  }
#endif
