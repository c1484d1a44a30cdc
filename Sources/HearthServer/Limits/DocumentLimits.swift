internal import HearthModel

/// Checks a document as it is going to be stored.
enum DocumentLimits {
  /// The largest document, by the published rules of storage size.
  static let maximumDocumentBytes = 1_048_576

  /// The storage size is at most this many times the encoded size: an array of zeros takes 4 bytes for each element on
  /// the wire and counts 8, geo points 4 and 16.
  private static let storageBytesPerEncodedByte = 5

  /// - Throws: INVALID_ARGUMENT when the document is too large.
  static func check(_ document: Document, name: @autoclosure () -> String) throws {
    let nameBytes = document.key.storageSizeBytes
    guard document.fields.bytes.count > (maximumDocumentBytes - nameBytes) / storageBytesPerEncodedByte else { return }
    let size = document.key.documentStorageSizeBytes(fields: try document.fields.decoded())
    if size > maximumDocumentBytes {
      throw StatusError(
        code: .invalidArgument,
        message:
          "Document \"\(name())\" cannot be written because its size (\(size) bytes) exceeds the maximum allowed "
          + "size of 1,048,576 bytes.")
    }
  }
}
