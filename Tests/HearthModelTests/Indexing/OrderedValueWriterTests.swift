import TestSupport
import Testing

@testable import HearthModel

@Suite("Order-preserving encoding")
struct OrderedValueWriterTests {
  private static func encoded(_ values: [(Value, descending: Bool)]) throws -> [UInt8] {
    var writer = OrderedValueWriter()
    for (value, descending) in values { try writer.append(value, descending: descending) }
    return writer.bytes
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Ordering { ByteOrder.compare(a, b) }

  @Test("the zoo has at least 500 values")
  func size() {
    #expect(ValueZoo.all.count >= 500)
  }

  @Test("bytes are in the order of the values for every pair of the zoo", arguments: [false, true])
  func pairs(descending: Bool) throws {
    let groups = try ValueZoo.ordered.map { try $0.map { try Self.encoded([($0, descending)]) } }
    for (i, group) in groups.enumerated() {
      for (j, other) in groups.enumerated() {
        let expected = descending ? Ordering(j, i) : Ordering(i, j)
        for (m, a) in group.enumerated() {
          for (n, b) in other.enumerated() where Self.order(a, b) != expected {
            Issue.record("\(ValueZoo.ordered[i][m]) against \(ValueZoo.ordered[j][n]): \(a) and \(b)")
          }
        }
      }
    }
  }

  @Test("no encoding is the beginning of another one", arguments: [false, true])
  func prefixes(descending: Bool) throws {
    // In their own order a prefix stands directly in front of what begins with it, whatever lies between.
    let values = ValueZoo.all + ValueZoo.grown(count: 2_000, seed: 29)
    let encodings = try values.map { try Self.encoded([($0, descending)]) }.sorted { $0.lexicographicallyPrecedes($1) }
    for (a, b) in zip(encodings, encodings.dropFirst()) where a != b && b.starts(with: a) {
      Issue.record("\(a) is the beginning of \(b)")
    }
  }

  @Test("random nested values agree with the order in both directions", arguments: [31, 37, 41] as [UInt64])
  func grown(seed: UInt64) throws {
    let values = ValueZoo.grown(count: 250, seed: seed)
    let ascending = try values.map { try Self.encoded([($0, false)]) }
    let descending = try values.map { try Self.encoded([($0, true)]) }
    for i in values.indices {
      for j in values.indices {
        let expected = Value.compare(values[i], values[j])
        if Self.order(ascending[i], ascending[j]) != expected
          || Self.order(descending[i], descending[j]) != expected.reversed
        {
          Issue.record("seed \(seed): \(values[i]) against \(values[j])")
        }
      }
    }
  }

  @Test("several values one behind the other are ordered component by component", arguments: [2, 3])
  func composites(count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    // Few values, so that first components are often the same, and with borders that could run into the next one.
    let values: [Value] = [
      .null, true, 0, -0.0, 1, 1.0, .integer(.max), .double(0x1p63), "", "\0", "a", "a\0", "ab", .bytes([]),
      .bytes([0]), .bytes([0xFF]), .bytes([0xFF, 0xFF]), [], [[]], ["a"], [.null], [:], ["a": 1], .vector([]),
      .vector([1]),
    ]
    let directions = (0..<count).map { _ in generator.chance(50) }
    let composites = (0..<500).map { _ in
      directions.map { (generator.element(values), descending: $0) }
    }
    let encodings = try composites.map(Self.encoded)
    for i in composites.indices {
      for j in composites.indices {
        var expected = Ordering.same
        for (a, b) in zip(composites[i], composites[j]) {
          let order = Value.compare(a.0, b.0)
          expected = expected.then(a.descending ? order.reversed : order)
        }
        if Self.order(encodings[i], encodings[j]) != expected {
          Issue.record("\(composites[i]) against \(composites[j])")
        }
      }
    }
  }

  @Test("a value that is read in place gives the same bytes", arguments: [false, true])
  func inPlace(descending: Bool) throws {
    for value in ValueZoo.all + ValueZoo.grown(count: 500, seed: 43) {
      var writer = OrderedValueWriter([7])
      let bytes = value.encoded()
      try bytes.withUnsafeBytes { try writer.append(EncodedValue($0), descending: descending) }
      #expect(try writer.bytes == [7] + Self.encoded([(value, descending)]), "\(value)")
    }
  }

  @Test("map entries out of order and twice give the bytes of what they decode to")
  func unsortedMaps() throws {
    var wire = WireWriter()
    wire.writeMessage(field: ValueField.map) { writer in
      for (key, value) in [("b", Value.integer(9)), ("a", 1), ("b", 2)] {
        writer.writeMessage(field: ValueField.mapEntries) { writer in
          writer.writeString(key, field: ValueField.entryKey)
          writer.writeBytes(value.encoded(), field: ValueField.entryValue)
        }
      }
    }
    var writer = OrderedValueWriter()
    try Self.append(wire.bytes, to: &writer)
    #expect(try writer.bytes == Self.encoded([(["a": 1, "b": 2], false)]))
  }

  @Test("malformed and too deeply nested values are errors")
  func malformed() throws {
    var writer = OrderedValueWriter()
    let tooDeep = (0..<120).reduce(Value.null) { value, _ in .array([value]) }
    #expect(throws: WireFormatError.self) { try writer.append(tooDeep) }
    let text = Value.array(["abc"]).encoded()
    for length in 1..<text.count {
      let bytes = Array(text.prefix(length))
      #expect(throws: WireFormatError.self, "the first \(length) bytes") { try Self.append(bytes, to: &writer) }
    }
  }

  private static func append(_ bytes: [UInt8], to writer: inout OrderedValueWriter) throws {
    try bytes.withUnsafeBytes { try writer.append(EncodedValue($0)) }
  }

  @Test("what all values of a class begin with bounds them from both sides", arguments: [false, true])
  func classes(descending: Bool) throws {
    let encodings = try ValueZoo.all.map { try Self.encoded([($0, descending)]) }
    for value in ValueZoo.all {
      var start = OrderedValueWriter()
      start.appendClass(of: value, descending: descending)
      let end = try #require(OrderedValueWriter.end(of: start.bytes))
      for (other, bytes) in zip(ValueZoo.all, encodings) {
        let isInside = Self.order(start.bytes, bytes) != .descending && Self.order(bytes, end) == .ascending
        if isInside != (value.typeOrder == other.typeOrder) { Issue.record("\(value), \(other)") }
      }
    }
  }

  @Test("document ids are in the order of keys, and followed by nothing else", arguments: [false, true])
  func documentIDs(descending: Bool) throws {
    let ids =
      ValueZoo.texts.filter { !$0.isEmpty && !$0.utf8.contains(PathSegment.separator) } + [
        "__id-9223372036854775808__", "__id-7__", "__id0__", "__id007__", "__id255__", "__id256__",
        "__id9223372036854775807__", "__id9223372036854775808__", "__id__", "__idx__", "__id7",
      ]
    for a in ids {
      for b in ids {
        var x = OrderedValueWriter()
        x.append(documentID: a, descending: descending)
        var y = OrderedValueWriter()
        y.append(documentID: b, descending: descending)
        let expected = PathSegment.compare(a, b)
        #expect(Self.order(x.bytes, y.bytes) == (descending ? expected.reversed : expected), "\(a) against \(b)")
        #expect(a.utf8.elementsEqual(b.utf8) || !y.bytes.starts(with: x.bytes), "\(a) begins \(b)")
      }
    }
  }
}
