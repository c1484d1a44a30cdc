/// `{"seconds": …, "nanoseconds": …}` with encoders other than ``Firestore/Encoder``, which keeps the timestamp as it is.
extension Timestamp: Codable {
  private enum CodingKeys: String, CodingKey {
    case seconds
    case nanoseconds
  }

  /// Decodes the form that other encoders write.
  ///
  /// - Parameter decoder: Any decoder.
  /// - Throws: `DecodingError`; `dataCorrupted` for numbers that are not a timestamp.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let seconds = try container.decode(Int64.self, forKey: .seconds)
    let nanoseconds = try container.decode(Int32.self, forKey: .nanoseconds)
    try DecodingError.wrap(container.codingPath) { () throws(ProgrammingError) in
      try Timestamp.validate(seconds: seconds, nanoseconds: nanoseconds)
    }
    self.init(seconds: seconds, nanoseconds: nanoseconds)
  }

  /// Encodes the two numbers.
  ///
  /// - Parameter encoder: Any encoder; ``Firestore/Encoder`` keeps the object itself instead of calling this.
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(nanoseconds, forKey: .nanoseconds)
  }
}

/// `{"latitude": …, "longitude": …}` with encoders other than ``Firestore/Encoder``, which keeps the point as it is.
extension GeoPoint: Codable {
  private enum CodingKeys: String, CodingKey {
    case latitude
    case longitude
  }

  /// Decodes the form that other encoders write.
  ///
  /// - Parameter decoder: Any decoder.
  /// - Throws: `DecodingError`; `dataCorrupted` for numbers that are not a position on Earth.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let latitude = try container.decode(Double.self, forKey: .latitude)
    let longitude = try container.decode(Double.self, forKey: .longitude)
    try DecodingError.wrap(container.codingPath) { () throws(ProgrammingError) in
      try GeoPoint.validate(latitude, name: "latitude", limit: 90)
      try GeoPoint.validate(longitude, name: "longitude", limit: 180)
    }
    self.init(latitude: latitude, longitude: longitude)
  }

  /// Encodes the two numbers.
  ///
  /// - Parameter encoder: Any encoder; ``Firestore/Encoder`` keeps the object itself instead of calling this.
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(longitude, forKey: .longitude)
  }
}

/// `{"array": […]}` with encoders other than ``Firestore/Encoder``, which keeps the vector as it is.
extension VectorValue: Codable {
  private enum CodingKeys: String, CodingKey {
    case array
  }

  /// Decodes the elements.
  ///
  /// - Parameter decoder: Any decoder.
  /// - Throws: `DecodingError`.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try container.decode([Double].self, forKey: .array))
  }

  /// Encodes the elements.
  ///
  /// - Parameter encoder: Any encoder; ``Firestore/Encoder`` keeps the object itself instead of calling this.
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(array, forKey: .array)
  }
}

/// Only with ``Firestore/Encoder`` and ``Firestore/Decoder``, which keep references as they are: others have no database that
/// the reference could belong to.
extension DocumentReference: Codable {
  /// Throws ``FirestoreDecodingError/decodingIsNotSupported(_:)``. ``Firestore/Decoder`` calls this only for a field whose value is not a
  /// reference; for null it throws `DecodingError.valueNotFound`.
  ///
  /// - Parameter decoder: Any decoder.
  public convenience init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? StoredDecoder else {
      throw FirestoreDecodingError.decodingIsNotSupported(
        """
        DocumentReference values can only be decoded with Firestore.Decoder\
        \(CodingPathText.place(decoder.codingPath, document: nil)).
        """)
    }
    let content = try decoder.content(of: decoder.value, nil)
    if case .null = content { throw decoder.mismatch(DocumentReference.self, content, nil) }
    throw FirestoreDecodingError.decodingIsNotSupported(
      """
      DocumentReference values can only be decoded from a document reference, but found \(content.kindDescription) instead\
      \(CodingPathText.place(decoder.codingPath, document: decoder.context.origin?.key)).
      """)
  }

  /// Throws ``FirestoreEncodingError/encodingIsNotSupported(_:)``; ``Firestore/Encoder`` keeps the object instead of calling this.
  ///
  /// - Parameter encoder: Any encoder.
  public func encode(to encoder: any Encoder) throws {
    throw FirestoreEncodingError.encodingIsNotSupported(
      """
      DocumentReference values can only be encoded with Firestore.Encoder\
      \(CodingPathText.place(encoder.codingPath, document: nil)).
      """)
  }
}

/// Only with ``Firestore/Encoder``, which keeps field values as they are.
extension FieldValue: Encodable {
  /// Throws ``FirestoreEncodingError/encodingIsNotSupported(_:)``; ``Firestore/Encoder`` keeps the object instead of calling this.
  ///
  /// - Parameter encoder: Any encoder.
  public func encode(to encoder: any Encoder) throws {
    throw FirestoreEncodingError.encodingIsNotSupported(
      "FieldValue values can only be encoded with Firestore.Encoder\(CodingPathText.place(encoder.codingPath, document: nil))."
    )
  }
}

extension DecodingError {
  /// Turns a programming error about a value into an error about the data.
  fileprivate static func wrap(_ path: [any CodingKey], _ check: () throws(ProgrammingError) -> Void)
    throws(DecodingError)
  {
    do {
      try check()
    } catch {
      throw .dataCorrupted(Context(codingPath: path, debugDescription: error.message))
    }
  }
}
