internal import SwiftProtobuf

/// The messages of a ``DescriptorSet`` in a form for look-ups while JSON is read and written.
package struct ProtoSchema: Sendable {
  package private(set) var messages: [MessageSchema] = []
  private(set) var enums: [EnumSchema] = []
  private var messageIndexes: [String: Int] = [:]
  private var enumIndexes: [String: Int] = [:]

  package static let server = ProtoSchema(DescriptorSet.server)

  init(_ set: DescriptorSet) {
    var found: [(index: Int, descriptor: Google_Protobuf_DescriptorProto)] = []
    for file in set.files {
      let package = file.descriptor.package
      for message in file.descriptor.messageType { declare(message, in: package, &found) }
      for type in file.descriptor.enumType { declare(type, in: package) }
    }
    // Only now: messages name each other in any order.
    for (index, descriptor) in found { messages[index].setFields(fields(of: descriptor)) }
  }

  /// The message of a full name, such as `google.firestore.v1.Document`; nil if there is none.
  package func index(of name: some StringProtocol) -> Int? { messageIndexes[String(name)] }

  private mutating func declare(
    _ message: Google_Protobuf_DescriptorProto, in scope: String,
    _ found: inout [(index: Int, descriptor: Google_Protobuf_DescriptorProto)]
  ) {
    let name = scope + "." + message.name
    messageIndexes[name] = messages.count
    found.append((messages.count, message))
    messages.append(MessageSchema(name: name, isMapEntry: message.options.mapEntry))
    for nested in message.nestedType { declare(nested, in: name, &found) }
    for nested in message.enumType { declare(nested, in: name) }
  }

  private mutating func declare(_ type: Google_Protobuf_EnumDescriptorProto, in scope: String) {
    enumIndexes[scope + "." + type.name] = enums.count
    var schema = EnumSchema(isNull: scope + "." + type.name == "google.protobuf.NullValue")
    for value in type.value {
      schema.numbers[value.name] = value.number
      if schema.names[value.number] == nil { schema.names[value.number] = value.name }
    }
    enums.append(schema)
  }

  private func fields(of message: Google_Protobuf_DescriptorProto) -> [FieldSchema] {
    message.field.compactMap { field in
      guard let kind = kind(of: field) else { return nil }
      let isRepeated = field.label == .repeated
      var isMap = false
      if case .message(let index) = kind { isMap = isRepeated && messages[index].isMapEntry }
      let oneof = field.hasOneofIndex && !field.proto3Optional ? Int(field.oneofIndex) : nil
      return FieldSchema(
        number: Int(field.number), name: field.name, jsonName: Self.jsonName(of: field), kind: kind,
        isRepeated: isRepeated, isMap: isMap, oneof: oneof,
        oneofName: oneof.flatMap { message.oneofDecl.indices.contains($0) ? message.oneofDecl[$0].name : nil } ?? "",
        hasPresence: oneof != nil || field.proto3Optional || field.type == .message)
    }
  }

  private func kind(of field: Google_Protobuf_FieldDescriptorProto) -> FieldSchema.Kind? {
    let typeName = String(field.typeName.drop { $0 == "." })
    return switch field.type {
    case .double: .double
    case .float: .float
    case .int64: .int64
    case .uint64: .uint64
    case .int32: .int32
    case .fixed64: .fixed64
    case .fixed32: .fixed32
    case .bool: .bool
    case .string: .string
    case .bytes: .bytes
    case .uint32: .uint32
    case .sfixed32: .sfixed32
    case .sfixed64: .sfixed64
    case .sint32: .sint32
    case .sint64: .sint64
    case .enum: enumIndexes[typeName].map { .enumeration($0) }
    case .message: messageIndexes[typeName].map { .message($0) }
    case .group: nil
    }
  }

  /// The name in lower camel case, unless the descriptor has one.
  private static func jsonName(of field: Google_Protobuf_FieldDescriptorProto) -> String {
    field.hasJsonName ? field.jsonName : camelCase(field.name)
  }

  /// `field_paths` becomes `fieldPaths`.
  static func camelCase(_ name: some StringProtocol) -> String {
    var result = ""
    var isUpper = false
    for character in name {
      if character == "_" {
        isUpper = true
      } else {
        result += isUpper ? character.uppercased() : String(character)
        isUpper = false
      }
    }
    return result
  }
}

/// The fields of a message, and the special form of its JSON, if it has one.
package struct MessageSchema: Sendable {
  /// The messages whose JSON is not an object of their fields (https://protobuf.dev/programming-guides/json).
  enum WellKnown: Sendable {
    case timestamp, duration, fieldMask, any, structure, value, listValue
    /// A single field, number 1, whose JSON stands for the whole.
    case wrapper
  }

  package let name: String
  let isMapEntry: Bool
  let wellKnown: WellKnown?
  package private(set) var fields: [FieldSchema] = []
  private var byNumber: [Int: Int] = [:]
  private var byName: [String: Int] = [:]

  init(name: String, isMapEntry: Bool) {
    self.name = name
    self.isMapEntry = isMapEntry
    wellKnown = Self.wellKnownMessages[name]
  }

  private static let wellKnownMessages: [String: WellKnown] = {
    var messages: [String: WellKnown] = [
      "Timestamp": .timestamp, "Duration": .duration, "FieldMask": .fieldMask, "Any": .any, "Struct": .structure,
      "Value": .value, "ListValue": .listValue,
    ]
    for kind in ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"] {
      messages[kind + "Value"] = .wrapper
    }
    return Dictionary(uniqueKeysWithValues: messages.map { ("google.protobuf." + $0.key, $0.value) })
  }()

  mutating func setFields(_ fields: [FieldSchema]) {
    self.fields = fields
    for (index, field) in fields.enumerated() {
      byNumber[field.number] = index
      byName[field.name] = index
      byName[field.jsonName] = index
    }
  }

  func field(_ number: Int) -> FieldSchema? {
    // Most messages number their fields from one.
    if fields.indices.contains(number - 1), fields[number - 1].number == number { return fields[number - 1] }
    return byNumber[number].map { fields[$0] }
  }

  /// The field of a name in JSON or in the definition.
  func field(named name: some StringProtocol) -> FieldSchema? { byName[String(name)].map { fields[$0] } }
}

package struct FieldSchema: Sendable {
  package enum Kind: Sendable, Hashable {
    case bool, int32, int64, uint32, uint64, sint32, sint64, fixed32, fixed64, sfixed32, sfixed64, float, double
    case string, bytes
    /// An index of ``ProtoSchema/enums``.
    case enumeration(Int)
    /// An index of ``ProtoSchema/messages``.
    case message(Int)
  }

  package let number: Int
  package let name: String
  let jsonName: String
  package let kind: Kind
  let isRepeated: Bool
  let isMap: Bool
  /// The number of the message's oneof that the field belongs to.
  let oneof: Int?
  let oneofName: String
  /// A value that is the default is different from none.
  let hasPresence: Bool
}

struct EnumSchema: Sendable {
  /// `google.protobuf.NullValue`, whose JSON is null.
  let isNull: Bool
  var names: [Int32: String] = [:]
  var numbers: [String: Int32] = [:]
}
