package import HearthModel

/// The JSON of `hearth data set`: values as in docs/data-format.md, and changes that the backend computes.
///
/// | in place of a value | change |
/// |---|---|
/// | `{"$serverTimestamp": true}` | the time at which the backend writes it |
/// | `{"$increment": 1}` | the number is added; `$minimum` and `$maximum` keep the smaller or the larger one |
/// | `{"$arrayUnion": ["a"]}`, `{"$arrayRemove": ["a"]}` | elements are added unless they are there, or removed |
/// | `{"$delete": true}` | the field is removed |
package struct WriteJSON {
  static let changes = [
    "$serverTimestamp", "$increment", "$minimum", "$maximum", "$arrayUnion", "$arrayRemove", "$delete",
  ]

  package private(set) var fields = MapValue()
  package private(set) var transforms: [FieldTransform] = []
  package private(set) var removed: [FieldPath] = []
  /// The paths of all values that are no maps with something in them.
  private(set) var leaves: [FieldPath] = []
  /// The paths of the members of the object.
  private(set) var members: [FieldPath] = []

  private let values: ValueJSON

  /// - Parameter hasPaths: True if the names of the object's members are field paths, such as `address.zip`.
  /// - Throws: `ValueJSON.Failure`, or a ``DataError`` for a name that is no path.
  package init(_ json: JSONText, hasPaths: Bool, database: DatabaseID) throws {
    values = ValueJSON(database: database)
    guard case .object(let members) = json else {
      throw ValueJSON.Failure(place: "", message: "an object with the fields is expected")
    }
    try RESTForm.check(members)
    for member in members {
      let path = hasPaths ? try DataPath.field(member.name) : try FieldPath([member.name])
      guard !self.members.contains(path) else {
        throw ValueJSON.Failure(place: member.name, message: "the field stands there twice")
      }
      self.members.append(path)
      do {
        if let value = try read(member.value, at: path) { fields.set(value, at: path) }
      } catch let error as ValueJSON.Failure {
        throw error.below(member.name)
      }
    }
  }

  /// - Returns: The value of the field itself; nil if only a change is written.
  private mutating func read(_ json: JSONText, at path: FieldPath) throws -> Value? {
    guard case .object(let members) = json else {
      leaves.append(path)
      return try values.value(json)
    }
    if members.count == 1, let member = members.first, Self.changes.contains(member.name) {
      do {
        try readChange(member.name, member.value, at: path)
      } catch let error as ValueJSON.Failure {
        throw error.below(member.name)
      }
      return nil
    }
    guard !members.isEmpty, !members.contains(where: { $0.name.utf8.first == ValueJSON.typeMark }) else {
      leaves.append(path)
      return try values.value(json)
    }
    var entries: [(String, Value)] = []
    for member in members {
      do {
        guard !member.name.isEmpty else {
          throw ValueJSON.Failure(place: "", message: "the name of a field is not empty")
        }
        if let value = try read(member.value, at: path.appending(member.name)) { entries.append((member.name, value)) }
      } catch let error as ValueJSON.Failure {
        throw error.below(member.name)
      }
    }
    let map = MapValue(entries: entries)
    guard map.count == entries.count else {
      throw ValueJSON.Failure(place: "", message: "a field stands there twice")
    }
    return .map(map)
  }

  private mutating func readChange(_ name: String, _ operand: JSONText, at path: FieldPath) throws {
    func add(_ operation: TransformOperation) { transforms.append(FieldTransform(path: path, operation: operation)) }
    switch name {
    case "$increment": add(.increment(try number(operand)))
    case "$minimum": add(.minimum(try number(operand)))
    case "$maximum": add(.maximum(try number(operand)))
    case "$arrayUnion": add(.arrayUnion(try elements(operand)))
    case "$arrayRemove": add(.arrayRemove(try elements(operand)))
    default:
      guard case .bool(true) = operand else {
        throw ValueJSON.Failure(place: "", message: "true is expected: {\"\(name)\": true}")
      }
      if name == "$delete" { removed.append(path) } else { add(.serverTimestamp) }
    }
  }

  private func number(_ json: JSONText) throws -> Value {
    let value = try values.value(json)
    switch value {
    case .integer, .double: return value
    default: throw ValueJSON.Failure(place: "", message: "a number is expected")
    }
  }

  private func elements(_ json: JSONText) throws -> [Value] {
    guard case .array(let elements) = try values.value(json) else {
      throw ValueJSON.Failure(place: "", message: "an array is expected")
    }
    return elements
  }
}
