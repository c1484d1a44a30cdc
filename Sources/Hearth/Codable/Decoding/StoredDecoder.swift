internal import Foundation
internal import HearthModel

/// The decoder that a type sees, at one place of the data. It is also the node of the coding path: decoders of parts refer to it.
final class StoredDecoder: Decoder {
  let context: DecodingContext
  let value: StoredValue
  private let parent: StoredDecoder?
  private let step: CodingStep?
  private let depth: Int
  /// The map that keyed containers read; found when the first one is requested.
  private var map: StoredMap?

  /// The decoder of a whole value.
  init(context: DecodingContext, value: StoredValue) {
    self.context = context
    self.value = value
    parent = nil
    step = nil
    depth = 0
  }

  private init(_ value: StoredValue, below parent: StoredDecoder, _ step: CodingStep) {
    context = parent.context
    self.value = value
    self.parent = parent
    self.step = step
    depth = parent.depth + 1
  }

  /// The decoder of a part of this one's value.
  func child(_ value: StoredValue, _ step: CodingStep) throws -> StoredDecoder {
    guard depth < CodingPathText.maximumDepth else {
      throw corrupted("values are nested more than \(CodingPathText.maximumDepth) levels deep", step)
    }
    return StoredDecoder(value, below: self, step)
  }

  var codingPath: [any CodingKey] {
    var path: [any CodingKey] = []
    var decoder: StoredDecoder? = self
    while let current = decoder {
      if let step = current.step { path.append(step.key) }
      decoder = current.parent
    }
    return path.reversed()
  }

  var userInfo: [CodingUserInfoKey: Any] { context.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if map == nil { map = try namedMap(for: KeyedDecodingContainer<Key>.self) }
    return ContainerTypes.container(ContainerTypes.type(for: Key.self), of: self)
  }

  /// The value of a key of the map that keyed containers read.
  func value(forKey key: String) -> StoredValue? { map?.value(forKey: key) }

  /// All keys of the map that keyed containers read.
  func keys() throws -> [String] { try reportingDamage(nil) { () throws(WireFormatError) in try map?.keys() ?? [] } }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    UnkeyedStoredContainer(decoder: self, elements: try elements(for: (any UnkeyedDecodingContainer).self))
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  /// The entries of the map at this decoder's place, under the keys that the strategy gives.
  private func namedMap(for type: @autoclosure () -> Any.Type) throws -> StoredMap {
    let map = try storedMap(for: type())
    if context.hasDefaultKeys { return map }
    return try reportingDamage(nil) { () throws(WireFormatError) in try map.renamed(name(_:)) }
  }

  /// The entries of the map at this decoder's place, under their stored names.
  func storedMap(for type: @autoclosure () -> Any.Type) throws -> StoredMap {
    switch try content(of: value, nil) {
    case .map(let map): return map
    case .null:
      throw DecodingError.valueNotFound(
        type(), errorContext("Cannot get keyed decoding container -- found null value instead", nil))
    case let other:
      throw DecodingError.typeMismatch(
        [String: Any].self, errorContext("Expected to decode a map but found \(other.kindDescription) instead", nil))
    }
  }

  func elements(for type: Any.Type) throws -> StoredElements {
    switch try content(of: value, nil) {
    case .array(let elements): return elements
    case .null:
      throw DecodingError.valueNotFound(
        type, errorContext("Cannot get unkeyed decoding container -- found null value instead", nil))
    case let other:
      throw DecodingError.typeMismatch(
        [Any].self, errorContext("Expected to decode an array but found \(other.kindDescription) instead", nil))
    }
  }

  private func name(_ name: String) -> String {
    switch context.options.key {
    case .useDefaultKeys: name
    case .convertFromSnakeCase: SnakeCase.decode(name)
    case .custom(let convert): convert(codingPath + [StoredKey(name)]).stringValue
    }
  }

  // MARK: - Errors

  /// The path of a part of this value, or of the value itself.
  func path(_ step: CodingStep?) -> [any CodingKey] {
    step.map { codingPath + [$0.key] } ?? codingPath
  }

  func errorContext(
    _ text: String, _ step: CodingStep?, underlying: (any Error)? = nil
  ) -> DecodingError.Context {
    let path = path(step)
    return DecodingError.Context(
      codingPath: path, debugDescription: "\(text)\(CodingPathText.place(path, document: context.origin?.key)).",
      underlyingError: underlying)
  }

  func corrupted(_ text: String, _ step: CodingStep?) -> DecodingError {
    .dataCorrupted(errorContext(text.prefix(1).uppercased() + text.dropFirst(), step))
  }

  /// The value is not what the type needs.
  func mismatch(_ type: Any.Type, _ content: StoredContent, _ step: CodingStep?) -> DecodingError {
    if case .null = content {
      return .valueNotFound(type, errorContext("Expected \(type) value but found null instead", step))
    }
    return .typeMismatch(
      type, errorContext("Expected to decode \(type) but found \(content.kindDescription) instead", step))
  }

  /// Turns an error of the encoding, which was validated when the document arrived, into one of decoding.
  func reportingDamage<R>(_ step: @autoclosure () -> CodingStep?, _ read: () throws(WireFormatError) -> R) throws -> R {
    do {
      return try read()
    } catch {
      throw DecodingError.dataCorrupted(
        errorContext("The stored value is damaged: \(error)", step(), underlying: error))
    }
  }
}

extension StoredDecoder: SingleValueDecodingContainer {
  var isNull: Bool { isNull(value) }

  func decodeNil() -> Bool { isNull(value) }
  func decode(_ type: Bool.Type) throws -> Bool { try boolean(value, nil) }
  func decode(_ type: String.Type) throws -> String { try string(value, nil) }
  func decode(_ type: Double.Type) throws -> Double { try floatingPoint(value, nil) }
  func decode(_ type: Float.Type) throws -> Float { try floatingPoint(value, nil) }
  func decode(_ type: Int.Type) throws -> Int { try integer(value, nil) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(value, nil) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(value, nil) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(value, nil) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(value, nil) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(value, nil) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(value, nil) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(value, nil) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(value, nil) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(value, nil) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decode(type, from: value, nil) { self }
  }
}
