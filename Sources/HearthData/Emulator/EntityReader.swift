internal import HearthModel

/// The wire format of protocol buffers with groups, in which entities are written. Google's other messages have none.
struct GroupedMessage {
  enum Content {
    case varint(UInt64)
    case fixed64(UInt64)
    case bytes(ArraySlice<UInt8>)
    case group(ArraySlice<UInt8>)
    case fixed32
  }

  struct Failure: Error {
    var message: String
  }

  private static let maximumDepth = 100

  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// The next field; nil at the end.
  mutating func next() throws(Failure) -> (field: Int, content: Content)? {
    guard position < bytes.endIndex else { return nil }
    let (field, type) = try tag()
    return (field, try content(type, field, depth: 0))
  }

  private mutating func tag() throws(Failure) -> (field: Int, type: UInt64) {
    let tag = try varint()
    guard let field = Int(exactly: tag >> 3), field > 0 else { throw Failure(message: "a field has the number 0") }
    return (field, tag & 7)
  }

  private mutating func content(_ type: UInt64, _ field: Int, depth: Int) throws(Failure) -> Content {
    switch type {
    case 0: return .varint(try varint())
    case 1: return .fixed64(try take(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    case 2:
      let length = try varint()
      guard let count = Int(exactly: length) else { throw Failure(message: "a length is \(length)") }
      return .bytes(try take(count))
    case 3:
      guard depth < Self.maximumDepth else { throw Failure(message: "groups are nested too deep") }
      let start = position
      while true {
        let end = position
        let (inner, type) = try tag()
        if type == 4 {
          guard inner == field else { throw Failure(message: "a group ends that did not begin") }
          return .group(bytes[start..<end])
        }
        _ = try content(type, inner, depth: depth + 1)
      }
    case 5:
      _ = try take(4)
      return .fixed32
    default: throw Failure(message: "\(type) is not a type of field")
    }
  }

  private mutating func varint() throws(Failure) -> UInt64 {
    var result: UInt64 = 0
    for index in 0..<10 {
      guard position < bytes.endIndex else { throw Failure(message: "a number is cut off") }
      let byte = bytes[position]
      position += 1
      result |= UInt64(byte & 0x7F) << UInt64(7 * index)
      if byte < 0x80 { return result }
    }
    throw Failure(message: "a number does not fit 64 bits")
  }

  private mutating func take(_ count: Int) throws(Failure) -> ArraySlice<UInt8> {
    guard count >= 0, count <= bytes.endIndex - position else { throw Failure(message: "a field is cut off") }
    defer { position += count }
    return bytes[position..<(position + count)]
  }
}

/// Reads documents from the entities of an emulator's export.
///
/// An entity is a message of the Datastore protocol of App Engine (version 3): a key, and properties that are indexed (field 14) or not
/// (field 15). An array is several properties of one name. The meaning of a property tells types apart that share a form.
struct EntityReader {
  typealias Failure = GroupedMessage.Failure

  private enum Meaning {
    static let time: UInt64 = 7
    static let point: UInt64 = 9
    static let bytes: Set<UInt64> = [14, 16]
    static let entity: UInt64 = 19
    static let emptyList: UInt64 = 24
    static let vector: UInt64 = 31
  }

  /// Firestore nests maps at most 20 deep.
  private static let maximumDepth = 100

  /// The database that the documents come into. References within the exported database follow them there; those into others stay what
  /// they are.
  let database: DatabaseID
  /// The database of the entity that is read.
  private var origin = Origin()

  /// A database as keys and references name it.
  private struct Origin: Equatable {
    /// An application is named after its project, with a partition and a tilde before it: `dev~project`.
    var application = ""
    /// Left out for the default database.
    var database = "(default)"

    var databaseID: DatabaseID {
      DatabaseID(projectID: application.split(separator: "~").last.map(String.init) ?? application, database: database)
    }
  }

  init(database: DatabaseID) {
    self.database = database
  }

  func document(_ record: [UInt8]) throws(Failure) -> DocumentLine {
    var reader = self
    let path: ResourcePath
    (path, reader.origin) = try self.path(of: record[...])
    guard let key = try? DocumentKey(path) else {
      throw Failure(message: "its key \"\(path)\" is not the path of a document")
    }
    return DocumentLine(key: key, fields: try reader.fields(of: record[...], depth: 0))
  }

  // MARK: - Keys

  /// The path and the database of an entity's key.
  private func path(of entity: ArraySlice<UInt8>) throws(Failure) -> (ResourcePath, Origin) {
    var message = GroupedMessage(entity)
    var (segments, origin): ([String], Origin) = ([], Origin())
    while let (field, content) = try message.next() {
      guard field == 13, case .bytes(let bytes) = content else { continue }
      var key = GroupedMessage(bytes)
      while let (field, content) = try key.next() {
        guard case .bytes(let bytes) = content else { continue }
        if field == 13 { origin.application = try text(bytes) }
        if field == 23 { origin.database = try text(bytes) }
        guard field == 14 else { continue }
        var path = GroupedMessage(bytes)
        while let (field, content) = try path.next() {
          guard field == 1, case .group(let element) = content else { continue }
          segments += try pathElement(element, type: 2, id: 3, name: 4)
        }
      }
    }
    return (ResourcePath(segments), origin)
  }

  private func pathElement(
    _ element: ArraySlice<UInt8>, type: Int, id: Int, name: Int
  ) throws(Failure) -> [String] {
    var message = GroupedMessage(element)
    var (kind, identifier): (String?, String?) = (nil, nil)
    while let (field, content) = try message.next() {
      switch (field, content) {
      case (type, .bytes(let bytes)): kind = try text(bytes)
      case (name, .bytes(let bytes)): identifier = try text(bytes)
      // Numbers as ids have a form of their own in paths.
      case (id, .varint(let number)): identifier = "__id\(Int64(bitPattern: number))__"
      default: break
      }
    }
    guard let kind, let identifier, ![kind, identifier].contains(where: { $0.isEmpty || $0.utf8.contains(0x2F) }) else {
      throw Failure(message: "a part of its key lacks the collection or the id")
    }
    return [kind, identifier]
  }

  // MARK: - Properties

  private struct Property {
    var name = ""
    var meaning: UInt64 = 0
    var isMultiple = false
    var value: ArraySlice<UInt8> = []
  }

  private func fields(of entity: ArraySlice<UInt8>, depth: Int) throws(Failure) -> MapValue {
    guard depth < Self.maximumDepth else { throw Failure(message: "its maps are nested too deep") }
    var message = GroupedMessage(entity)
    var single: [(String, Value)] = []
    var lists: [(name: String, isVector: Bool, values: [Value])] = []
    var places: [[UInt8]: Int] = [:]
    while let (field, content) = try message.next() {
      guard field == 14 || field == 15, case .bytes(let bytes) = content else { continue }
      let property = try property(bytes)
      if property.meaning == Meaning.emptyList {
        single.append((property.name, .array([])))
      } else if property.isMultiple {
        let name = Array(property.name.utf8)
        let isVector = property.meaning == Meaning.vector
        let value = try value(property, depth: depth)
        if let place = places[name] {
          lists[place].values.append(value)
        } else {
          places[name] = lists.count
          lists.append((property.name, isVector, [value]))
        }
      } else {
        single.append((property.name, try value(property, depth: depth)))
      }
    }
    let arrays = lists.map { list in
      let array = Value.array(list.values)
      return (list.name, list.isVector ? .map(["__type__": "__vector__", "value": array]) : array)
    }
    return MapValue(entries: single + arrays)
  }

  private func property(_ bytes: ArraySlice<UInt8>) throws(Failure) -> Property {
    var message = GroupedMessage(bytes)
    var property = Property()
    while let (field, content) = try message.next() {
      switch (field, content) {
      case (1, .varint(let meaning)): property.meaning = meaning
      case (3, .bytes(let bytes)): property.name = try text(bytes)
      case (4, .varint(let flag)): property.isMultiple = flag != 0
      case (5, .bytes(let bytes)): property.value = bytes
      default: break
      }
    }
    guard !property.name.isEmpty else { throw Failure(message: "a field has no name") }
    return property
  }

  private func value(_ property: Property, depth: Int) throws(Failure) -> Value {
    var message = GroupedMessage(property.value)
    // A value without contents is null.
    guard let (field, content) = try message.next() else { return .null }
    switch (field, content) {
    case (1, .varint(let bits)):
      let number = Int64(bitPattern: bits)
      return property.meaning == Meaning.time ? .timestamp(Timestamp(microseconds: number)) : .integer(number)
    case (2, .varint(let flag)): return .boolean(flag != 0)
    case (3, .bytes(let bytes)):
      if property.meaning == Meaning.entity { return .map(try fields(of: bytes, depth: depth + 1)) }
      return Meaning.bytes.contains(property.meaning) ? .bytes(Array(bytes)) : .string(try text(bytes))
    case (4, .fixed64(let bits)): return .double(Double(bitPattern: bits))
    case (5, .group(let point)): return .geoPoint(try geoPoint(point))
    case (12, .group(let reference)): return .reference(try self.reference(reference))
    default: throw Failure(message: "field \"\(property.name)\" has a value of an unknown type (\(field))")
    }
  }

  private func geoPoint(_ group: ArraySlice<UInt8>) throws(Failure) -> GeoPoint {
    var message = GroupedMessage(group)
    var (latitude, longitude) = (0.0, 0.0)
    while let (field, content) = try message.next() {
      guard case .fixed64(let bits) = content else { continue }
      if field == 6 { latitude = Double(bitPattern: bits) }
      if field == 7 { longitude = Double(bitPattern: bits) }
    }
    return GeoPoint(latitude: latitude, longitude: longitude)
  }

  private func reference(_ group: ArraySlice<UInt8>) throws(Failure) -> ReferenceValue {
    var message = GroupedMessage(group)
    var (segments, target): ([String], Origin) = ([], Origin(application: origin.application))
    while let (field, content) = try message.next() {
      switch (field, content) {
      case (13, .bytes(let bytes)): target.application = try text(bytes)
      case (23, .bytes(let bytes)): target.database = try text(bytes)
      case (14, .group(let element)): segments += try pathElement(element, type: 15, id: 16, name: 17)
      default: break
      }
    }
    guard let key = try? DocumentKey(ResourcePath(segments)) else {
      throw Failure(message: "a reference names no document")
    }
    return ReferenceValue(database: target == origin ? database : target.databaseID, key: key)
  }

  private func text(_ bytes: ArraySlice<UInt8>) throws(Failure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(message: "a text is not valid UTF-8")
    }
    return text
  }
}
