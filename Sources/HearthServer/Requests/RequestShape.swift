internal import HearthModel
internal import HearthRPC

/// The positions of the counted parts of requests, derived from the definitions of the protocol's messages.
struct RequestShape: Sendable {
  /// The treatment of a field's entries.
  enum Rule: Hashable, Sendable {
    case counted(CountedPart)
    /// As before; what stands in an entry is counted for this entry alone.
    case countedApart(CountedPart)
    /// An operand of a filter: the values of a list in it are counted.
    case operand
    /// Contents of documents, or a value: their size is limited, not their number.
    case contents
    /// Part of a method that is not served.
    case unserved
  }

  /// The rules by the names of fields in `google.firestore.v1`. Every repeated field that a request can hold has one.
  static let rules: [String: Rule] = [
    "CommitRequest.writes": .countedApart(.writes), "BatchWriteRequest.writes": .countedApart(.writes),
    "WriteRequest.writes": .countedApart(.writes), "BatchWriteRequest.labels": .counted(.labels),
    "WriteRequest.labels": .counted(.labels), "ListenRequest.labels": .counted(.labels),
    "RequestOptions.request_tags": .counted(.labels),
    "BatchGetDocumentsRequest.documents": .counted(.documents),
    "Target.DocumentsTarget.documents": .counted(.documents),
    "DocumentMask.field_paths": .counted(.maskFields), "StructuredQuery.Projection.fields": .counted(.maskFields),
    "Write.update_transforms": .counted(.transforms), "DocumentTransform.field_transforms": .counted(.transforms),
    "StructuredQuery.from": .counted(.collections), "StructuredQuery.order_by": .counted(.components),
    "StructuredQuery.Filter.field_filter": .counted(.components),
    "StructuredQuery.Filter.unary_filter": .counted(.components),
    "StructuredQuery.CompositeFilter.filters": .counted(.filters), "StructuredQuery.FieldFilter.value": .operand,
    "Cursor.values": .counted(.cursorValues),
    "StructuredAggregationQuery.aggregations": .counted(.aggregations),
    "Document.fields": .contents, "MapValue.fields": .contents, "ArrayValue.values": .contents,
    "StructuredPipeline.options": .unserved, "Pipeline.stages": .unserved, "Pipeline.Stage.args": .unserved,
    "Pipeline.Stage.options": .unserved, "Function.args": .unserved, "Function.options": .unserved,
  ]

  /// A field that is examined.
  struct Step: Sendable {
    let field: Int
    /// The message and the field, such as `CommitRequest.writes`.
    let name: String
    let rule: Rule?
    /// The index of the message in the field, if something in it is counted.
    let message: Int?
  }

  /// The steps of each message of the schema.
  let steps: [[Step]]
  private let indexes: [String: Int]

  static let server = RequestShape(.server)

  private static let package = "google.firestore.v1."

  init(_ schema: ProtoSchema) {
    func name(_ message: MessageSchema, _ field: FieldSchema) -> String {
      message.name.dropFirst(message.name.hasPrefix(Self.package) ? Self.package.count : 0) + "." + field.name
    }
    func rule(_ message: MessageSchema, _ field: FieldSchema) -> Rule? { Self.rules[name(message, field)] }
    // Messages contain each other: what holds something that is counted is found in rounds.
    var holdsParts = Set<Int>()
    var count = -1
    while count != holdsParts.count {
      count = holdsParts.count
      for (index, message) in schema.messages.enumerated() where !holdsParts.contains(index) {
        let holds = message.fields.contains { field in
          switch rule(message, field) {
          case .counted, .countedApart, .operand: return true
          case .contents, .unserved: return false
          case nil:
            if case .message(let inner) = field.kind { return holdsParts.contains(inner) }
            return false
          }
        }
        if holds { holdsParts.insert(index) }
      }
    }
    steps = schema.messages.map { message in
      message.fields.compactMap { field in
        let rule = rule(message, field)
        if rule == .contents || rule == .unserved { return nil }
        var inner: Int?
        if rule != .operand, case .message(let index) = field.kind, holdsParts.contains(index) { inner = index }
        guard rule != nil || inner != nil else { return nil }
        return Step(field: field.number, name: name(message, field), rule: rule, message: inner)
      }
    }
    indexes = Dictionary(
      uniqueKeysWithValues: schema.messages.indices.compactMap { index in
        holdsParts.contains(index) ? (schema.messages[index].name, index) : nil
      })
  }

  /// The index of a message by its full name; nil if nothing in it is counted.
  func index(of message: String) -> Int? { indexes[message] }
}
