extension EncodedFields {
  /// Returns whether a backend stores these fields as they are, as far as can be seen without building a value.
  ///
  /// Nearly all documents pass. False says nothing: it is also the answer for references and vectors.
  ///
  /// - Parameters:
  ///   - maximumDepth: The number of maps and arrays that may stand in each other.
  ///   - maximumValueBytes: The largest string or bytes.
  package func arePlain(maximumDepth: Int, maximumValueBytes: Int) -> Bool {
    let check = PlainCheck(maximumDepth: maximumDepth, maximumValueBytes: maximumValueBytes)
    let answer = try? bytes.withReader { reader throws(WireFormatError) in
      try check.passes(EncodedEntries(reader, field: ValueField.documentFields), depth: 0)
    }
    return answer ?? false
  }
}

private struct PlainCheck {
  let maximumDepth: Int
  let maximumValueBytes: Int

  /// - Parameter depth: The number of maps and arrays around the values.
  func passes(_ entries: EncodedEntries, depth: Int) throws(WireFormatError) -> Bool {
    var reader = entries.message
    while let entry = try EncodedEntries.next(entries.field, &reader) {
      guard FieldPath.isWithinServerLimits(name: entry.key.remainingBytes),
        try passes(EncodedValue(entry.value), depth: depth)
      else { return false }
    }
    return true
  }

  private func passes(_ value: EncodedValue, depth: Int) throws(WireFormatError) -> Bool {
    switch value.payload {
    case .null, .boolean, .integer, .double:
      return true
    case .timestamp(let time):
      return time == time.truncatedToMicroseconds()
    case .string(let text):
      return text.remainingBytes.count <= maximumValueBytes
    case .bytes(let bytes):
      return bytes.count <= maximumValueBytes
    case .array(let message):
      guard depth < maximumDepth else { return false }
      var elements = EncodedElements(message)
      while let element = try elements.next() {
        if case .array = element.payload { return false }
        guard try passes(element, depth: depth + 1) else { return false }
      }
      return true
    case .map(let message):
      guard depth < maximumDepth else { return false }
      return try passes(EncodedEntries(message, field: ValueField.mapEntries), depth: depth + 1)
    case .geoPoint(let point):
      return point.isOnEarth
    case .reference, .vector, .pendingServerTimestamp:
      return false
    }
  }
}
