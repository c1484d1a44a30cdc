internal import Foundation

extension Firestore {
  /// Encodes values into the dictionaries that `setData` takes.
  ///
  /// ```swift
  /// struct City: Codable {
  ///   @DocumentID var id: String?
  ///   var name: String
  ///   var founded: Date
  ///   @ServerTimestamp var seen: Date?
  /// }
  /// let fields = try Firestore.Encoder().encode(City(name: "Oakland", founded: founded))
  /// ```
  ///
  /// ``Timestamp``, ``GeoPoint``, ``DocumentReference``, ``VectorValue`` and ``FieldValue`` are passed through, dates become timestamps
  /// and `Data` becomes bytes. An optional property that is nil is left out; ``ExplicitNull`` makes it null.
  ///
  /// Several threads may use an encoder as long as none changes its properties.
  public final class Encoder {
    /// The form into which `Date` is encoded; the default is ``Timestamp``.
    public var dateEncodingStrategy: FirebaseDataEncoder.DateEncodingStrategy = .timestamp
    /// The form into which `Data` is encoded; the default is bytes.
    public var dataEncodingStrategy: FirebaseDataEncoder.DataEncodingStrategy = .blob
    /// The treatment of NaN and the infinities; an error by default, although Firestore can store them.
    public var nonConformingFloatEncodingStrategy: FirebaseDataEncoder.NonConformingFloatEncodingStrategy = .throw
    /// The conversion of keys into names of fields; by default a key is the name.
    public var keyEncodingStrategy: FirebaseDataEncoder.KeyEncodingStrategy = .useDefaultKeys
    /// The values that types find in their encoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Makes an encoder with the settings that the properties name.
    public init() {}

    /// Encodes a value that becomes a dictionary.
    ///
    /// - Parameter value: A struct, class, dictionary or enum with payloads; its properties may be anything that encodes.
    /// - Returns: A dictionary for `setData`: `NSNumber`, `String`, `NSNull`, `Data`, Firestore's own types, and arrays and dictionaries of
    ///   these. To compare it with other dictionaries, use `NSDictionary`.
    /// - Throws: `EncodingError.invalidValue` for a value that becomes anything else, or that cannot be encoded; errors that types throw
    ///   themselves. The rules of Firestore (names of fields, arrays in arrays) are checked only when the result is written.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      let encoded = try encodeValue(value)
      guard let fields = encoded as? [String: Any] else {
        throw EncodingError.invalidValue(
          value, EncodingError.Context(codingPath: [], debugDescription: "Top-level \(T.self) is not allowed."))
      }
      return fields
    }

    /// Encodes a value that may become anything, such as the operand of a condition.
    func encodeValue<T: Encodable>(_ value: T) throws -> Any {
      try EncodingContext(
        EncodingOptions(
          date: dateEncodingStrategy, data: dataEncodingStrategy, float: nonConformingFloatEncodingStrategy,
          key: keyEncodingStrategy, passthrough: nil, userInfo: userInfo)
      ).encodeRoot(value)
    }
  }

  /// Decodes values from a document's data.
  ///
  /// For snapshots, ``DocumentSnapshot/data(as:with:decoder:)`` is faster: it decodes from the stored encoding without building a
  /// dictionary first. Both give the same values and errors.
  ///
  /// Several threads may use a decoder as long as none changes its properties.
  public final class Decoder {
    /// The form from which `Date` is decoded; the default is ``Timestamp``.
    public var dateDecodingStrategy: FirebaseDataDecoder.DateDecodingStrategy = .timestamp
    /// The form from which `Data` is decoded; the default is bytes.
    public var dataDecodingStrategy: FirebaseDataDecoder.DataDecodingStrategy = .blob
    /// The meaning of a text that replaces a floating-point number; an error by default.
    public var nonConformingFloatDecodingStrategy: FirebaseDataDecoder.NonConformingFloatDecodingStrategy = .throw
    /// The conversion of names of fields into keys; by default a name is the key.
    public var keyDecodingStrategy: FirebaseDataDecoder.KeyDecodingStrategy = .useDefaultKeys
    /// The values that types find in their decoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Makes a decoder with the settings that the properties name.
    public init() {}

    /// Decodes a value without a document's reference, so that the type cannot have a ``DocumentID``.
    ///
    /// - Parameters:
    ///   - t: The type to decode.
    ///   - data: A dictionary, or `NSNull` for a missing document, which an optional type decodes as nil.
    /// - Returns: The value.
    /// - Throws: `DecodingError` with the coding path, the expected and the found type; errors that types throw themselves.
    public func decode<T: Decodable>(_ t: T.Type, from data: Any) throws -> T {
      try decode(t, from: data, in: nil)
    }

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - t: The type to decode.
    ///   - data: A dictionary, or `NSNull` for a missing document, which an optional type decodes as nil.
    ///   - reference: The document's reference, for properties with ``DocumentID`` and the texts of errors. It is not kept.
    /// - Returns: The value.
    /// - Throws: `DecodingError` with the coding path, the expected and the found type; errors that types throw themselves.
    public func decode<T: Decodable>(_ t: T.Type, from data: Any, in reference: DocumentReference?) throws -> T {
      let origin = reference.map { DecodingOrigin(document: .reference($0)) }
      return try DecodingContext(options, origin: origin).decodeRoot(t, from: .object(data))
    }

    var options: DecodingOptions {
      DecodingOptions(
        date: dateDecodingStrategy, data: dataDecodingStrategy, float: nonConformingFloatDecodingStrategy,
        key: keyDecodingStrategy, passthrough: nil, userInfo: userInfo)
    }
  }
}
