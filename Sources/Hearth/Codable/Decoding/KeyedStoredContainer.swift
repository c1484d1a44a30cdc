internal import HearthModel

/// Reads the entries of a map by key.
struct KeyedStoredContainer<Key: CodingKey>: StoredContainer {
  let decoder: StoredDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    do {
      return try decoder.keys().compactMap { Key(stringValue: $0) }
    } catch {
      // This function cannot throw, so the whole run fails when it ends.
      decoder.context.report(error)
      return []
    }
  }

  func contains(_ key: Key) -> Bool { decoder.value(forKey: key.stringValue) != nil }

  private func value(_ key: Key) throws -> StoredValue {
    guard let value = decoder.value(forKey: key.stringValue) else { throw keyNotFound(key) }
    return value
  }

  private func keyNotFound(_ key: Key) -> DecodingError {
    .keyNotFound(key, decoder.errorContext("There is no field \"\(key.stringValue)\"", nil))
  }

  /// The value of a key, unless it is missing or null.
  private func present(_ key: Key) -> StoredValue? {
    guard let value = decoder.value(forKey: key.stringValue), !decoder.isNull(value) else { return nil }
    return value
  }

  func decodeNil(forKey key: Key) throws -> Bool { decoder.isNull(try value(key)) }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.boolean(value(key), .key(key)) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(value(key), .key(key)) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.floatingPoint(value(key), .key(key))
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder.floatingPoint(value(key), .key(key)) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder.integer(value(key), .key(key)) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder.integer(value(key), .key(key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    guard let value = decoder.value(forKey: key.stringValue) else {
      guard type is any FilledFromReference.Type else { throw keyNotFound(key) }
      return try T(from: decoder.child(.null, .key(key)))
    }
    return try decode(type, value, key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try present(key).map { try decode(type, $0, key) }
  }

  private func decode<T: Decodable>(_ type: T.Type, _ value: StoredValue, _ key: Key) throws -> T {
    try decoder.decode(type, from: value, .key(key)) { try decoder.child(value, .key(key)) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key).map { try decoder.boolean($0, .key(key)) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key).map { try decoder.string($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try present(key).map { try decoder.floatingPoint($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try present(key).map { try decoder.floatingPoint($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try present(key).map { try decoder.integer($0, .key(key)) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.child(value(key), .key(key)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.child(value(key), .key(key)).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try superDecoder(StoredKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key) }

  private func superDecoder(_ key: some CodingKey) throws -> any Decoder {
    try decoder.child(decoder.value(forKey: key.stringValue) ?? .null, .key(key))
  }
}
