extension EncodedFields {
  /// Returns whether a backend stores these bytes as they are: they are in the form that every usual encoder writes, and their values
  /// need no change. No value is built but references.
  ///
  /// The form is what makes the size of the bytes follow from that of the values. It has no unknown fields, no key twice, one member of each
  /// oneof, and varints in their shortest form. Keys may be in any order. Nearly all documents pass. False says nothing: values that need a
  /// closer look, such as those that break a limit, do not pass either.
  ///
  /// - Parameters:
  ///   - maximumDepth: The number of maps and arrays that may stand in each other.
  ///   - maximumValueBytes: The largest string or bytes.
  ///   - maximumVectorDimensions: The elements that a vector may have.
  package func arePlain(maximumDepth: Int, maximumValueBytes: Int, maximumVectorDimensions: Int) -> Bool {
    let check = PlainCheck(
      maximumDepth: maximumDepth, maximumValueBytes: maximumValueBytes,
      maximumVectorDimensions: maximumVectorDimensions)
    let answer = try? bytes.withReader { reader throws(WireFormatError) in
      try check.passes(EncodedEntries(reader, field: ValueField.documentFields), depth: 0)
    }
    return answer ?? false
  }
}

private struct PlainCheck {
  let maximumDepth: Int
  let maximumValueBytes: Int
  let maximumVectorDimensions: Int

  /// - Parameter depth: The number of maps and arrays around the values.
  func passes(_ entries: EncodedEntries, depth: Int) throws(WireFormatError) -> Bool {
    var reader = entries.message
    var count = 0
    var lastKey: WireReader?
    var isSorted = true
    while !reader.isAtEnd {
      guard let entry = try reader.readShortestEntry(field: entries.field) else { return false }
      let name = entry.key.remainingBytes
      if depth > 0, ByteOrder.areEqual(name, MapValue.typeKey) { return try isVector(entries) }
      guard FieldPath.isWithinServerLimits(name: name), try passes(entry.value, depth: depth, inArray: false) else {
        return false
      }
      if let lastKey, ByteOrder.compare(lastKey.remainingBytes, name) != .ascending { isSorted = false }
      lastKey = entry.key
      count += 1
    }
    // If a key occurs twice, only its last entry counts.
    if isSorted { return true }
    return try entries.sorted().count == count
  }

  private func passes(_ value: WireReader, depth: Int, inArray: Bool) throws(WireFormatError) -> Bool {
    var reader = value
    guard let tag = try reader.readShortestTag() else { return false }
    let passes: Bool
    switch (tag.field, tag.type) {
    case (ValueField.null, .varint): passes = try reader.readShortestVarint() == 0
    case (ValueField.boolean, .varint): passes = try reader.readShortestVarint().map { $0 <= 1 } ?? false
    case (ValueField.integer, .varint): passes = try reader.readShortestVarint() != nil
    case (ValueField.double, .fixed64):
      _ = try reader.readFixed64("Value.double_value")
      passes = true
    case (_, .lengthDelimited):
      guard let contents = try reader.readShortestMessage() else { return false }
      passes = try self.passes(contents, ofMember: tag.field, depth: depth, inArray: inArray)
    default: passes = false
    }
    return passes && reader.isAtEnd
  }

  /// The same for a member that has a length.
  private func passes(
    _ contents: WireReader, ofMember member: Int, depth: Int, inArray: Bool
  ) throws(WireFormatError) -> Bool {
    switch member {
    case ValueField.string, ValueField.bytes: return contents.remainingBytes.count <= maximumValueBytes
    case ValueField.timestamp: return try isStorableTime(contents)
    case ValueField.geoPoint: return try isPointOnEarth(contents)
    case ValueField.reference: return isStorableReference(contents)
    case ValueField.array:
      guard depth < maximumDepth, !inArray else { return false }
      var reader = contents
      while !reader.isAtEnd {
        guard let element = try reader.readShortestMessage(field: ValueField.arrayElements),
          try passes(element, depth: depth + 1, inArray: true)
        else { return false }
      }
      return true
    case ValueField.map:
      // The map of a vector does not count as one of those around a value.
      let entries = EncodedEntries(contents, field: ValueField.mapEntries)
      return try depth < maximumDepth ? passes(entries, depth: depth + 1) : isVector(entries)
    default: return false
    }
  }

  private func isStorableTime(_ contents: WireReader) throws(WireFormatError) -> Bool {
    var reader = contents
    var lastField = 0
    while !reader.isAtEnd {
      guard let tag = try reader.readShortestTag(), tag.type == .varint, tag.field > lastField, tag.field <= 2,
        let number = try reader.readShortestVarint(), number != 0
      else { return false }
      lastField = tag.field
    }
    let time = try WireReader.timestamp(in: contents, "Value.timestamp_value")
    return Timestamp.validSeconds.contains(time.seconds) && time == time.truncatedToMicroseconds()
  }

