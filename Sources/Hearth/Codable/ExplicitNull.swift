/// An optional property whose nil is written as null instead of being left out.
///
/// ```swift
/// struct Task: Codable {
///   var title: String
///   @ExplicitNull var due: Date?
/// }
/// ```
///
/// With merging, nil then overwrites the old value, and queries for null find the document. Null is decoded as nil; a document
/// without the field is an error (`DecodingError.keyNotFound`).
@propertyWrapper
public struct ExplicitNull<Value> {
  /// The value, or nil for null.
  public var wrappedValue: Value?

  /// Makes the property.
  ///
  /// - Parameter wrappedValue: The value, or nil for null.
  public init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }
}

extension ExplicitNull: Encodable where Value: Encodable {
  /// Encodes the value, or null.
  ///
  /// - Parameter encoder: Any encoder.
  /// - Throws: Errors of encoding the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(wrappedValue)
    } else {
      try container.encodeNil()
    }
  }
}

extension ExplicitNull: Decodable where Value: Decodable {
  /// Decodes the value, and null as nil.
  ///
  /// - Parameter decoder: Any decoder.
  /// - Throws: Errors of decoding the value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }
}

extension ExplicitNull: Equatable where Value: Equatable {}
extension ExplicitNull: Hashable where Value: Hashable {}
extension ExplicitNull: Sendable where Value: Sendable {}
