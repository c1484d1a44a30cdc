// The published rules of Firestore for the size of documents, to which its limit of 1 MiB applies.

extension Value {
  /// The value's part in the size of its document.
  package var storageSizeBytes: Int {
    switch self {
    case .null, .boolean: 1
    case .integer, .double, .timestamp, .pendingServerTimestamp: 8
    case .string(let string): string.utf8.count + 1
    case .bytes(let bytes): bytes.count
    case .reference(let reference): reference.key.storageSizeBytes
    case .geoPoint: 16
    case .array(let elements): elements.reduce(0) { $0 + $1.storageSizeBytes }
    case .map(let map): map.storageSizeBytes
    }
  }
}

extension MapValue {
  /// The part of the names and values in the size of their document.
  package var storageSizeBytes: Int {
    entries.reduce(0) { $0 + $1.key.utf8.count + 1 + $1.value.storageSizeBytes }
  }
}

extension DocumentKey {
  private static let nameOverheadBytes = 16
  private static let documentOverheadBytes = 32

  /// The size of the name: each segment as a string, and 16 bytes.
  package var storageSizeBytes: Int { Self.storageSizeBytes(pathBytes: canonicalString.utf8.count) }

  /// The size of the name of a document whose path has so many bytes.
  static func storageSizeBytes(pathBytes: Int) -> Int {
    // Each segment counts its bytes and one more: as many as the separators between them and one at the end.
    pathBytes + 1 + nameOverheadBytes
  }

  /// The size of a document with this key and these fields, as counted for the limit of 1 MiB (1,048,576 bytes).
  package func documentStorageSizeBytes(fields: MapValue) -> Int {
    documentStorageSizeBytes(fieldsSize: fields.storageSizeBytes)
  }

  /// As above.
  package func documentStorageSizeBytes(fields: EncodedFields) throws(WireFormatError) -> Int {
    documentStorageSizeBytes(fieldsSize: try fields.storageSizeBytes())
  }

  private func documentStorageSizeBytes(fieldsSize: Int) -> Int {
    storageSizeBytes + fieldsSize + Self.documentOverheadBytes
  }
}
