extension EncodedValue {
  /// Values nest at most this deep, so that hostile bytes cannot exhaust the stack.
  static let maximumDepth = 100

  /// Builds the value.
  ///
  /// - Throws: `WireFormatError` for malformed bytes anywhere in it, and for more than 100 levels of nesting.
  package func decoded() throws(WireFormatError) -> Value {
    try decoded(depth: 0)
  }

  /// As ``decoded()``, for a value within so many arrays and maps.
  package func decoded(depth: Int) throws(WireFormatError) -> Value {
    switch payload {
    case .null: return .null
    case .boolean(let value): return .boolean(value)
    case .integer(let number): return .integer(number)
    case .double(let number): return .double(number)
    case .timestamp(let timestamp): return .timestamp(timestamp)
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      guard let previousValue else {
        return .pendingServerTimestamp(localWriteTime: localWriteTime, previousValue: nil)
      }
      try Self.requireDepth(depth, previousValue)
      let previous = try EncodedValue(previousValue).decoded(depth: depth + 1)
      return .pendingServerTimestamp(localWriteTime: localWriteTime, previousValue: previous)
    case .string(let contents): return .string(try contents.remainingString("Value.string_value"))
    case .bytes(let contents): return .bytes(Array(contents))
    case .reference(_, let name): return .reference(try Self.reference(name))
    case .geoPoint(let point): return .geoPoint(point)
    case .array(let message):
      try Self.requireDepth(depth, message)
      var elements = EncodedElements(message)
      var values: [Value] = []
      while let element = try elements.next() { values.append(try element.decoded(depth: depth + 1)) }
      return .array(values)
    case .vector(let message, _), .map(let message):
      try Self.requireDepth(depth, message)
      return .map(try Self.decodedMap(EncodedEntries(message, field: ValueField.mapEntries), depth: depth + 1))
    }
  }

  /// Builds a map of entries whose values are at the given depth.
  static func decodedMap(_ entries: EncodedEntries, depth: Int) throws(WireFormatError) -> MapValue {
    var pairs: [(String, Value)] = []
    try entries.forEach { entry throws(WireFormatError) in
      let key = try entry.key.remainingString("map entry key")
      pairs.append((key, try EncodedValue(entry.value).decoded(depth: depth)))
    }
    return MapValue(entries: pairs)
  }

  private static func reference(_ name: WireReader) throws(WireFormatError) -> ReferenceValue {
    let text = try name.remainingString("Value.reference_value")
    do {
      return try ReferenceValue(name: text)
    } catch {
      throw name.error(error.description, "Value.reference_value")
    }
  }

  /// Checks everything that `decoded()` would, without building anything.
  func validate(depth: Int) throws(WireFormatError) {
    switch payload {
    case .null, .boolean, .integer, .double, .timestamp, .bytes, .geoPoint: return
    case .pendingServerTimestamp(_, let previousValue):
      guard let previousValue else { return }
      try Self.requireDepth(depth, previousValue)
      try EncodedValue(previousValue).validate(depth: depth + 1)
    case .string(let contents): try Self.requireUTF8(contents, "Value.string_value")
    case .reference(_, let name): try Self.requireUTF8(name, "Value.reference_value")
    case .array(let message):
      try Self.requireDepth(depth, message)
      var elements = EncodedElements(message)
      while let element = try elements.nextMessage() {
        if !Self.isSimple(element) { try EncodedValue(element).validate(depth: depth + 1) }
      }
    case .vector(let message, _), .map(let message):
      try Self.requireDepth(depth, message)
      try Self.validateMap(EncodedEntries(message, field: ValueField.mapEntries), depth: depth + 1)
    }
  }

  /// Returns whether a message is a valid value of a simple type in the form that every usual encoder writes. False says nothing: the value
  /// may be of another type, written in another way, or malformed.
  @inline(__always)
  private static func isSimple(_ message: WireReader) -> Bool {
    let bytes = message.remainingBytes
    guard bytes.count >= 2, let last = bytes.last else { return false }
    switch bytes[0] {
    // The tags of null_value and boolean_value, integer_value, double_value; then those of string_value and bytes_value, of two bytes.
    case 0x58, 0x08: return bytes.count == 2 && last < 0x80
    case 0x10: return bytes.count <= 10 && last < 0x80 && bytes[1..<bytes.count - 1].allSatisfy { $0 >= 0x80 }
    case 0x19: return bytes.count == 9
    case 0x8A, 0x92:
      guard bytes[1] == 1, let contents = message.wholeContents(lengthAt: message.position + 2) else { return false }
      return bytes[0] == 0x92 || isValidUTF8(contents.remainingBytes)
    default: return false
    }
  }

  /// Checks a map of entries whose values are at the given depth.
  static func validateMap(_ entries: EncodedEntries, depth: Int) throws(WireFormatError) {
    try entries.forEach { entry throws(WireFormatError) in
      try requireUTF8(entry.key, "map entry key")
      if !isSimple(entry.value) { try EncodedValue(entry.value).validate(depth: depth) }
    }
  }

  /// Returns whether a value is nested in more than so many further levels. The entries are one level.
  static func isNested(_ entries: EncodedEntries, deeperThan levels: Int) throws(WireFormatError) -> Bool {
    var isDeeper = false
    try entries.forEach { entry throws(WireFormatError) in
      guard !isDeeper else { return }
      isDeeper = levels < 1 ? true : try EncodedValue(entry.value).isNested(deeperThan: levels - 1)
    }
    return isDeeper
  }

  /// Returns whether a value in this one is nested in more than so many levels. This value is the first level.
  private func isNested(deeperThan levels: Int) throws(WireFormatError) -> Bool {
    switch payload {
    case .null, .boolean, .integer, .double, .timestamp, .pendingServerTimestamp, .string, .bytes, .reference,
      .geoPoint:
      return false
    case .array(let message):
      var elements = EncodedElements(message)
      while let element = try elements.next() {
        guard levels > 0, try !element.isNested(deeperThan: levels - 1) else { return true }
      }
      return false
    case .vector(let message, _), .map(let message):
      return try Self.isNested(EncodedEntries(message, field: ValueField.mapEntries), deeperThan: levels)
    }
  }

  private static func requireUTF8(_ contents: WireReader, _ field: StaticString) throws(WireFormatError) {
    if !isValidUTF8(contents.remainingBytes) { throw contents.error("the text is not valid UTF-8", field) }
  }

  static func requireDepth(_ depth: Int, _ message: WireReader) throws(WireFormatError) {
    if depth >= maximumDepth {
      throw message.error("values are nested more than \(maximumDepth) levels deep", "Value")
    }
  }
}
