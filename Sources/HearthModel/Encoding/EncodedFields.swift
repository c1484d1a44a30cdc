/// The fields of a document in wire encoding: the `fields` entries of `google.firestore.v1.Document`, one after the other, in their
/// received order.
///
/// Two of them are equal if they hold equal values, whatever their order and form of encoding.
package struct EncodedFields: Sendable {
  package let bytes: [UInt8]

  package static let empty = EncodedFields(uncheckedBytes: [])

  /// Wraps bytes that have been validated before; reading malformed parts throws.
  package init(uncheckedBytes bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Validates bytes as `decoded()` would, and wraps them.
  package init(validating bytes: [UInt8]) throws(WireFormatError) {
    try bytes.withReader { reader throws(WireFormatError) in
      try EncodedValue.validateMap(EncodedEntries(reader, field: ValueField.documentFields), depth: 1)
    }
    self.bytes = bytes
  }

  /// Encodes fields in the order of their names.
  package init(_ map: MapValue) {
    var writer = WireWriter()
    map.writeEntries(field: ValueField.documentFields, to: &writer)
    self.bytes = writer.bytes
  }

  package var isEmpty: Bool { bytes.isEmpty }

  /// Returns whether a value is nested in more than so many levels of maps and arrays. The fields themselves are the first level.
  package func isNested(deeperThan levels: Int) throws(WireFormatError) -> Bool {
    try bytes.withReader { reader throws(WireFormatError) in
      try EncodedValue.isNested(EncodedEntries(reader, field: ValueField.documentFields), deeperThan: levels)
    }
  }

  /// Builds all fields. Linear in the number of bytes where the fields are in order.
  package func decoded() throws(WireFormatError) -> MapValue {
    try bytes.withReader { reader throws(WireFormatError) in
      try EncodedValue.decodedMap(EncodedEntries(reader, field: ValueField.documentFields), depth: 1)
    }
  }

  /// Builds the value at a path only; nil if there is none.
  package func value(at path: FieldPath) throws(WireFormatError) -> Value? {
    try withView { view throws(WireFormatError) in try view.value(at: path)?.decoded() }
  }

  /// Runs `body` on the bytes, which must not leave it.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try bytes.withUnsafeBufferPointer { buffer throws(E) in try body(UnsafeRawBufferPointer(buffer)) }
  }

  /// Runs `body` on a view of the fields, which must not leave it.
  package func withView<R, E: Error>(_ body: (EncodedFieldsView) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { raw throws(E) in try body(EncodedFieldsView(raw)) }
  }
}

extension EncodedFields: Hashable {
  package static func == (a: EncodedFields, b: EncodedFields) -> Bool {
    if a.bytes == b.bytes { return true }
    let areEqual = try? a.withUnsafeBytes { aBytes throws(WireFormatError) in
      try b.withUnsafeBytes { bBytes throws(WireFormatError) in
        try EncodedEntries(WireReader(aBytes), field: ValueField.documentFields)
          .holdsSameValues(as: EncodedEntries(WireReader(bBytes), field: ValueField.documentFields))
      }
    }
    return areEqual ?? false
  }

  package func hash(into hasher: inout Hasher) {
    if let map = try? decoded() {
      hasher.combine(map)
    } else {
      hasher.combine(bytes)
    }
  }
}

extension EncodedFields: CustomStringConvertible {
  package var description: String {
    do {
      return try decoded().description
    } catch {
      return "\(bytes.count) bytes that are no valid fields: \(error)"
    }
  }
}

/// The encoded fields of a document, read in place. It does not own its bytes and must not leave the `withUnsafeBytes` that it came from.
package struct EncodedFieldsView {
  let message: WireReader

  private var entries: EncodedEntries { EncodedEntries(message, field: ValueField.documentFields) }

  package init(_ raw: UnsafeRawBufferPointer) {
    message = WireReader(raw)
  }

  /// The value at a path, without building anything; nil if there is none, or if a value on the path is not a map.
  package func value(at path: FieldPath) throws(WireFormatError) -> EncodedValue? {
    var entries = entries
    var value: EncodedValue?
    for (index, name) in path.segments.enumerated() {
      if index > 0 {
        switch value?.payload {
        case .map(let message), .vector(let message, _):
          entries = EncodedEntries(message, field: ValueField.mapEntries)
        default: return nil
        }
      }
      guard let found = try entries.value(forKey: name) else { return nil }
      value = try EncodedValue(found)
    }
    return value
  }
}
