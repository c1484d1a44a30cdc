internal import HearthModel

/// Converts messages on the wire into their JSON (https://protobuf.dev/programming-guides/json), following a ``ProtoSchema``.
///
/// No message objects are created. Members come in the order of the wire. Every usual encoder writes fields in the order of their numbers;
/// bytes in another order, which the wire allows, are sorted first. Fields that are not in the schema are left out.
struct JSONEncoding {
  let schema: ProtoSchema

  /// Far more than documents may have, whose 20 levels are four messages each. It bounds the stack.
  private static let maximumDepth = 200

  /// - Throws: `WireFormatError` for bytes that are not a message.
  func write(
    _ bytes: UnsafeRawBufferPointer, of message: Int, to output: inout JSONOutput
  ) throws(WireFormatError) {
    try write(WireReader(bytes), of: message, to: &output, depth: 0)
  }

  func write(
    _ reader: WireReader, of message: Int, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    guard depth < Self.maximumDepth else {
      throw reader.error("messages are nested more than \(Self.maximumDepth) levels deep", "JSON")
    }
    let message = schema.messages[message]
    if let wellKnown = message.wellKnown {
      return try write(reader, of: message, wellKnown, to: &output, depth: depth)
    }
    output.beginObject()
    try writeMembers(reader, of: message, to: &output, depth: depth)
    output.endObject()
  }

  func writeMembers(
    _ reader: WireReader, of message: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    guard try isInOrder(reader, message) else {
      let ordered = try WireOrder.normalized(reader, message)
      let result = ordered.withUnsafeBytes { bytes in
        Result { () throws(WireFormatError) in
          try writeOrdered(WireReader(bytes), of: message, to: &output, depth: depth)
        }
      }
      return try result.get()
    }
    try writeOrdered(reader, of: message, to: &output, depth: depth)
  }

  private func isInOrder(_ reader: WireReader, _ message: MessageSchema) throws(WireFormatError) -> Bool {
    var (reader, last) = (reader, 0)
    while let tag = try reader.readTag("JSON") {
      guard tag.field > last || tag.field == last && message.field(last)?.isRepeated ?? true else { return false }
      last = tag.field
      try reader.skip(tag, "JSON")
    }
    return true
  }

  private func writeOrdered(
    _ reader: WireReader, of message: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    var reader = reader
    var open: FieldSchema?
    while let tag = try reader.readTag("JSON") {
      if let field = open, field.number != tag.field {
        if field.isMap { output.endObject() } else { output.endArray() }
        open = nil
      }
      guard let field = message.field(tag.field) else {
        try reader.skip(tag, "JSON")
        continue
      }
      if field.isRepeated {
        if open == nil {
          output.name(field.jsonName)
          if field.isMap { output.beginObject() } else { output.beginArray() }
          open = field
        }
        try writeElements(field, tag, &reader, to: &output, depth: depth)
      } else {
        try writeSingle(field, tag, &reader, to: &output, depth: depth)
      }
    }
    if let open { if open.isMap { output.endObject() } else { output.endArray() } }
  }

  private func writeSingle(
    _ field: FieldSchema, _ tag: WireTag, _ reader: inout WireReader, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    guard tag.type == field.kind.wireType else { return try reader.skip(tag, "JSON") }
    if case .message(let index) = field.kind {
      output.name(field.jsonName)
      return try write(try reader.readMessage("JSON"), of: index, to: &output, depth: depth + 1)
    }
    let scalar = try WireScalar(&reader, tag)
    guard field.hasPresence || !scalar.isDefault else { return }
    output.name(field.jsonName)
    try write(scalar, field.kind, reader, to: &output)
  }

  private func writeElements(
    _ field: FieldSchema, _ tag: WireTag, _ reader: inout WireReader, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    if case .message(let index) = field.kind {
      guard tag.type == .lengthDelimited else { return try reader.skip(tag, "JSON") }
      let contents = try reader.readMessage("JSON")
      if field.isMap { return try writeEntry(contents, schema.messages[index], to: &output, depth: depth + 1) }
      output.element()
      return try write(contents, of: index, to: &output, depth: depth + 1)
    }
    let type = field.kind.wireType
    if tag.type == type {
      output.element()
      return try write(try WireScalar(&reader, tag), field.kind, reader, to: &output)
    }
    // Packed: the values one after the other.
    guard tag.type == .lengthDelimited else { return try reader.skip(tag, "JSON") }
    var packed = try reader.readMessage("JSON")
    while !packed.isAtEnd {
      output.element()
      try write(try WireScalar(&packed, WireTag(field: tag.field, type: type)), field.kind, packed, to: &output)
    }
  }

  func writeEntry(
    _ reader: WireReader, _ entry: MessageSchema, to output: inout JSONOutput, depth: Int
  ) throws(WireFormatError) {
    var reader = reader
    guard let keyField = entry.field(1), let valueField = entry.field(2) else { return }
    var key: WireScalar?
    var message: WireReader?
    var scalar: WireScalar?
    while let tag = try reader.readTag("JSON") {
      switch tag.field {
      case 1 where tag.type == keyField.kind.wireType: key = try WireScalar(&reader, tag)
      case 2 where tag.type == valueField.kind.wireType:
        if case .message = valueField.kind {
          message = try reader.readMessage("JSON")
        } else {
          scalar = try WireScalar(&reader, tag)
        }
      default: try reader.skip(tag, "JSON")
      }
    }
    switch keyField.kind {
    case .string: output.name(utf8: try (key ?? .empty).text(reader))
    default: output.name(String((key ?? .empty).integer(keyField.kind)))
    }
    if case .message(let index) = valueField.kind {
      let empty = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
      return try write(message ?? empty, of: index, to: &output, depth: depth)
    }
    try write(scalar ?? .empty, valueField.kind, reader, to: &output)
  }