  private func isPointOnEarth(_ contents: WireReader) throws(WireFormatError) -> Bool {
    var reader = contents
    var lastField = 0
    var point = GeoPoint(latitude: 0, longitude: 0)
    while !reader.isAtEnd {
      guard let tag = try reader.readShortestTag(), tag.type == .fixed64, tag.field > lastField else { return false }
      let number = Double(bitPattern: try reader.readFixed64("LatLng"))
      switch tag.field {
      case ValueField.latitude: point.latitude = number
      case ValueField.longitude: point.longitude = number
      default: return false
      }
      lastField = tag.field
    }
    return point.isOnEarth
  }

  private func isStorableReference(_ name: WireReader) -> Bool {
    guard let text = String(wellFormedUTF8: name.remainingBytes), let reference = try? ReferenceValue(name: text) else {
      return false
    }
    return (try? reference.key.validateServerLimits()) != nil
  }

  /// Returns whether a map is a vector of doubles, with no other entries than those of a vector.
  private func isVector(_ entries: EncodedEntries) throws(WireFormatError) -> Bool {
    var reader = entries.message
    var (hasType, hasElements) = (false, false)
    while !reader.isAtEnd {
      guard let entry = try reader.readShortestEntry(field: entries.field) else { return false }
      var value = entry.value
      if !hasType, ByteOrder.areEqual(entry.key.remainingBytes, MapValue.typeKey) {
        guard let type = try value.readShortestMessage(field: ValueField.string), value.isAtEnd,
          ByteOrder.areEqual(type.remainingBytes, MapValue.vectorType)
        else { return false }
        hasType = true
      } else if !hasElements, ByteOrder.areEqual(entry.key.remainingBytes, MapValue.vectorKey) {
        guard let array = try value.readShortestMessage(field: ValueField.array), value.isAtEnd,
          try holdsDoubles(array)
        else { return false }
        hasElements = true
      } else {
        return false
      }
    }
    return hasType && hasElements
  }

  private func holdsDoubles(_ array: WireReader) throws(WireFormatError) -> Bool {
    var reader = array
    var count = 0
    while !reader.isAtEnd {
      guard var element = try reader.readShortestMessage(field: ValueField.arrayElements),
        try element.readShortestTag() == WireTag(field: ValueField.double, type: .fixed64)
      else { return false }
      _ = try element.readFixed64("Value.double_value")
      count += 1
      guard element.isAtEnd, count <= maximumVectorDimensions else { return false }
    }
    return true
  }
}

// The form that every usual encoder writes. Nil stands for a longer form of the same value.
extension WireReader {
  private static func varintByteCount(_ value: UInt64) -> Int {
    value == 0 ? 1 : (70 - value.leadingZeroBitCount) / 7
  }

  fileprivate mutating func readShortestVarint() throws(WireFormatError) -> UInt64? {
    let start = position
    let value = try readVarint("Value")
    return position - start == Self.varintByteCount(value) ? value : nil
  }

  /// Nil also at the end.
  fileprivate mutating func readShortestTag() throws(WireFormatError) -> WireTag? {
    let start = position
    guard let tag = try readTag("Value") else { return nil }
    return position - start == Self.varintByteCount(UInt64(tag.field) << 3) ? tag : nil
  }

  fileprivate mutating func readShortestMessage() throws(WireFormatError) -> WireReader? {
    let start = position
    let contents = try readMessage("Value")
    let lengthByteCount = contents.position - start
    return lengthByteCount == Self.varintByteCount(UInt64(contents.end - contents.position)) ? contents : nil
  }

  /// Nil also for another field.
  fileprivate mutating func readShortestMessage(field: Int) throws(WireFormatError) -> WireReader? {
    guard try readShortestTag() == WireTag(field: field, type: .lengthDelimited) else { return nil }
    return try readShortestMessage()
  }

  /// An entry of a map: a key, then a value, and nothing else.
  fileprivate mutating func readShortestEntry(field: Int) throws(WireFormatError) -> EncodedEntries.Entry? {
    guard var entry = try readShortestMessage(field: field),
      let key = try entry.readShortestMessage(field: ValueField.entryKey),
      let value = try entry.readShortestMessage(field: ValueField.entryValue), entry.isAtEnd
    else { return nil }
    return EncodedEntries.Entry(key: key, value: value)
  }
}
