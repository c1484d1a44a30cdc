import TestSupport
import Testing

@testable import HearthModel

/// Conditions that are made ready for a scan give what the filters themselves give.
@Suite("Field conditions of a scan")
struct FieldConditionsTests {
  private static let comparisons: [FieldFilter.Operator] = [
    .lessThan, .lessThanOrEqual, .equal, .notEqual, .greaterThanOrEqual, .greaterThan,
  ]

  /// The answers of both ways, each nil for bytes that are malformed.
  private func outcome(_ filters: [Filter], _ bytes: [UInt8]) throws -> (prepared: Bool?, plain: Bool?) {
    let conditions = try #require(FieldConditions(filters))
    return try EncodedFields(uncheckedBytes: bytes).withView { view in
      let key = try DocumentKey(path("c/d"))
      let prepared = try? conditions.areMet(by: view)
      let plain = try? filters.allSatisfy { try $0.matches(key: key, fields: view) }
      return (prepared, plain)
    }
  }

  private func expectSame(
    _ filters: [Filter], _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let (prepared, plain) = try outcome(filters, bytes)
    #expect(prepared == plain, "\(filters) on \(bytes)", sourceLocation: sourceLocation)
  }

  @Test("every value with a fourth of all operands, in one comparison after the other")
  func allPairs() throws {
    let filters = try ValueZoo.all.map { operand in
      try Self.comparisons.map {
        let filter = Filter.field(field("f"), $0, operand)
        return (filter, try #require(FieldConditions([filter])))
      }
    }
    let anyKey = try DocumentKey(path("c/d"))
    for (index, stored) in ValueZoo.all.enumerated() {
      try EncodedFields(["a": 1, "f": stored, "g": 2]).withView { view in
        for number in stride(from: index % 4, to: filters.count, by: 4) {
          let (filter, conditions) = filters[number][(index + number / 4) % Self.comparisons.count]
          let isMet = try conditions.areMet(by: view)
          if try isMet != filter.matches(key: anyKey, fields: view) { Issue.record("\(filter) on \(stored): \(isMet)") }
        }
      }
    }
  }

  @Test("other operators, deeper paths and combinations")
  func leftToTheFilters() throws {
    let bytes = EncodedFields(["f": [1, 2], "m": ["x": 3], "n": 3]).bytes
    let filters: [(Filter, Bool)] = [
      (.field(field("f"), .arrayContains, 2), true), (.field(field("f"), .arrayContainsAny, [3, 4]), false),
      (.field(field("n"), .in, [1, 3]), true), (.field(field("n"), .notIn, [1, 3]), false),
      (.field(field("m.x"), .equal, 3), true), (.field(field("m.y"), .equal, 3), false),
      (.or([.field(field("n"), .equal, 4), .field(field("n"), .equal, 3)]), true),
      (.and([.field(field("n"), .equal, 4), .field(field("n"), .equal, 3)]), false),
    ]
    for (filter, isMet) in filters {
      let (prepared, plain) = try outcome([filter, .field(field("n"), .equal, 3)], bytes)
      #expect(prepared == isMet && plain == isMet, "\(filter)")
    }
  }

  @Test("a condition on the key is left out, and there may be nothing left")
  func keysAreLeftOut() throws {
    let onKey = Filter.field(.documentKey, .equal, "x")
    #expect(FieldConditions([onKey, .or([onKey, .field(field("a"), .equal, 1)])]) == nil)
    #expect(FieldConditions([]) == nil)
    let (prepared, _) = try outcome([.field(field("a"), .equal, 1)], EncodedFields(["a": 1]).bytes)
    #expect(prepared == true)
    let conditions = try #require(FieldConditions([onKey, .field(field("a"), .equal, 1)]))
    #expect(try EncodedFields(["a": 1]).withView { try conditions.areMet(by: $0) })
  }

  @Test("of several fields with one name the last counts, however they are encoded")
  func lastCounts() throws {
    let isOne = Filter.field(field("f"), .equal, 1)
    let one = EncodedFields(["f": 1]).bytes
    let two = EncodedFields(["f": 2]).bytes
    // The value before the key: a form that no usual encoder writes.
    let oddOne: [UInt8] = [0x12, 7, 0x12, 2, 0x10, 1, 0x0A, 1, UInt8(ascii: "f")]
    // A key that a second one replaces.
    let renamedOne: [UInt8] = [0x12, 10, 0x0A, 1, UInt8(ascii: "g"), 0x0A, 1, UInt8(ascii: "f"), 0x12, 2, 0x10, 1]
    let other = EncodedFields(["ff": 5, "g": 1]).bytes
    for (bytes, isMet) in [
      (two + one, true), (one + two, false), (two + other + one + other, true), (two + oddOne, true),
      (oddOne + two, false), (two + renamedOne, true), (renamedOne + other, true), (other, false), ([], false),
    ] {
      let (prepared, plain) = try outcome([isOne], bytes)
      #expect(prepared == isMet && plain == isMet, "\(bytes)")
    }
  }

  @Test("unusual encodings of one value")
  func unusualValues() throws {
    func document(_ value: [UInt8]) -> [UInt8] {
      let entry = [0x0A, 1, UInt8(ascii: "f"), 0x12, UInt8(value.count)] + value
      return [0x12, UInt8(entry.count)] + entry
    }
    let values: [[UInt8]] = [
      [], [0x10], [0x10, 1], [0x10, 0x81, 0], [0x10, 1, 0x10, 2], [0x10, 2, 0x10, 1], [0x08, 1, 0x10, 1],
      [0x10] + [UInt8](repeating: 0xFF, count: 9) + [1], [0x10] + [UInt8](repeating: 0xFF, count: 9) + [2],
      [0x10] + [UInt8](repeating: 0xFF, count: 10) + [1], [0x08, 0x81, 0], [0x19, 0, 0],
      [0x19, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
      [0x19, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0x10, 1], [0x52, 0], [0x52, 2, 0x08, 1], [0x52, 2, 0x10, 0xFF],
      [0x52, 3, 0x08, 1, 0x10], [0x52, 6, 0x10, 0x80, 0x94, 0xEB, 0xDC, 3], [0x8A, 1, 1, UInt8(ascii: "a")],
      [0x8A, 1, 0x81, 0, UInt8(ascii: "a")], [0x8A, 1, 2, UInt8(ascii: "a")], [0x8A, 1, 0, 0x10, 1],
      [0x8A, 1, 1, 0xFF],
      [0x8A, 2, 0], [0x58, 0], [0x98, 6, 1, 0x10, 1],
    ]
    let operands: [Value] = [1, 1.0, "a", true, .integer(-1), .timestamp(Timestamp(seconds: 1, nanoseconds: 0)), .null]
    for value in values {
      for operand in operands {
        for op in Self.comparisons { try expectSame([.field(field("f"), op, operand)], document(value)) }
      }
    }
  }

  @Test("damaged bytes give the same answer or an error in both ways", arguments: 0..<20)
  func damaged(seed: Int) throws {
    var generator = ModelGenerator(seed: seed)
    for _ in 0..<500 {
      var bytes = EncodedFields(generator.map()).bytes
      if generator.chance(2) { bytes += EncodedFields(generator.map()).bytes }
      for _ in 0..<generator.below(3) where !bytes.isEmpty {
        let index = generator.below(bytes.count)
        switch generator.below(3) {
        case 0: bytes[index] = UInt8(generator.below(256))
        case 1: bytes.remove(at: index)
        default: bytes.insert(UInt8(generator.below(256)), at: index)
        }
      }
      let filters = generator.some(1..<3) {
        Filter.field($0.fieldPath(), $0.pick(FieldFilter.Operator.allCases), $0.value(depth: 1))
      }
      try expectSame(filters, bytes)
    }
  }
}
