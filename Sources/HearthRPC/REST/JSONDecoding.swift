internal import Foundation
internal import HearthModel

/// Converts JSON into messages on the wire, following a ``ProtoSchema``. The texts of errors are those of Google's servers, because client
/// libraries and people know them.
struct JSONDecoding {
  let schema: ProtoSchema

  /// The number of values in a request's body. A value takes about 50 bytes of memory, but as little as two in the text.
  static let maximumValueCount = 1_000_000

  /// The place of a value; written out for errors only.
  indirect enum Place {
    case root
    case member(String, of: Place)
    case item(Int, of: Place)
    case key(String, of: Place)

    /// A text such as `writes[0].update.fields[0].value`; empty for the root.
    var text: String {
      switch self {
      case .root: ""
      case .member(let name, of: .root): name
      case .member(let name, let parent): "\(parent.text).\(name)"
      case .item(let index, let parent): "\(parent.text)[\(index)]"
      case .key(let name, let parent): "\(parent.text)[\(name)]"
      }
    }
  }

  /// Reads the body of a request.
  ///
  /// - Parameter place: The field of the request that the body is.
  func message(_ index: Int, from body: ArraySlice<UInt8>, at place: Place = .root) throws(RESTFailure) -> [UInt8] {
    let json: JSONText
    do {
      json = try JSONTextReader.read(body, maximumValueCount: Self.maximumValueCount)
    } catch {
      throw .syntax("\(error.message) (byte \(error.offset)).")
    }
    if case .object = json {
    } else if schema.messages[index].wellKnown == nil {
      throw .syntax("Root element must be a message.")
    }
    var writer = WireWriter()
    try write(json, of: index, at: place, to: &writer)
    return writer.bytes
  }

  func write(_ json: JSONText, of index: Int, at place: Place, to writer: inout WireWriter) throws(RESTFailure) {
    let message = schema.messages[index]
    if let wellKnown = message.wellKnown { return try write(json, of: message, wellKnown, at: place, to: &writer) }
    guard case .object(let members) = json else {
      throw .value(at: place.text, type: message.name, Self.shown(json))
    }
    try write(members, of: message, at: place, to: &writer)
  }

  func write(
    _ members: [(name: String, value: JSONText)], of message: MessageSchema, at place: Place,
    to writer: inout WireWriter
  ) throws(RESTFailure) {
    var seen: Set<Int> = []
    var oneofs: Set<Int> = []
    for (name, value) in members {
      guard let field = message.field(named: name) else { throw .unknown(name, at: place.text) }
      guard seen.insert(field.number).inserted else {
        throw .invalid(at: place.text, "Repeated field \"\(field.jsonName)\": a name may stand once in an object.")
      }
      if case .null = value, !acceptsNull(field) { continue }
      if let oneof = field.oneof {
        guard oneofs.insert(oneof).inserted else {
          throw .oneof(field.oneofName, alreadySetBefore: field.jsonName, at: place.text)
        }
      }
      try write(value, field, at: .member(field.name, of: place), to: &writer)
    }
  }

  /// Null is the same as no value, except where it is one.
  private func acceptsNull(_ field: FieldSchema) -> Bool {
    guard !field.isRepeated else { return false }
    return switch field.kind {
    case .enumeration(let index): schema.enums[index].isNull
    case .message(let index): schema.messages[index].wellKnown == .value
    default: false
    }
  }

  private func write(
    _ json: JSONText, _ field: FieldSchema, at place: Place, to writer: inout WireWriter
  ) throws(RESTFailure) {
    if field.isMap { return try writeMap(json, field, at: place, to: &writer) }
    guard field.isRepeated else {
      // In an array only if the field's own JSON is one.
      if case .array = json, !isList(field.kind) {
        throw .syntax(
          "Unknown name \"\(field.jsonName)\" at '\(place.text)': Proto field is not repeating, cannot start list.")
      }
      return try writeValue(json, field, at: place, omitsDefault: !field.hasPresence, to: &writer)
    }
    guard case .array(let elements) = json else {
      throw .value(at: place.text, type: "list of \(typeName(field.kind))", Self.shown(json))
    }
    for (index, element) in elements.enumerated() {
      try writeValue(element, field, at: .item(index, of: place), to: &writer)
    }
  }

  private func isList(_ kind: FieldSchema.Kind) -> Bool {
    guard case .message(let index) = kind else { return false }
    return schema.messages[index].wellKnown == .listValue || schema.messages[index].wellKnown == .value
  }

  func writeMap(
    _ json: JSONText, _ field: FieldSchema, at place: Place, to writer: inout WireWriter
  ) throws(RESTFailure) {
    guard case .object(let members) = json, case .message(let index) = field.kind,
      let keyField = schema.messages[index].field(1), let valueField = schema.messages[index].field(2)
    else { throw .value(at: place.text, type: "Map", Self.shown(json)) }
    // By bytes: to Firestore, names that differ in Unicode's normalisation are two.
    var seen: Set<[UInt8]> = []
    for (name, value) in members {
      guard seen.insert(Array(name.utf8)).inserted else {
        throw .invalid(at: place.text, "Repeated map key: '\(name)' is already set.")
      }
      var entry = WireWriter()
      try writeValue(.string(name), keyField, at: .key(name, of: place), to: &entry)
      try writeValue(value, valueField, at: .member("value", of: .key(name, of: place)), to: &entry)
      writer.writeBytes(entry.bytes, field: field.number)
    }
  }

