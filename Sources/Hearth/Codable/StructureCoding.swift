/// Tells an encoder and a decoder which values they hand through as they are. Public as in the official SDK, for
/// ``FirebaseDataEncoder`` and ``FirebaseDataDecoder``.
public protocol StructureCodingPassthroughTypeResolver {
  /// Whether a value stays as it is.
  ///
  /// - Parameter t: A value that is encoded, or an object that is decoded.
  static func isPassthroughType<T>(_ t: T) -> Bool
}

/// Marks a property that is part of no encoded structure, such as ``DocumentID``. Public as in the official SDK.
public protocol StructureCodingUncodedUnkeyed {}

/// Hands nothing through.
struct NoPassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool { false }
}

/// Hands the types through that Firestore stores: ``GeoPoint``, ``Timestamp``, ``FieldValue``, ``DocumentReference`` and
/// ``VectorValue``.
struct FirestorePassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool {
    let type: Any.Type = Swift.type(of: t as Any)
    return type == Timestamp.self || type == FieldValue.self || type == GeoPoint.self || type == DocumentReference.self
      || type == VectorValue.self
  }
}

/// Recognises optionals, which can be decoded from nothing.
protocol OptionalType {}

extension Optional: OptionalType {}
