internal import Foundation
internal import HearthModel

/// Turns the data of a program (`[String: Any]`) into values, masks and transforms.
///
/// The rules and texts are those of the official SDK: which sentinels are legal where, which paths belong to a merge, which
/// names are reserved. Everything that breaks a rule is thrown as a ``ProgrammingError`` that names the field.
struct UserDataReader {
  /// The levels of nesting that readers of the wire format accept; the backend's own limit is 20.
  ///
  /// Data may come from anywhere, so deeper nesting in a write is no misuse: it is read down to one level more, which is enough for
  /// ``OutgoingWriteLimits`` to refuse the write.
  static let maximumDepth = 90

  enum Source {
    case set
    case mergeSet
    case update
    /// A filter's or cursor's operand.
    case argument
    /// A filter's list, whose elements may be arrays.
    case listArgument
    /// An element of `arrayUnion` or `arrayRemove`.
    case arrayElement

    var isWrite: Bool { self == .set || self == .mergeSet || self == .update }
  }

  /// The place of the reader in the data.
  struct Position {
    var source: Source
    /// nil inside arrays, where there are no field paths.
    var path: HearthModel.FieldPath?
    /// The field whose array this is inside of; nil outside of arrays.
    var arrayPath: HearthModel.FieldPath?
    var isInArray = false
    var depth = 0

    /// " (found in field a.b)", or nothing at the root. Inside an array it names the field that has the array.
    var description: String {
      guard let path = path ?? arrayPath else { return "" }
      return " (found in field \(path.canonicalString))"
    }

    func field(_ name: String) throws(ProgrammingError) -> Position {
      var next = self
      next.depth += 1
      next.isInArray = false
      guard !name.isEmpty else {
        let place =
          path.map { $0.appending(name).canonicalString } ?? arrayPath?.canonicalString ?? (isRoot ? "``" : nil)
        throw ProgrammingError(
          "Invalid data. Document fields must not be empty" + (place.map { " (found in field \($0))" } ?? ""))
      }
      // Below an array there is no path to extend, but the rules for names still hold.
      if let path {
        next.path = path.appending(name)
      } else if isRoot {
        next.path = try FieldPath.checked([name])
      }
      try validate(name, at: next)
      return next
    }

    var element: Position {
      var next = self
      next.depth += 1
      next.arrayPath = path ?? arrayPath
      next.path = nil
      next.isInArray = true
      return next
    }

    private var isRoot: Bool { depth == 0 && !isInArray }

    private func validate(_ name: String, at position: Position) throws(ProgrammingError) {
      guard !(source.isWrite && name.hasPrefix("__") && name.hasSuffix("__")) else {
        throw ProgrammingError(
          "Invalid data. Document fields cannot begin and end with \"__\"\(position.description)")
      }
    }
  }

  /// The database that references have to belong to; nil where that is checked later (filters, field values).
  let databaseID: DatabaseID?
  private(set) var mask: Set<HearthModel.FieldPath> = []
  private(set) var transforms: [FieldTransform] = []

  init(databaseID: DatabaseID?) {
    self.databaseID = databaseID
  }

  // MARK: - Faces

  /// The elements of an array transform.
  static func parseElements(_ elements: [Any]) throws(ProgrammingError) -> [Value] {
    var reader = UserDataReader(databaseID: nil)
    var values: [Value] = []
    for element in elements {
      var position = Position(source: .arrayElement, path: nil)
      position.isInArray = true
      values.append(try reader.parseValue(element, position))
    }
    return values
  }

  /// An operand of a filter or a cursor; a list where `allowsList` says that its elements may be arrays.
  static func parseArgument(_ value: Any, allowsList: Bool = false) throws(ProgrammingError) -> Value {
    var reader = UserDataReader(databaseID: nil)
    return try reader.parseValue(value, Position(source: allowsList ? .listArgument : .argument, path: nil))
  }

  // MARK: - Values

