internal import HearthModel

/// Checks a document before it is stored.
enum DocumentLimits {
  /// The largest document, by the published rules of storage size.
  static let maximumDocumentBytes = 1_048_576

  /// The largest `Document` on the wire. By the published rules some values count less than they take, and empty maps nothing at all. Clients
  /// of gRPC refuse messages of more than 4 MiB by default: one document beyond that would break every query and every listener that finds
  /// it. The rest is for what else is in the message: times, the ids of up to 150 targets, and so on.
  static let maximumEncodedBytes = (4 << 20) - (1 << 10)

  /// The storage size is at most this many times the encoded size: an array of zeros takes 4 bytes for each element on
  /// the wire and counts 8, geo points 4 and 16.
  private static let storageBytesPerEncodedByte = 5

  /// - Parameter name: The full name.
  /// - Throws: INVALID_ARGUMENT when the document is too large.
  static func check(_ document: Document, name: @autoclosure () -> String) throws {
    let nameBytes = document.key.storageSizeBytes
    guard document.fields.bytes.count > (maximumDocumentBytes - nameBytes) / storageBytesPerEncodedByte else { return }
    try checkEncodedSize(of: document.fields, name: name())
    let size = try document.key.documentStorageSizeBytes(fields: document.fields)
    if size > maximumDocumentBytes {
      throw StatusError(
        code: .invalidArgument,
        message:
          "Document \"\(name())\" cannot be written because its size (\(size) bytes) exceeds the maximum allowed "
          + "size of 1,048,576 bytes.")
    }
  }

  private static func checkEncodedSize(of fields: EncodedFields, name: String) throws(StatusError) {
    // In a page of a list, a token holds the name of the document a second time, in base64.
    let size = fields.bytes.count + 3 * name.utf8.count
    if size > maximumEncodedBytes {
      throw StatusError(
        code: .invalidArgument,
        message:
          "Document \"\(name)\" cannot be written because its encoding (\(fields.bytes.count) bytes) is larger than a "
          + "client can read: with three times the name it may have \(maximumEncodedBytes) bytes.")
    }
  }
}
