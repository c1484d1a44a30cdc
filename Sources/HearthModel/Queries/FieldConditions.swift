/// The conditions of a query on fields, prepared for testing many documents: a test allocates nothing and counts no references.
///
/// Same result as `Filter.matches(key:fields:)`, which is also the fallback wherever the field, its value or the operand is not a plain
/// scalar.
package final class FieldConditions {
  /// All of these must be met. None depends on the document's key.
  private let filters: [Filter]
  /// One for each filter.
  private let tests: UnsafeMutableBufferPointer<Test>
  /// The names and texts that the tests compare with, one after the other.
  private let texts: UnsafeMutableRawBufferPointer
  /// Replaces the key, on which nothing depends here.
  private let anyKey: DocumentKey
  /// See ``Filter/comparisonCount``.
  package let comparisonCount: Int

  /// Makes the conditions of those filters that do not look at the document's key; nil if there are none.
  package init?(_ filters: [Filter]) {
    let filters = filters.filter { !$0.flattened.contains(where: \.path.isDocumentKey) }
    guard !filters.isEmpty, let anyKey = try? DocumentKey(ResourcePath(["collection", "document"])) else { return nil }
    self.filters = filters
    self.anyKey = anyKey
    comparisonCount = filters.reduce(0) { $0 + $1.comparisonCount }
    var bytes: [UInt8] = []
    let tests = filters.map { Test($0, texts: &bytes) }
    self.tests = .allocate(capacity: tests.count)
    _ = self.tests.initialize(from: tests)
    texts = .allocate(byteCount: bytes.count, alignment: 1)
    texts.copyBytes(from: bytes)
  }

  deinit {
    tests.deallocate()
    texts.deallocate()
  }

  /// Returns whether a document with these fields meets all conditions.
  ///
  /// - Throws: if the bytes of the fields are malformed where they had to be read.
  package func areMet(by fields: EncodedFieldsView) throws(WireFormatError) -> Bool {
    for index in tests.indices {
      if let isMet = try tests[index].isMet(by: fields.message, texts: UnsafeRawBufferPointer(texts)) {
        if !isMet { return false }
      } else if try !filters[index].matches(key: anyKey, fields: fields) {
        return false
      }
    }
    return true
  }
}

/// One comparison of a field with a scalar. Holds no references, so that reading it from memory costs nothing else.
private struct Test {
  private enum Operand {
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case timestamp(Timestamp)
    case string(Range<Int>)
    /// Only the filter itself can decide.
    case other
  }

  private let op: FieldFilter.Operator
  private let name: Range<Int>
  private let operand: Operand

  init(_ filter: Filter, texts: inout [UInt8]) {
    func place(_ text: String) -> Range<Int> {
      let start = texts.count
      texts.append(contentsOf: text.utf8)
      return start..<texts.count
    }
    guard case .field(let filter) = filter, filter.path.segments.count == 1, Self.isComparison(filter.op) else {
      (op, name, operand) = (.equal, 0..<0, .other)
      return
    }
    op = filter.op
    name = place(filter.path.segments[0])
    switch filter.value {
    case .boolean(let value): operand = .boolean(value)
    case .integer(let value): operand = .integer(value)
    case .double(let value) where !value.isNaN: operand = .double(value)
    case .timestamp(let value): operand = .timestamp(value)
    case .string(let value): operand = .string(place(value))
    default: operand = .other
    }
  }

  private static func isComparison(_ op: FieldFilter.Operator) -> Bool {
    switch op {
    case .lessThan, .lessThanOrEqual, .equal, .notEqual, .greaterThan, .greaterThanOrEqual: true
    case .arrayContains, .arrayContainsAny, .in, .notIn: false
    }
  }

  /// - Returns: nil if this test cannot decide.
  @inline(__always)
  func isMet(by message: WireReader, texts: UnsafeRawBufferPointer) throws(WireFormatError) -> Bool? {
    if case .other = operand { return nil }
    let value: WireReader
    switch lookUp(in: message, texts) {
    case .found(let found): value = found
    case .absent: return false
    case .unknown: return nil
    }
    switch try compare(value, texts) {
    case .unknown: return nil
    case .otherType: return op == .notEqual
    case .order(let order):
      switch op {
      case .lessThan: return order == .ascending
      case .lessThanOrEqual: return order != .descending
      case .greaterThan: return order == .descending
      case .greaterThanOrEqual: return order != .ascending
      case .equal: return order == .same
      case .notEqual: return order != .same
      case .arrayContains, .arrayContainsAny, .in, .notIn: return nil
      }
    }
  }