  /// A value where a marker is not legal.
  private mutating func parseValue(_ value: Any, _ position: Position) throws(ProgrammingError) -> Value {
    guard let result = try parse(value, position) else {
      throw ProgrammingError("FieldValue can only be used with updateData() and setData()\(position.description)")
    }
    return result
  }

  /// The value, or nil when it was a marker (which is then in `transforms` or `mask`) or a map made by its transforms alone.
  mutating func parse(_ input: Any, _ position: Position) throws(ProgrammingError) -> Value? {
    let unwrapped = UserDataReader.unwrap(input)
    if let marker = unwrapped as? FieldValue {
      try parse(marker, position)
      return nil
    }
    guard position.depth <= Self.maximumDepth else { return try cutOff(position) }
    if let value = unwrapped, let map = UserDataReader.dictionary(value) {
      let transformsBefore = transforms.count
      let fields = try parseMap(map, position)
      // A transform makes the maps that it stands in, so no empty one is sent for it (Google's conformance tests).
      if fields.isEmpty, transforms.count > transformsBefore { return nil }
      // What the cache stores and reads again has to be the same query, or each listen would make a target.
      return position.source.isWrite ? .map(fields) : fields.encodedValue
    }
    if let path = position.path { mask.insert(path) }
    guard let value = unwrapped else { return .null }
    if let array = UserDataReader.array(value) {
      guard !position.isInArray || position.source == .listArgument else {
        throw ProgrammingError("Nested arrays are not supported\(position.description)")
      }
      return .array(try parseArray(array, position))
    }
    return try parseScalar(value, position)
  }

  /// Replaces values that are nested too deep.
  private mutating func cutOff(_ position: Position) throws(ProgrammingError) -> Value {
    guard position.source.isWrite || position.source == .arrayElement else {
      throw ProgrammingError(
        "Invalid query. Values nested deeper than \(Self.maximumDepth) levels of maps and arrays cannot be compared.")
    }
    if let path = position.path { mask.insert(path) }
    return .null
  }

  mutating func parseMap(_ map: [String: Any], _ position: Position) throws(ProgrammingError) -> MapValue {
    if map.isEmpty, let path = position.path { mask.insert(path) }
    var result: [String: Value] = [:]
    result.reserveCapacity(map.count)
    for (name, value) in map {
      result[name] = try parse(value, try position.field(name))
    }
    return MapValue(result)
  }

  private mutating func parseArray(_ array: [Any], _ position: Position) throws(ProgrammingError) -> [Value] {
    var element = position.element
    // The list of an `in` filter is no array of the document: one more level is legal inside it.
    if position.source == .listArgument, !position.isInArray {
      element.source = .argument
      element.isInArray = false
    }
    var result: [Value] = []
    result.reserveCapacity(array.count)
    for value in array {
      result.append(try parseValue(value, element))
    }
    return result
  }

  private mutating func parse(_ marker: FieldValue, _ position: Position) throws(ProgrammingError) {
    guard position.source.isWrite else {
      throw ProgrammingError(
        "\(marker.methodName) can only be used with updateData() and setData()\(position.description)")
    }
    guard let path = position.path else {
      throw ProgrammingError("\(marker.methodName) is not currently supported inside arrays\(position.description)")
    }
    switch marker.kind {
    case .transform(let operation):
      try checkDatabase(of: operation, position)
      transforms.append(FieldTransform(path: path, operation: operation))
    case .invalid(let elements):
      // Where the elements were read, the field was not known.
      throw ProgrammingError(elements.error.message + position.description)
    case .delete:
      switch position.source {
      case .mergeSet:
        mask.insert(path)
      case .update:
        throw ProgrammingError(
          "FieldValue.delete() can only appear at the top level of your update data\(position.description)")
      default:
        throw ProgrammingError(
          "FieldValue.delete() can only be used with updateData() and setData() with merge:true\(position.description)")
      }
    }
  }

