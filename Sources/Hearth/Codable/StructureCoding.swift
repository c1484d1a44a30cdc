/// Decides which values an encoder and a decoder pass through unchanged. Public as in the official SDK, for ``FirebaseDataEncoder`` and
/// ``FirebaseDataDecoder``.
public protocol StructureCodingPassthroughTypeResolver {
  /// Returns whether a value stays as it is.
  ///
  /// - Parameter t: A value that is encoded, or an object that is decoded.
  static func isPassthroughType<T>(_ t: T) -> Bool
}

/// Marks a property that is not part of any encoded structure, such as ``DocumentID``. Public as in the official SDK.
public protocol StructureCodingUncodedUnkeyed {}

/// Passes no types through.
struct NoPassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool { false }
}

/// Passes through the types that Firestore stores: ``GeoPoint``, ``Timestamp``, ``FieldValue``, ``DocumentReference`` and ``VectorValue``.
struct FirestorePassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool {
    let type: Any.Type = Swift.type(of: t as Any)
    return type == Timestamp.self || type == FieldValue.self || type == GeoPoint.self || type == DocumentReference.self
      || type == VectorValue.self
  }
}

/// Recognises optionals, which can be decoded from a missing value.
protocol OptionalType {}

extension Optional: OptionalType {}