  /// Writes one value with its tag.
  ///
  /// - Parameter omitsDefault: A value that is the default is left out, as encoders do it.
  func writeValue(
    _ json: JSONText, _ field: FieldSchema, at place: Place, omitsDefault: Bool = false, to writer: inout WireWriter
  ) throws(RESTFailure) {
    if case .message(let index) = field.kind {
      var contents = WireWriter()
      try write(json, of: index, at: place, to: &contents)
      return writer.writeBytes(contents.bytes, field: field.number)
    }
    try writeScalar(json, field, at: place, omitsDefault: omitsDefault, to: &writer)
  }

  func typeName(_ kind: FieldSchema.Kind) -> String {
    switch kind {
    case .enumeration: "TYPE_ENUM"
    case .message(let index): schema.messages[index].name
    default: "TYPE_\(kind)".uppercased()
    }
  }

  /// A value as an error names it.
  static func shown(_ json: JSONText) -> String {
    switch json {
    case .object: "Starting an object on a scalar field"
    case .array: "Starting a list on a scalar field"
    default: String(json.compact.prefix(100))
    }
  }
}

// MARK: - Scalars

extension JSONDecoding {
  private func writeScalar(
    _ json: JSONText, _ field: FieldSchema, at place: Place, omitsDefault: Bool, to writer: inout WireWriter
  ) throws(RESTFailure) {
    guard let bits = try bits(json, field.kind, at: place) else {
      let bytes = try contents(json, field.kind, at: place)
      if omitsDefault, bytes.isEmpty { return }
      return writer.writeBytes(bytes, field: field.number)
    }
    if omitsDefault, bits == 0 { return }
    let type = field.kind.wireType
    writer.writeVarint(UInt64(field.number) << 3 | UInt64(type.rawValue))
    switch type {
    case .varint: writer.writeVarint(bits)
    case .fixed32: writer.writeEncoded((0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) })
    case .fixed64, .lengthDelimited: writer.writeEncoded((0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) })
    }
  }

  /// A number as the wire has it; nil for text and bytes.
  private func bits(_ json: JSONText, _ kind: FieldSchema.Kind, at place: Place) throws(RESTFailure) -> UInt64? {
    func failure() -> RESTFailure { .value(at: place.text, type: typeName(kind), Self.shown(json)) }
    switch kind {
    case .string, .bytes, .message: return nil
    case .bool:
      switch json {
      case .bool(let value): return value ? 1 : 0
      case .string("true"): return 1
      case .string("false"): return 0
      default: throw failure()
      }
    case .int32, .sfixed32, .sint32:
      guard let value: Int32 = integer(json) else { throw failure() }
      if case .sint32 = kind { return UInt64(UInt32(bitPattern: value << 1 ^ value >> 31)) }
      return UInt64(bitPattern: Int64(value))
    case .int64, .sfixed64, .sint64:
      guard let value: Int64 = integer(json) else { throw failure() }
      if case .sint64 = kind { return UInt64(bitPattern: value << 1 ^ value >> 63) }
      return UInt64(bitPattern: value)
    case .uint32, .fixed32:
      guard let value: UInt32 = integer(json) else { throw failure() }
      return UInt64(value)
    case .uint64, .fixed64:
      guard let value: UInt64 = integer(json) else { throw failure() }
      return value
    case .double:
      guard let value = double(json) else { throw failure() }
      return value.bitPattern
    case .float:
      guard let value = double(json), !value.isFinite || Float(value).isFinite else { throw failure() }
      return UInt64(Float(value).bitPattern)
    case .enumeration(let index):
      let type = schema.enums[index]
      switch json {
      case .null where type.isNull: return 0
      case .string(let name):
        // Numbers may come as text, as they do in the parameters of a query.
        guard let number = type.numbers[name] ?? Int32(name) else { throw failure() }
        return UInt64(bitPattern: Int64(number))
      default:
        guard let number: Int32 = integer(json) else { throw failure() }
        return UInt64(bitPattern: Int64(number))
      }
    }
  }

  /// A whole number, as a number or as text; `1.0` and `1e3` are whole.
  private func integer<Number: FixedWidthInteger>(_ json: JSONText) -> Number? {
    switch json {
    case .number(let text), .string(let text):
      if let value = Number(text) { return text.first == "+" ? nil : value }
      guard let value = Self.strictDouble(text) else { return nil }
      return Number(exactly: value)
    default: return nil
    }
  }

  private func double(_ json: JSONText) -> Double? {
    switch json {
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    case .number(let text), .string(let text): return Self.strictDouble(text)
    default: return nil
    }
  }

  /// A finite number in the notation of JSON: `Double` itself also takes `inf`, `0x1p3` and the like.
  private static func strictDouble(_ text: String) -> Double? {
    let allowed = "0123456789+-.eE".utf8
    guard text.utf8.count <= 400, text.utf8.allSatisfy({ allowed.contains($0) }), text.first != "+",
      let value = Double(text), value.isFinite
    else { return nil }
    return value
  }

  private func contents(
    _ json: JSONText, _ kind: FieldSchema.Kind, at place: Place
  ) throws(RESTFailure) -> [UInt8] {
    guard case .string(let text) = json else {
      throw .value(at: place.text, type: typeName(kind), Self.shown(json))
    }
    guard case .bytes = kind else { return Array(text.utf8) }
    guard let bytes = Self.base64(text) else {
      throw .invalid(at: place.text, "Base64 decoding failed for \"\(text.prefix(100))\"")
    }
    return bytes
  }

  /// Both alphabets are allowed, with and without padding.
  static func base64(_ text: String) -> [UInt8]? {
    var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    guard !text.utf8.contains(where: { $0 <= 0x20 }) else { return nil }
    if !text.hasSuffix("=") { text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4) }
    return Data(base64Encoded: text).map { [UInt8]($0) }
  }
}
