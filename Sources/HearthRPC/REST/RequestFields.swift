internal import HearthModel

/// A request that is assembled from the parts of an HTTP request: its body, its path and its query.
struct RequestFields {
  private let decoding: JSONDecoding
  private let message: Int
  private let place: JSONDecoding.Place
  private var writer = WireWriter()
  private var setFields: Set<Int> = []
  private var setOneofs: [Int: String] = [:]
  private var nested: [(field: FieldSchema, fields: RequestFields)] = []

  init(of message: Int, decoding: JSONDecoding, at place: JSONDecoding.Place = .root) {
    self.message = message
    self.decoding = decoding
    self.place = place
  }

  /// The message on the wire. If a field is in the body and in the path, the path's value counts, as it comes later.
  var bytes: [UInt8] {
    var result = writer
    for (field, fields) in nested { result.writeBytes(fields.bytes, field: field.number) }
    return result.bytes
  }

  /// Adds what the body has, as the message itself or as one of its fields.
  ///
  /// - Parameter read: Reads the body as the message of an index.
  mutating func setBody(
    _ body: HTTPBinding.Body, _ read: (Int, JSONDecoding.Place) throws(RESTFailure) -> [UInt8]
  ) throws(RESTFailure) {
    switch body {
    case .none: break
    case .whole: writer.writeEncoded(try read(message, place))
    case .field(let name):
      guard let field = decoding.schema.messages[message].field(named: name), case .message(let index) = field.kind
      else { throw .unknown(name, at: place.text) }
      let bytes = try read(index, .member(field.name, of: place))
      try withNested(field, index) { (fields) throws(RESTFailure) in fields.writer.writeEncoded(bytes) }
    }
  }

  /// Sets a field to a text of the path or the query.
  ///
  /// - Parameters:
  ///   - path: Names of JSON or of the definition.
  ///   - name: The parameter's name, for errors.
  mutating func set(_ path: ArraySlice<some StringProtocol>, to text: String, name: String) throws(RESTFailure) {
    let schema = decoding.schema
    guard let first = path.first, let field = schema.messages[message].field(named: first), !field.isMap else {
      throw RESTFailure(
        message: "Invalid JSON payload received. Unknown name \"\(name.prefix(200))\": Cannot bind query parameter. "
          + "Field '\(path.first.map { String($0.prefix(200)) } ?? "")' could not be found in request message.",
        field: name)
    }
    if path.count == 1 {
      if case .message(let index) = field.kind, schema.messages[index].wellKnown == nil {
        throw .invalid(at: name, "It is a message, and cannot be set by a parameter.")
      }
      try note(field)
      return try decoding.writeValue(.string(text), field, at: .member(field.name, of: place), to: &writer)
    }
    guard case .message(let index) = field.kind, !field.isRepeated, schema.messages[index].wellKnown == nil else {
      throw .unknown(name, at: "")
    }
    try withNested(field, index) { (fields) throws(RESTFailure) in
      try fields.set(path.dropFirst(), to: text, name: name)
    }
  }

  private mutating func withNested(
    _ field: FieldSchema, _ index: Int, _ body: (inout RequestFields) throws(RESTFailure) -> Void
  ) throws(RESTFailure) {
    if let known = nested.firstIndex(where: { $0.field.number == field.number }) {
      return try body(&nested[known].fields)
    }
    try note(field)
    var fields = RequestFields(of: index, decoding: decoding, at: .member(field.name, of: place))
    try body(&fields)
    nested.append((field, fields))
  }

  private mutating func note(_ field: FieldSchema) throws(RESTFailure) {
    guard setFields.insert(field.number).inserted || field.isRepeated else {
      throw .invalid(
        at: JSONDecoding.Place.member(field.name, of: place).text, "The parameter is given more than once.")
    }
    guard let oneof = field.oneof else { return }
    if let other = setOneofs[oneof], other != field.name {
      throw .oneof(field.oneofName, alreadySetBefore: field.jsonName, at: place.text)
    }
    setOneofs[oneof] = field.name
  }
}
