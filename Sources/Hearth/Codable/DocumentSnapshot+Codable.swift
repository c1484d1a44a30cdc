internal import HearthModel

extension DocumentSnapshot {
  /// Decodes the document, straight from its stored encoding.
  ///
  /// ```swift
  /// struct City: Decodable {
  ///   @DocumentID var id: String?
  ///   var name: String
  ///   var population: Int
  /// }
  /// let city = try snapshot.data(as: City.self)
  /// ```
  ///
  /// Several threads may decode at the same time, also the same snapshot.
  ///
  /// - Parameters:
  ///   - type: What to decode. For a document that does not exist an optional type gives nil.
  ///   - serverTimestampBehavior: What server timestamps are decoded from that the backend has not set yet.
  ///   - decoder: Strategies and `userInfo`.
  /// - Returns: The value.
  /// - Throws: `DecodingError` with the coding path and a text that names the document, the field, the expected and the found type;
  ///   `DecodingError.valueNotFound` for a document that does not exist; what types throw themselves, unchanged but for the document's
  ///   name in the text of a `DecodingError`.
  public func data<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .init()
  ) throws -> T {
    try DecodingContext.decode(
      type, from: document?.fields,
      origin: DecodingOrigin(document: .snapshot(self), serverTimestampBehavior: serverTimestampBehavior),
      options: decoder.options)
  }
}
