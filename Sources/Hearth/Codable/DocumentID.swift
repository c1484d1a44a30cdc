/// A type that can be made from a document's reference, for properties with ``DocumentID``.
public protocol DocumentIDWrappable {
  /// Makes a value for the document that is decoded.
  ///
  /// - Parameter documentReference: The reference of the whole document, also for a property of a struct inside it.
  /// - Throws: Any error. Decoding the document fails with this error, unchanged.
  static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
  /// The document's id, the last segment of its path.
  ///
  /// - Parameter documentReference: The document's reference.
  public static func wrap(_ documentReference: DocumentReference) throws -> String { documentReference.documentID }
}

extension DocumentReference: DocumentIDWrappable {
  /// The reference itself.
  ///
  /// - Parameter documentReference: The document's reference.
  public static func wrap(_ documentReference: DocumentReference) throws -> DocumentReference {
    documentReference
  }
}

/// Recognises ``DocumentID`` of any value, which needs no field in the document.
protocol FilledFromReference {}

/// Fills a property with the id or the reference of the document that it is decoded from.
///
/// ```swift
/// struct City: Codable {
///   @DocumentID var id: String?
///   var name: String
/// }
/// let city = try snapshot.data(as: City.self)  // city.id is snapshot.documentID
/// ```
///
/// The property is never written: encoding with ``Firestore/Encoder`` leaves it out, and a field of its name in the document is ignored. It
/// also works in structs inside the document; there too it is the id of the whole document.
///
/// Other encoders throw ``FirestoreEncodingError/encodingIsNotSupported(_:)``, other decoders and decoding without a reference
/// throw ``FirestoreDecodingError/decodingIsNotSupported(_:)``.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: StructureCodingUncodedUnkeyed, FilledFromReference {
  /// The id or reference; nil in a value that was not decoded from a document.
  public var wrappedValue: Value?

  /// Makes the property with a value.
  ///
  /// - Parameter wrappedValue: Usually nil. Any other value is probably a mistake, because it is not written, so a warning is logged.
  ///   Setting the property later is not logged; a program may do so to show a value that was never stored.
  public init(wrappedValue: Value?) {
    if let wrappedValue {
      HearthLog.warning(
        """
        [I-FST000002] Attempting to initialize a @DocumentID property with a non-nil value: "\(wrappedValue)". The document \
        ID is managed by Firestore and any initialized value will be ignored. The ID is automatically set when reading from \
        Firestore.
        """)
    }
    self.wrappedValue = wrappedValue
  }

  private init(decoded: Value) {
    wrappedValue = decoded
  }
}

extension DocumentID: Codable {
  /// Decodes the value from the reference of the document that is decoded.
  ///
  /// - Parameter decoder: One of ``Firestore/Decoder``.
  /// - Throws: ``FirestoreDecodingError/decodingIsNotSupported(_:)`` where there is no reference; errors
  ///   of ``DocumentIDWrappable/wrap(_:)``.
  public init(from decoder: any Decoder) throws {
    // The dictionary is for decoders that pass on the contents of ours.
    let reference =
      (decoder as? StoredDecoder)?.context.documentReference
      ?? decoder.userInfo[.documentReference] as? DocumentReference
    guard let reference else {
      throw FirestoreDecodingError.decodingIsNotSupported(
        """
        DocumentID values can only be decoded with Firestore.Decoder, and with the document's reference: use \
        DocumentSnapshot.data(as:) or decode(_:from:in:).
        """)
    }
    self.init(decoded: try Value.wrap(reference))
  }

  /// Throws ``FirestoreEncodingError/encodingIsNotSupported(_:)``. ``Firestore/Encoder`` calls this only for values that are not
  /// properties, such as elements of an array. Other encoders cannot encode the wrapper.
  ///
  /// - Parameter encoder: Any encoder.
  public func encode(to encoder: any Encoder) throws {
    throw FirestoreEncodingError.encodingIsNotSupported(
      "DocumentID values can only be encoded with Firestore.Encoder, as properties, where they are left out.")
  }
}

extension DocumentID: Equatable where Value: Equatable {}
extension DocumentID: Hashable where Value: Hashable {}
extension DocumentID: Sendable where Value: Sendable {}

extension CodingUserInfoKey {
  /// The key under which decoders store the document's reference.
  static let documentReference = CodingUserInfoKey(rawValue: "DocumentRefUserInfoKey")!
}