  private enum Lookup {
    /// The field exists; the reader has the contents of its value.
    case found(WireReader)
    case absent
    /// Some entry does not have the plain form.
    case unknown
  }

  /// Visits all entries, because of several with one name the last counts.
  @inline(__always)
  private func lookUp(in message: WireReader, _ texts: UnsafeRawBufferPointer) -> Lookup {
    var reader = message
    var lookup = Lookup.absent
    while let entry = reader.nextPlainEntry(field: ValueField.documentFields) {
      guard entry.keyEnd &- entry.keyStart == name.count else { continue }
      if message.holds(texts, name, at: entry.keyStart) {
        lookup = .found(message.part(entry.valueStart, entry.valueEnd))
      }
    }
    return reader.isAtEnd ? lookup : .unknown
  }

  private enum Comparison {
    case order(Ordering)
    /// A scalar of another type, and not null.
    case otherType
    case unknown
  }

  private func compare(_ value: WireReader, _ texts: UnsafeRawBufferPointer) throws(WireFormatError) -> Comparison {
    switch value.plainScalar() {
    case .boolean(let x):
      guard case .boolean(let y) = operand else { return .otherType }
      return .order(Ordering(x ? 1 : 0, y ? 1 : 0))
    case .integer(let x):
      switch operand {
      case .integer(let y): return .order(Ordering(x, y))
      case .double(let y): return .order(NumberOrder.compare(x, y))
      default: return .otherType
      }
    case .double(let x):
      // Ranges do not find NaN, other conditions may.
      if x.isNaN { return .unknown }
      switch operand {
      case .integer(let y): return .order(NumberOrder.compare(y, x).reversed)
      case .double(let y): return .order(NumberOrder.compare(x, y))
      default: return .otherType
      }
    case .timestamp(let message):
      let x = try WireReader.timestamp(in: message, "Value.timestamp_value")
      guard case .timestamp(let y) = operand else { return .otherType }
      return .order(Ordering(x, y))
    case .string(let message):
      guard case .string(let range) = operand else { return .otherType }
      return .order(ByteOrder.compare(message.remainingBytes, UnsafeRawBufferPointer(rebasing: texts[range])))
    case nil:
      return .unknown
    }
  }
}

extension WireReader {
  enum PlainScalar {
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case timestamp(WireReader)
    case string(WireReader)
  }

  /// The contents of a `Value` message if it is one scalar of these types in the form that every usual encoder writes; nil for anything
  /// else.
  func plainScalar() -> PlainScalar? {
    let bytes = remainingBytes
    guard bytes.count >= 2 else { return nil }
    switch bytes[0] {
    case UInt8(ValueField.boolean << 3):
      return bytes.count == 2 && bytes[1] < 0x80 ? .boolean(bytes[1] != 0) : nil
    case UInt8(ValueField.integer << 3):
      return Self.wholeVarint(bytes).map { .integer(Int64(bitPattern: $0)) }
    case UInt8(ValueField.double << 3 | 1):
      guard bytes.count == 9 else { return nil }
      let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
      return .double(Double(bitPattern: bits))
    case UInt8(ValueField.timestamp << 3 | 2):
      return wholeContents(lengthAt: position &+ 1).map { .timestamp($0) }
    case UInt8(ValueField.string << 3 & 0x7F | 0x82) where bytes[1] == 1:
      return wholeContents(lengthAt: position &+ 2).map { .string($0) }
    default:
      return nil
    }
  }

  /// The varint behind the first byte, if nothing follows it.
  private static func wholeVarint(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    var result: UInt64 = 0
    for index in 1..<min(bytes.count, 11) {
      if index == 10, bytes[index] > 1 { return nil }
      result |= UInt64(bytes[index] & 0x7F) << UInt64(7 * (index &- 1))
      if bytes[index] < 0x80 { return index &+ 1 == bytes.count ? result : nil }
    }
    return nil
  }
}
