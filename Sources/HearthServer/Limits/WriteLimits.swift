internal import HearthModel

/// Checks a write before it goes to the storage: names, field names, values. The rules are those of the Firestore
/// documentation ("Usage and limits").
enum WriteLimits {
  /// Maps and arrays may be nested this deep.
  static let maximumDepth = 20
  /// The largest value of one field, in bytes.
  static let maximumValueBytes = 1_048_487
  static let maximumVectorDimensions = 2048
  static let maximumTransformsPerDocument = 500

  /// Returns the mutation that is stored: timestamps are cut to microseconds, and fields are in a form whose size follows from their values.
  ///
  /// - Throws: INVALID_ARGUMENT that names the document and the field.
  static func checked(_ mutation: Mutation, database: DatabaseID) throws(StatusError) -> Mutation {
    do {
      try mutation.key.validateServerLimits()
    } catch {
      throw StatusError(code: .invalidArgument, message: error.description)
    }
    let place = WritePlace(database: database, key: mutation.key)
    var mutation = mutation
    switch mutation.operation {
    case .set(let fields):
      mutation.operation = .set(try checked(fields, place: place))
    case .patch(let fields, let mask):
      for path in mask.paths { try check(path, place: place) }
      mutation.operation = .patch(try checked(fields, place: place), mask: mask)
    case .verify:
      guard mutation.precondition != .none else {
        throw StatusError(code: .invalidArgument, message: "\(place): a verify must contain a precondition")
      }
    case .delete:
      break
    }
    mutation.transforms = try checked(mutation.transforms, place: place)
    if case .updateTime(let version) = mutation.precondition {
      guard version.timestamp == version.timestamp.truncatedToMicroseconds() else {
        throw StatusError(
          code: .invalidArgument,
          message: "\(place): current_document.update_time: timestamp cannot have more than microseconds precision")
      }
      guard version >= .none else {
        throw StatusError(
          code: .invalidArgument,
          message: "\(place): current_document.update_time \(version): Only timestamps past epoch are supported.")
      }
    }
    return mutation
  }

  private static func checked(_ fields: EncodedFields, place: WritePlace) throws(StatusError) -> EncodedFields {
    let arePlain = fields.arePlain(
      maximumDepth: maximumDepth, maximumValueBytes: maximumValueBytes,
      maximumVectorDimensions: maximumVectorDimensions)
    if arePlain { return fields }
    let map: MapValue
    do {
      map = try fields.decoded()
    } catch {
      throw StatusError(code: .invalidArgument, message: "\(place): \(error)")
    }
    var checker = ValueChecker(place: place)
    // Encoded again: whatever else the bytes held would count nothing, and reach every reader of the document.
    return EncodedFields(try checker.checkedEntries(of: map, depth: 0))
  }

  private static func check(_ path: FieldPath, place: WritePlace) throws(StatusError) {
    do {
      try path.validateServerLimits()
    } catch {
      throw StatusError(code: .invalidArgument, message: "\(place): \(error)")
    }
    guard path.segments.count <= maximumDepth else {
      throw StatusError(
        code: .invalidArgument,
        message:
          "\(place): field path \"\(path)\" has \(path.segments.count) segments; at most \(maximumDepth) are allowed")
    }
  }

  /// Checks the vectors into which a merge or transform has written. Its own values were checked before.
  ///
  /// - Parameter document: The document as the mutation leaves it.
  /// - Throws: INVALID_ARGUMENT that names the field; `WireFormatError` for damaged fields.
  static func checkVectors(writtenBy mutation: Mutation, in document: Document, database: DatabaseID) throws {
    var paths = mutation.transforms.map(\.path)
    if case .patch(_, let mask) = mutation.operation { paths += mask.paths }
    paths.removeAll { $0.segments.count == 1 }
    guard !paths.isEmpty else { return }
    let checker = ValueChecker(place: WritePlace(database: database, key: document.key))
    let fields = try document.fields.decoded()
    for path in paths {
      var map = fields
      for (index, name) in path.segments.dropLast().enumerated() {
        guard case .map(let inner)? = map[name] else { break }
        if inner.isOfVectorType { try checker.checkVector(inner, at: Array(path.segments[...index])) }
        map = inner
      }
    }
  }

  /// - Throws: INVALID_ARGUMENT for more transforms of one document than a commit may have.
  static func checkTransforms(count: Int, of key: DocumentKey, in database: DatabaseID) throws(StatusError) {
    guard count <= maximumTransformsPerDocument else {
      throw StatusError(
        code: .invalidArgument,
        message: "\(WritePlace(database: database, key: key)): \(count) field transforms in one commit; at most "
          + "\(maximumTransformsPerDocument) are allowed for each document")
    }
  }

