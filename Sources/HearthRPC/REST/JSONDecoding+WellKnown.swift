internal import HearthModel

// The messages whose JSON is not an object of their fields.

extension JSONDecoding {
  func write(
    _ json: JSONText, of message: MessageSchema, _ wellKnown: MessageSchema.WellKnown, at place: Place,
    to writer: inout WireWriter
  ) throws(RESTFailure) {
    func failure() -> RESTFailure { .value(at: place.text, type: message.name, Self.shown(json)) }
    switch wellKnown {
    case .timestamp:
      guard case .string(let text) = json, let (seconds, nanoseconds) = ProtoTime.timestamp(text) else {
        throw failure()
      }
      write(seconds, nanoseconds, to: &writer)
    case .duration:
      guard case .string(let text) = json, let (seconds, nanoseconds) = ProtoTime.duration(text) else {
        throw failure()
      }
      write(seconds, nanoseconds, to: &writer)
    case .fieldMask:
      guard case .string(let text) = json else { throw failure() }
      for path in text.split(separator: ",") { writer.writeString(Self.snakeCase(path), field: 1) }
    case .wrapper:
      guard let field = message.field(1) else { return }
      try writeValue(json, field, at: place, omitsDefault: true, to: &writer)
    case .structure:
      guard let field = message.field(1), case .object = json else { throw failure() }
      try writeMap(json, field, at: place, to: &writer)
    case .listValue:
      guard let field = message.field(1), case .array(let elements) = json else { throw failure() }
      for (index, element) in elements.enumerated() {
        try writeValue(element, field, at: .item(index, of: place), to: &writer)
      }
    case .value:
      let name =
        switch json {
        case .null: "null_value"
        case .bool: "bool_value"
        case .number: "number_value"
        case .string: "string_value"
        case .array: "list_value"
        case .object: "struct_value"
        }
      guard let field = message.field(named: name) else { return }
      try writeValue(json, field, at: place, to: &writer)
    case .any: try writeAny(json, at: place, to: &writer)
    }
  }

  private func write(_ seconds: Int64, _ nanoseconds: Int64, to writer: inout WireWriter) {
    if seconds != 0 { writer.writeVarint(seconds, field: 1) }
    if nanoseconds != 0 { writer.writeVarint(nanoseconds, field: 2) }
  }

  /// `fieldPaths` becomes `field_paths`.
  private static func snakeCase(_ path: Substring) -> String {
    path.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
  }

  /// A message whose type the member `@type` names.
  private func writeAny(_ json: JSONText, at place: Place, to writer: inout WireWriter) throws(RESTFailure) {
    guard case .object(var members) = json else {
      throw .value(at: place.text, type: "google.protobuf.Any", Self.shown(json))
    }
    if members.isEmpty { return }
    guard case .string(let url)? = json.member("@type"),
      let index = schema.index(of: url.split(separator: "/").last ?? "")
    else { throw .invalid(at: place.text, "The member \"@type\" must name a type that the server knows.") }
    members.removeAll { $0.name == "@type" }
    var contents = WireWriter()
    if schema.messages[index].wellKnown != nil {
      guard let value = json.member("value") else {
        throw .invalid(at: place.text, "The member \"value\" is missing.")
      }
      try write(value, of: index, at: .member("value", of: place), to: &contents)
    } else {
      try write(members, of: schema.messages[index], at: place, to: &contents)
    }
    writer.writeString(url, field: 1)
    writer.writeBytes(contents.bytes, field: 2)
  }
}
