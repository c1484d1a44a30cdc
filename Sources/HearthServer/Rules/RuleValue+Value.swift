package import HearthModel
package import HearthRules

extension RuleValue {
  /// A value of a document as rules see it. A reference is a path.
  init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .bool(flag)
    case .integer(let number): self = .int(number)
    case .double(let number): self = .float(number)
    case .timestamp(let time): self = .timestamp(RuleTimestamp(time))
    // Exists on devices only.
    case .pendingServerTimestamp(let time, _): self = .timestamp(RuleTimestamp(time))
    case .string(let text): self = .string(text)
    case .bytes(let bytes): self = .bytes(bytes)
    case .reference(let reference):
      self = .path(RulePath(reference.database.ruleNames + reference.key.path.segments))
    case .geoPoint(let point):
      self = RuleLatLng(latitude: point.latitude, longitude: point.longitude).map { .latlng($0) } ?? .null
    case .array(let elements): self = .list(elements.map { RuleValue($0) })
    // Rules see of a vector its numbers alone. So one that holds anything else is a map to them.
    case .map(let map):
      self = value.isPlainVector ? .vector(value.vectorElements ?? []) : .map(RuleMap(map))
    }
  }
}

extension RuleMap {
  /// Field by field: a dictionary would take names of other Unicode forms for the same.
  package init(_ map: MapValue) {
    self.init(pairs: map.entries.map { (key: $0.key, value: RuleValue($0.value)) })
  }

  /// The fields of a document; nil if it is missing.
  ///
  /// - Throws: INTERNAL if they are damaged.
  static func fields(of document: Document) throws(StatusError) -> RuleMap? {
    guard document.isFound else { return nil }
    do {
      return try RuleMap(document.fields)
    } catch {
      throw StatusError(code: .internal, message: "The stored fields of \(document.key) are damaged: \(error)")
    }
  }
}

extension RuleTimestamp {
  package init(_ time: Timestamp) {
    self.init(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds))
  }
}

extension Timestamp {
  /// The value that a server timestamp of a request has, which is its `request.time`.
  var cutToMilliseconds: Timestamp {
    Timestamp(seconds: seconds, nanoseconds: nanoseconds - nanoseconds % 1_000_000)
  }
}

extension DatabaseID {
  /// The beginning of paths in rules.
  var ruleNames: [String] { ["databases", database, "documents"] }
}

extension DocumentKey {
  /// The document that a path in rules names; nil for one of another database, and for a path that names no document.
  init?(_ path: [String], in database: DatabaseID) {
    let beginning = database.ruleNames
    guard path.starts(with: beginning),
      let key = try? DocumentKey(ResourcePath(Array(path.dropFirst(beginning.count)))),
      key.path.segments.count == path.count - beginning.count
    else { return nil }
    self = key
  }

  package func ruleNames(in database: DatabaseID) -> [String] {
    var names: [String] = []
    // Enough for a document two levels deep.
    names.reserveCapacity(7)
    names += database.ruleNames
    path.appendSegments(to: &names)
    return names
  }
}

extension Caller {
  /// The variable `request.auth`: the map with `uid` and `token`, or null.
  var ruleValue: RuleValue {
    if case .user(let user) = self { user.ruleValue } else { .null }
  }
}