  private static func checked(_ transforms: [FieldTransform], place: WritePlace) throws(StatusError) -> [FieldTransform]
  {
    if transforms.isEmpty { return [] }
    try checkTransforms(count: transforms.count, of: place.key, in: place.database)
    var paths: [FieldPath] = []
    var result = transforms
    for (index, transform) in transforms.enumerated() {
      try check(transform.path, place: place)
      paths.append(transform.path)
      switch transform.operation {
      case .arrayUnion(let elements), .arrayRemove(let elements):
        var checker = ValueChecker(place: place)
        let checked = try checker.checked(
          .array(elements), at: transform.path.segments, depth: transform.path.segments.count - 1)
        // Timestamps are compared and stored as documents have them.
        guard checker.hasChanged, case .array(let elements) = checked else { continue }
        if case .arrayUnion = transform.operation {
          result[index].operation = .arrayUnion(elements)
        } else {
          result[index].operation = .arrayRemove(elements)
        }
      case .serverTimestamp, .increment, .minimum, .maximum:
        break
      }
    }
    // In their order a path stands directly before those below it.
    paths.sort()
    for (path, next) in zip(paths, paths.dropFirst()) where path != next && path.isPrefix(of: next) {
      throw StatusError(
        code: .invalidArgument,
        message: "\(place): Cannot transform property \(path) and its nested property at the same time.")
    }
    return result
  }
}

/// A document in the texts of errors.
private struct WritePlace: CustomStringConvertible {
  let database: DatabaseID
  let key: DocumentKey

  var description: String { "Document \"\(database.name(of: key))\"" }
}

/// Walks through a value, checks each part and cuts timestamps.
private struct ValueChecker {
  let place: WritePlace
  /// True if a timestamp was cut.
  var hasChanged = false

  init(place: WritePlace) {
    self.place = place
  }

  private func failure(_ path: [String], _ rule: String) -> StatusError {
    let name = (try? FieldPath(path))?.canonicalString ?? path.joined(separator: ".")
    return StatusError(code: .invalidArgument, message: "\(place), field \"\(name)\": \(rule)")
  }

  mutating func checkedEntries(
    of map: MapValue, at path: [String] = [], depth: Int
  ) throws(StatusError) -> MapValue {
    var result = map
    for entry in map.entries {
      let fieldPath = path + [entry.key]
      do {
        try FieldPath.validateServerLimits(name: entry.key)
      } catch {
        throw failure(fieldPath, entry.key.isEmpty ? "The property.name is the empty string." : error.description)
      }
      let value = try checked(entry.value, at: fieldPath, depth: depth)
      if hasChanged { result[entry.key] = value }
    }
    return result
  }

  /// - Parameter depth: The number of maps and arrays around the value.
  mutating func checked(_ value: Value, at path: [String], depth: Int) throws(StatusError) -> Value {
    switch value {
    case .null, .boolean, .integer, .double:
      return value
    case .reference(let reference):
      do {
        try reference.key.validateServerLimits()
      } catch {
        throw failure(path, error.description)
      }
      return value
    case .timestamp(let time):
      guard Timestamp.validSeconds.contains(time.seconds) else {
        throw failure(path, "the timestamp has \(time.seconds) seconds; years 0001 to 9999 are allowed")
      }
      let cut = time.truncatedToMicroseconds()
      if cut != time { hasChanged = true }
      return .timestamp(cut)
    case .pendingServerTimestamp:
      throw failure(path + ["__type__"], "field name __type__ is reserved")
    case .string(let string):
      try checkSize(string.utf8.count, at: path)
      return value
    case .bytes(let bytes):
      try checkSize(bytes.count, at: path)
      return value
    case .geoPoint(let point):
      guard point.isOnEarth else {
        throw failure(
          path,
          "geo point (\(point.latitude), \(point.longitude)) is out of range: latitude -90...90, longitude -180...180")
      }
      return value
    case .array(let elements):
      return try checkedArray(elements, at: path, depth: depth)
    case .map(let map):
      if value.isVector {
        try checkVector(map, at: path)
        return value
      }
      try checkDepth(depth, at: path)
      return .map(try checkedEntries(of: map, at: path, depth: depth + 1))
    }
  }

  private mutating func checkedArray(_ elements: [Value], at path: [String], depth: Int) throws(StatusError) -> Value {
    try checkDepth(depth, at: path)
    var result: [Value] = []
    result.reserveCapacity(elements.count)
    for element in elements {
      if case .array = element { throw failure(path, "Cannot convert an array value in an array value.") }
      result.append(try checked(element, at: path, depth: depth + 1))
    }
    return .array(result)
  }

  private func checkDepth(_ depth: Int, at path: [String]) throws(StatusError) {
    if depth >= WriteLimits.maximumDepth {
      throw failure(path, "maps and arrays are nested deeper than \(WriteLimits.maximumDepth) levels")
    }
  }

  private func checkSize(_ bytes: Int, at path: [String]) throws(StatusError) {
    if bytes > WriteLimits.maximumValueBytes {
      throw failure(path, "the value has \(bytes) bytes; at most \(WriteLimits.maximumValueBytes) are allowed")
    }
  }

  func checkVector(_ map: MapValue, at path: [String]) throws(StatusError) {
    guard map.count == 2, case .array(let elements)? = map["value"] else {
      throw failure(path, "a vector has the entries __type__ and value, and no others")
    }
    guard elements.count <= WriteLimits.maximumVectorDimensions else {
      throw failure(
        path, "the vector has \(elements.count) dimensions; at most \(WriteLimits.maximumVectorDimensions) are allowed")
    }
    for element in elements {
      guard case .double = element else { throw failure(path, "the elements of a vector must be doubles") }
    }
  }
}