  /// - Parameter place: Where an error is reported.
  func write(
    _ scalar: WireScalar, _ kind: FieldSchema.Kind, _ place: WireReader, to output: inout JSONOutput
  ) throws(WireFormatError) {
    switch kind {
    case .bool: output.bool(scalar.bits != 0)
    case .int64, .sint64, .sfixed64: output.quoted(scalar.integer(kind))
    case .uint64, .fixed64: output.quoted(scalar.bits)
    case .int32, .sint32, .sfixed32: output.raw(String(scalar.integer(kind)))
    case .uint32, .fixed32: output.raw(String(UInt32(truncatingIfNeeded: scalar.bits)))
    case .double: output.double(Double(bitPattern: scalar.bits))
    case .float: output.float(Float(bitPattern: UInt32(truncatingIfNeeded: scalar.bits)))
    case .string: output.string(utf8: try scalar.text(place))
    case .bytes: output.base64(scalar.contents)
    case .enumeration(let index):
      let type = schema.enums[index]
      let number = Int32(truncatingIfNeeded: scalar.bits)
      if type.isNull { return output.raw("null" as StaticString) }
      if let name = type.names[number] { output.string(name) } else { output.raw(String(number)) }
    case .message: output.raw("{}" as StaticString)
    }
  }
}

extension FieldSchema.Kind {
  var wireType: WireType {
    switch self {
    case .bool, .int32, .int64, .uint32, .uint64, .sint32, .sint64, .enumeration: .varint
    case .fixed64, .sfixed64, .double: .fixed64
    case .fixed32, .sfixed32, .float: .fixed32
    case .string, .bytes, .message: .lengthDelimited
    }
  }
}

/// A value on the wire that is not a message.
struct WireScalar {
  /// A varint or a number of fixed size.
  var bits: UInt64 = 0
  /// Text or bytes.
  var contents = UnsafeRawBufferPointer(start: nil, count: 0)

  static var empty: WireScalar { WireScalar() }

  private init() {}

  init(_ reader: inout WireReader, _ tag: WireTag) throws(WireFormatError) {
    switch tag.type {
    case .varint: bits = try reader.readVarint("JSON")
    case .lengthDelimited: contents = try reader.readBytes("JSON")
    case .fixed64, .fixed32:
      let start = reader.position
      try reader.skip(tag, "JSON")
      for (index, byte) in reader.bytes(since: start).enumerated() { bits |= UInt64(byte) << UInt64(8 * index) }
    }
  }

  /// The value of a field that is not there.
  var isDefault: Bool { bits == 0 && contents.isEmpty }

  func integer(_ kind: FieldSchema.Kind) -> Int64 {
    switch kind {
    case .sint32, .sint64: Int64(bitPattern: bits >> 1) ^ -Int64(bits & 1)
    case .int32, .sfixed32: Int64(Int32(truncatingIfNeeded: bits))
    case .uint32, .fixed32: Int64(UInt32(truncatingIfNeeded: bits))
    default: Int64(bitPattern: bits)
    }
  }

  /// - Parameter place: Where an error is reported.
  func text(_ place: WireReader) throws(WireFormatError) -> UnsafeRawBufferPointer {
    guard Unicode.UTF8.isValid(contents) else { throw place.error("the text is not valid UTF-8", "JSON") }
    return contents
  }
}

extension Unicode.UTF8 {
  /// Returns true for bytes that are text.
  fileprivate static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // The usual case, without making a string.
    if bytes.allSatisfy({ $0 < 0x80 }) { return true }
    return String(validating: bytes, as: UTF8.self) != nil
  }
}

/// Puts the fields of a message in the order of their numbers.
enum WireOrder {
  /// The same message with its fields in order: of a field that is not repeated, the last value counts, and messages are merged
  /// (https://protobuf.dev/programming-guides/encoding, "Last One Wins").
  static func normalized(_ reader: WireReader, _ message: MessageSchema) throws(WireFormatError) -> [UInt8] {
    var reader = reader
    var parts: [(tag: WireTag, field: [UInt8], contents: [UInt8])] = []
    while true {
      let start = reader.position
      guard let tag = try reader.readTag("JSON") else { break }
      var contents: [UInt8] = []
      if tag.type == .lengthDelimited {
        contents = [UInt8](try reader.readBytes("JSON"))
      } else {
        try reader.skip(tag, "JSON")
      }
      parts.append((tag, [UInt8](reader.bytes(since: start)), contents))
    }
    // By place among equals: a sort alone may exchange those.
    let order = parts.indices.sorted { (parts[$0].tag.field, $0) < (parts[$1].tag.field, $1) }
    var writer = WireWriter()
    var index = 0
    while index < order.count {
      let part = parts[order[index]]
      let field = message.field(part.tag.field)
      var end = index + 1
      while end < order.count, parts[order[end]].tag.field == part.tag.field { end += 1 }
      if field?.isRepeated ?? true {
        for place in order[index..<end] { writer.writeEncoded(parts[place].field) }
      } else if case .message? = field?.kind {
        writer.writeBytes(order[index..<end].flatMap { parts[$0].contents }, field: part.tag.field)
      } else {
        writer.writeEncoded(parts[order[end - 1]].field)
      }
      index = end
    }
    return writer.bytes
  }
}