  private func parseScalar(_ value: Any, _ position: Position) throws(ProgrammingError) -> Value {
    switch value {
    case is NSNull:
      return .null
    case let timestamp as Timestamp:
      return .timestamp(timestamp.model.truncatedToMicroseconds())
    case let point as GeoPoint:
      return .geoPoint(point.model)
    case let vector as VectorValue:
      return .vector(vector.array)
    case let reference as DocumentReference:
      let value = ReferenceValue(database: reference.firestore.databaseID, key: reference.key)
      try check(value, position)
      return .reference(value)
    default:
      break
    }
    if let number = try parseNumber(value, position) { return number }
    switch value {
    case let string as String: return .string(string)
    case let string as any StringProtocol: return .string(String(string))
    case let data as Data: return .bytes([UInt8](data))
    case let date as Date: return .timestamp(try HearthModel.Timestamp(checking: date))
    default:
      throw ProgrammingError("Unsupported type: \(type(of: value))\(position.description)")
    }
  }

  private func parseNumber(_ value: Any, _ position: Position) throws(ProgrammingError) -> Value? {
    switch NumberObject(value) {
    case .boolean(let boolean): return .boolean(boolean)
    case .integer(let integer): return .integer(integer)
    case .double(let double): return .double(double)
    case .largeInteger(let integer):
      throw ProgrammingError("NSNumber (\(integer)) is too large\(position.description)")
    case nil: return nil
    }
  }

  // MARK: - References

  private func check(_ reference: ReferenceValue, _ position: Position) throws(ProgrammingError) {
    guard let databaseID, reference.database != databaseID else { return }
    throw ProgrammingError(
      "Document Reference is for database \(reference.database.projectID)/\(reference.database.database) "
        + "but should be for database \(databaseID.projectID)/\(databaseID.database)\(position.description)")
  }

  /// Operands that were read without knowing the database.
  private func checkDatabase(of operation: TransformOperation, _ position: Position) throws(ProgrammingError) {
    switch operation {
    case .arrayUnion(let elements), .arrayRemove(let elements):
      for element in elements { try checkReferences(in: element, position) }
    case .serverTimestamp, .increment, .minimum, .maximum:
      break
    }
  }

  private func checkReferences(in value: Value, _ position: Position) throws(ProgrammingError) {
    switch value {
    case .reference(let reference): try check(reference, position)
    case .array(let elements): for element in elements { try checkReferences(in: element, position) }
    case .map(let map): for entry in map.entries { try checkReferences(in: entry.value, position) }
    default: break
    }
  }

  /// The same check for a filter's or cursor's operand, once the query's database is known.
  static func checkReferences(in value: Value, databaseID: DatabaseID) throws(ProgrammingError) {
    try UserDataReader(databaseID: databaseID).checkReferences(in: value, Position(source: .argument, path: nil))
  }

  // MARK: - Shapes

  /// Returns the content of an optional, an `AnyHashable` or a ``FieldContent``, at any depth; nil for an empty optional, which stands for null as on Apple
  /// platforms.
  static func unwrap(_ value: Any) -> Any? {
    // Everything that is hashable casts to it, so the cast cannot tell. Left inside, the number 1 would cast to true.
    if type(of: value) == AnyHashable.self, let hashable = value as? AnyHashable { return unwrap(hashable.base) }
    if type(of: value) == FieldContent.self, let content = value as? FieldContent { return content.object }
    if type(of: value) == FieldMap.self, let map = value as? FieldMap { return map.objects }
    guard let optional = value as? any AnyOptional else { return value }
    return optional.anyValue.flatMap(unwrap)
  }

  private static func dictionary(_ value: Any) -> [String: Any]? {
    switch value {
    case let map as [String: Any]: map
    default: nil
    }
  }

  private static func array(_ value: Any) -> [Any]? {
    // Data is a collection, too, but never casts to an array.
    value as? [Any]
  }
}

private protocol AnyOptional {
  var anyValue: Any? { get }
}

extension Optional: AnyOptional {
  var anyValue: Any? { map { $0 as Any } }
}
