extension EncodedFields {
  /// Calls `body` with the name and the value of each field, in the order in which they stand, also with those that a later one with the same
  /// name replaces. To decode the value, its depth is 1.
  ///
  /// What is read so, and the first error, are those of ``decoded()``.
  package func forEachField(
    _ body: (String, EncodedValue) throws(WireFormatError) -> Void
  ) throws(WireFormatError) {
    try bytes.withReader { reader throws(WireFormatError) in
      try EncodedValue.forEachEntry(EncodedEntries(reader, field: ValueField.documentFields), body)
    }
  }
}

extension EncodedValue {
  /// Calls `body` with the key and the value of each entry, as ``EncodedFields/forEachField(_:)``.
  ///
  /// - Parameters:
  ///   - message: The contents of ``Payload/map(_:)``.
  ///   - depth: The depth of the map. That of the values in it is one more.
  /// - Throws: An error also if the map is too deep.
  package static func forEachEntry(
    of message: WireReader, depth: Int, _ body: (String, EncodedValue) throws(WireFormatError) -> Void
  ) throws(WireFormatError) {
    try requireDepth(depth, message)
    try forEachEntry(EncodedEntries(message, field: ValueField.mapEntries), body)
  }

  fileprivate static func forEachEntry(
    _ entries: EncodedEntries, _ body: (String, EncodedValue) throws(WireFormatError) -> Void
  ) throws(WireFormatError) {
    try entries.forEach { entry throws(WireFormatError) in
      let key = try entry.key.remainingString("map entry key")
      try body(key, EncodedValue(entry.value))
    }
  }

  /// Calls `body` with each element, as ``forEachEntry(of:depth:_:)``.
  ///
  /// - Parameter message: The contents of ``Payload/array(_:)``.
  package static func forEachElement(
    of message: WireReader, depth: Int, _ body: (EncodedValue) throws(WireFormatError) -> Void
  ) throws(WireFormatError) {
    try requireDepth(depth, message)
    var elements = EncodedElements(message)
    while let element = try elements.next() { try body(element) }
  }
}
