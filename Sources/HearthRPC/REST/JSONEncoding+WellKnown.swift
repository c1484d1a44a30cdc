internal import HearthModel

// The messages whose JSON is not an object of their fields.

extension JSONEncoding {
  func write(
    _ reader: WireReader, of message: MessageSchema, _ wellKnown: MessageSchema.WellKnown,
    to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    switch wellKnown {
    case .timestamp, .duration:
      let (seconds, nanoseconds) = try time(reader)
      let text =
        if case .timestamp = wellKnown { ProtoTime.text(seconds: seconds, nanoseconds: nanoseconds) } else {
          ProtoTime.durationText(seconds: seconds, nanoseconds: nanoseconds)
        }
      guard let text else {
        throw reader.error("\(seconds) s and \(nanoseconds) ns are outside of what \(message.name) holds", "JSON")
      }
      output.string(text)
    case .fieldMask: output.string(try paths(reader).map(Self.camelCasePath).joined(separator: ","))
    case .any: try writeAny(reader, to: &output, depth: depth)
    case .wrapper:
      guard let field = message.field(1) else { return }
      var (reader, scalar) = (reader, WireScalar.empty)
      while let tag = try reader.readTag("JSON") {
        if tag == WireTag(field: 1, type: field.kind.wireType) {
          scalar = try WireScalar(&reader, tag)
        } else {
          try reader.skip(tag, "JSON")
        }
      }
      try write(scalar, field.kind, reader, to: &output)
    case .structure:
      output.beginObject()
      try writeEntries(reader, of: message, to: &output, depth: depth)
      output.endObject()
    case .listValue: try writeList(reader, of: message, to: &output, depth: depth)
    case .value: try writeValue(reader, of: message, to: &output, depth: depth)
    }
  }

  private func time(_ reader: WireReader) throws(WireFormatError) -> (seconds: Int64, nanoseconds: Int64) {
    var reader = reader
    var (seconds, nanoseconds): (Int64, Int64) = (0, 0)
    while let tag = try reader.readTag("JSON") {
      switch (tag.field, tag.type) {
      case (1, .varint): seconds = Int64(bitPattern: try reader.readVarint("JSON"))
      case (2, .varint): nanoseconds = Int64(Int32(truncatingIfNeeded: try reader.readVarint("JSON")))
      default: try reader.skip(tag, "JSON")
      }
    }
    return (seconds, nanoseconds)
  }

  private func paths(_ reader: WireReader) throws(WireFormatError) -> [String] {
    var (reader, paths) = (reader, [String]())
    while let tag = try reader.readTag("JSON") {
      if tag == WireTag(field: 1, type: .lengthDelimited) {
        paths.append(try reader.readString("FieldMask.paths"))
      } else {
        try reader.skip(tag, "JSON")
      }
    }
    return paths
  }

  private static func camelCasePath(_ path: String) -> String {
    path.split(separator: ".", omittingEmptySubsequences: false).map { ProtoSchema.camelCase($0) }.joined(
      separator: ".")
  }

  /// A message of any type, with its name in the member `@type`.
  private func writeAny(_ reader: WireReader, to output: inout JSONOutput, depth: Int) throws(WireFormatError) {
    var (reader, url, value) = (reader, "", WireReader(UnsafeRawBufferPointer(start: nil, count: 0)))
    while let tag = try reader.readTag("JSON") {
      switch (tag.field, tag.type) {
      case (1, .lengthDelimited): url = try reader.readString("Any.type_url")
      case (2, .lengthDelimited): value = try reader.readMessage("Any.value")
      default: try reader.skip(tag, "JSON")
      }
    }
    output.beginObject()
    if !url.isEmpty {
      output.name("@type")
      output.string(url)
    }
    let name = url.split(separator: "/").last ?? ""
    if let index = schema.index(of: name) {
      let message = schema.messages[index]
      if message.wellKnown == nil {
        try writeMembers(value, of: message, to: &output, depth: depth + 1)
      } else {
        output.name("value")
        try write(value, of: index, to: &output, depth: depth + 1)
      }
    } else if !value.isAtEnd {
      // Without the definition nothing better can be said than the bytes.
      output.name("value")
      var rest = value
      while let tag = try rest.readTag("Any.value") { try rest.skip(tag, "Any.value") }
      output.base64(rest.bytes(since: value.position))
    }
    output.endObject()
  }

  private func writeEntries(
    _ reader: WireReader, of message: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    guard let field = message.field(1), case .message(let index) = field.kind else { return }
    var reader = reader
    while let tag = try reader.readTag("JSON") {
      if tag == WireTag(field: 1, type: .lengthDelimited) {
        try writeEntry(try reader.readMessage("JSON"), schema.messages[index], to: &output, depth: depth + 1)
      } else {
        try reader.skip(tag, "JSON")
      }
    }
  }

  private func writeList(
    _ reader: WireReader, of message: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    guard let field = message.field(1), case .message(let index) = field.kind else { return }
    var reader = reader
    output.beginArray()
    while let tag = try reader.readTag("JSON") {
      if tag == WireTag(field: 1, type: .lengthDelimited) {
        output.element()
        try write(try reader.readMessage("JSON"), of: index, to: &output, depth: depth + 1)
      } else {
        try reader.skip(tag, "JSON")
      }
    }
    output.endArray()
  }

  /// A `google.protobuf.Value`: of several kinds the last counts, and none is null.
  private func writeValue(
    _ reader: WireReader, of message: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    var reader = reader
    var last: (field: FieldSchema, start: WireReader, tag: WireTag)?
    while let tag = try reader.readTag("JSON") {
      if let field = message.field(tag.field), field.kind.wireType == tag.type { last = (field, reader, tag) }
      try reader.skip(tag, "JSON")
    }
    guard let (field, position, tag) = last else { return output.raw("null" as StaticString) }
    var start = position
    if case .message(let index) = field.kind {
      return try write(try start.readMessage("JSON"), of: index, to: &output, depth: depth + 1)
    }
    try write(try WireScalar(&start, tag), field.kind, start, to: &output)
  }
}
