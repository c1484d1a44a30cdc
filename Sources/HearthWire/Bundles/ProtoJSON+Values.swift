internal import HearthModel

extension ProtoJSON {
  /// A `google.firestore.v1.Value`: an object with one member, whose name is the type.
  func value(_ databaseID: DatabaseID) throws(ProtoJSONError) -> Value {
    let members = try object()
    guard let member = members.first, members.count == 1 else {
      throw failure("a value has one member, which names its type; there are \(members.count)")
    }
    let content = member.value
    switch member.name {
    case "nullValue": return .null
    case "booleanValue": return .boolean(try content.bool())
    case "integerValue": return .integer(try content.integer())
    case "doubleValue": return .double(try content.double())
    case "timestampValue": return .timestamp(try content.timestamp())
    case "stringValue": return .string(try content.string())
    case "bytesValue": return .bytes(try content.bytes())
    case "referenceValue": return .reference(try content.reference())
    case "geoPointValue": return .geoPoint(try content.geoPoint())
    case "arrayValue":
      var elements: [Value] = []
      for element in try content["values"]?.array() ?? [] { elements.append(try element.value(databaseID)) }
      return .array(elements)
    case "mapValue": return .map(try content["fields"]?.fields(databaseID) ?? MapValue())
    default: throw failure("\"\(member.name)\" is not a type of value")
    }
  }

  /// Fields by name; a name that occurs twice has its last value.
  func fields(_ databaseID: DatabaseID) throws(ProtoJSONError) -> MapValue {
    var entries: [(String, Value)] = []
    for (name, value) in try object() {
      guard !name.isEmpty else { throw failure("a field's name is empty") }
      entries.append((name, try value.value(databaseID)))
    }
    return MapValue(entries: entries)
  }

  /// A reference may point into another database.
  private func reference() throws(ProtoJSONError) -> ReferenceValue {
    let name = try string()
    do {
      return try ReferenceValue(name: name)
    } catch {
      throw failure("\(error)")
    }
  }

  private func geoPoint() throws(ProtoJSONError) -> GeoPoint {
    guard case .object = json else { throw failure("an object is expected") }
    let latitude = try self["latitude"]?.double() ?? 0
    let longitude = try self["longitude"]?.double() ?? 0
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
      throw failure("\(latitude), \(longitude) is not a place on earth")
    }
    return GeoPoint(latitude: latitude, longitude: longitude)
  }

  func documentKey(_ databaseID: DatabaseID) throws(ProtoJSONError) -> DocumentKey {
    let name = try string()
    do {
      return try databaseID.key(fromName: name)
    } catch {
      throw failure("\(error)")
    }
  }
}
