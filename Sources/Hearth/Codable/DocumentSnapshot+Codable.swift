internal import HearthModel

extension DocumentSnapshot {
  /// Decodes the document directly from its stored encoding.
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
  /// Several threads may decode at the same time, even the same snapshot.
  ///
  /// - Parameters:
  ///   - type: The type to decode. An optional type is nil for a missing document.
  ///   - serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  ///   - decoder: Strategies and `userInfo`.
  /// - Returns: The value.
  /// - Throws: `DecodingError` with the coding path and a text that names the document, the field, the expected and the found type;
  ///   `DecodingError.valueNotFound` for a missing document; errors that types throw, unchanged except that the text of a `DecodingError`
  ///   names the document.
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
