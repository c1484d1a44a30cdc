import HearthModel

/// What a backend accepts, by the Firestore documentation. The cache takes more.
enum BackendRules {
  private static let maximumDisjunctions = 30

  static func accept(_ value: Value, in database: DatabaseID) -> Bool {
    switch value {
    case .null, .boolean, .integer, .bytes: return true
    case .double(let number):
      // There is one NaN at a backend.
      return !number.isNaN || number.bitPattern == Double.nan.bitPattern
    case .timestamp(let time):
      // Stored to the microsecond.
      return Timestamp.validSeconds.contains(time.seconds) && time.nanoseconds % 1000 == 0
    case .pendingServerTimestamp: return false
    case .string: return true
    case .reference(let reference):
      return reference.database == database && (try? reference.key.validateServerRules()) != nil
    case .geoPoint(let point): return abs(point.latitude) <= 90 && abs(point.longitude) <= 180
    case .array(let elements):
      return elements.allSatisfy { element in
        if case .array = element { return false }
        return accept(element, in: database)
      }
    case .map(let map):
      if value.isVector {
        guard map.count == 2, let elements = value.vectorElements, !elements.isEmpty else { return false }
        return value == .vector(elements)
      }
      return map.entries.allSatisfy {
        (try? FieldPath.validateServerRules(name: $0.key)) != nil && accept($0.value, in: database)
      }
    }
  }

  /// The documented limits of queries.
  static func accept(_ query: Query) -> Bool {
    let filters = query.filters.flatMap(\.flattened)
    let exclusions = filters.filter { $0.op == .notEqual || $0.op == .notIn }
    guard exclusions.count <= 1, let disjunctions = query.disjunctions(atMost: maximumDisjunctions) else {
      return false
    }
    if exclusions.first?.op == .notIn,
      filters.contains(where: { $0.op == .in || $0.op == .arrayContainsAny }) || query.filters.contains(where: hasOr)
    {
      return false
    }
    if disjunctions.contains(where: { $0.count { $0.op == .arrayContains } > 1 }) { return false }
    let paths = query.explicitOrders.map(\.path)
    guard Set(paths).count == paths.count else { return false }
    // Nothing can be ordered behind the key.
    return !paths.dropLast().contains { $0.isDocumentKey }
  }

  private static func hasOr(_ filter: Filter) -> Bool {
    guard case .composite(let composite) = filter else { return false }
    return composite.op == .or || composite.filters.contains(where: hasOr)
  }
}
