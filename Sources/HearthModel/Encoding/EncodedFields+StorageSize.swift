// The published rules of Firestore for the size of documents, as in `Value.storageSizeBytes`, without building the values.

extension EncodedFields {
  /// The part of the names and values in the size of their document. If a key occurs twice, both entries count.
  package func storageSizeBytes() throws(WireFormatError) -> Int {
    try bytes.withReader { reader throws(WireFormatError) in
      try EncodedEntries(reader, field: ValueField.documentFields).storageSizeBytes()
    }
  }
}

extension EncodedEntries {
  fileprivate func storageSizeBytes() throws(WireFormatError) -> Int {
    var size = 0
    try forEach { entry throws(WireFormatError) in
      size += entry.key.remainingBytes.count + 1 + (try EncodedValue(entry.value).storageSizeBytes())
    }
    return size
  }
}

extension EncodedValue {
  fileprivate func storageSizeBytes() throws(WireFormatError) -> Int {
    switch payload {
    case .null, .boolean: return 1
    case .integer, .double, .timestamp, .pendingServerTimestamp: return 8
    case .string(let contents): return contents.remainingBytes.count + 1
    case .bytes(let contents): return contents.count
    case .reference(let parts, _): return DocumentKey.storageSizeBytes(pathBytes: parts.path.count)
    case .geoPoint: return 16
    case .array(let message):
      var elements = EncodedElements(message)
      var size = 0
      while let element = try elements.next() { size += try element.storageSizeBytes() }
      return size
    case .vector(let message, _), .map(let message):
      return try EncodedEntries(message, field: ValueField.mapEntries).storageSizeBytes()
    }
  }
}
