internal import HearthModel

/// Reads the elements of an array one after the other. An element that cannot be decoded is not skipped.
struct UnkeyedStoredContainer: UnkeyedDecodingContainer {
  let decoder: StoredDecoder
  let elements: StoredElements
  private(set) var currentIndex = 0

  init(decoder: StoredDecoder, elements: StoredElements) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  private func value(for type: Any.Type) throws -> StoredValue {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        decoder.errorContext("Expected \(type) value, but the array has only \(elements.count) elements", step))
    }
    return elements[currentIndex]
  }

  private var step: CodingStep { .index(currentIndex) }

  mutating func decodeNil() throws -> Bool {
    guard decoder.isNull(try value(for: Any?.self)) else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    let value: Bool = try decoder.boolean(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: String.Type) throws -> String {
    let value: String = try decoder.string(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    let value: Double = try decoder.floatingPoint(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    let value: Float = try decoder.floatingPoint(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Int.Type) throws -> Int {
    let value: Int = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Int8.Type) throws -> Int8 {
    let value: Int8 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Int16.Type) throws -> Int16 {
    let value: Int16 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Int32.Type) throws -> Int32 {
    let value: Int32 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: Int64.Type) throws -> Int64 {
    let value: Int64 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt.Type) throws -> UInt {
    let value: UInt = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    let value: UInt8 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
    let value: UInt16 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
    let value: UInt32 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
    let value: UInt64 = try decoder.integer(value(for: type), step)
    currentIndex += 1
    return value
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let stored = try value(for: type)
    let value = try decoder.decode(type, from: stored, step) { try decoder.child(stored, step) }
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try decoder.child(value(for: KeyedDecodingContainer<NestedKey>.self), step).container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try decoder.child(value(for: (any UnkeyedDecodingContainer).self), step).unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let child = try decoder.child(value(for: (any Decoder).self), step)
    currentIndex += 1
    return child
  }
}
