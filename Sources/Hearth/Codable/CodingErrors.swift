/// An error of encoding a type that only ``Firestore/Encoder`` can encode.
public enum FirestoreEncodingError: Error, Sendable {
  /// The type cannot be encoded with the encoder in use; the text says why.
  case encodingIsNotSupported(String)
}

/// An error of decoding a type that only ``Firestore/Decoder`` can decode.
public enum FirestoreDecodingError: Error, Sendable {
  /// The type cannot be decoded with the decoder in use, or needs a document's reference; the text says why.
  case decodingIsNotSupported(String)
  /// No longer thrown; kept for programs that catch it. A field with the name of a ``DocumentID`` property is ignored.
  case fieldNameConflict(String)
}
