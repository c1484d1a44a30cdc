package import HearthModel

/// The values and queries that a backend accepts by the Firestore documentation. The cache accepts more.
package enum BackendRules {
  private static let maximumDisjunctions = 30

  static func accept(_ value: Value, in database: DatabaseID, hasNaN: Bool) -> Bool {
    switch value {
    case .null, .boolean, .integer: return true
    // Only the first 1,500 bytes are in an index.
    case .bytes(let bytes): return bytes.count <= 1_500
    case .string(let text): return text.utf8.count <= 1_500
    case .double(let number):
      // There is one NaN at a backend.
      return !number.isNaN || (hasNaN && number.bitPattern == Double.nan.bitPattern)
    case .timestamp(let time):
      // Stored to the microsecond.
      return Timestamp.validSeconds.contains(time.seconds) && time.nanoseconds % 1000 == 0
    case .pendingServerTimestamp: return false
    case .reference(let reference):
      return reference.database == database && (try? reference.key.validateServerLimits()) != nil
    case .geoPoint(let point):
      // Google's emulator tells -0.0 from 0 here and in vectors, and nowhere else.
      return abs(point.latitude) <= 90 && abs(point.longitude) <= 180 && !isNegativeZero(point.latitude)
        && !isNegativeZero(point.longitude)
    case .array(let elements):
      return elements.allSatisfy { element in
        // Google's emulator also refuses vectors: "Cannot convert a vector value in an array value."
        if case .array = element { return false }
        return !element.isVector && accept(element, in: database, hasNaN: hasNaN)
      }
    case .map(let map):
      if value.isVector {
        guard map.count == 2, let elements = value.vectorElements, !elements.isEmpty else { return false }
        // "Vector cannot contain NaN values."
        return value == .vector(elements) && !elements.contains { $0.isNaN || isNegativeZero($0) }
      }
      return map.entries.allSatisfy {
        (try? FieldPath.validateServerLimits(name: $0.key)) != nil && accept($0.value, in: database, hasNaN: hasNaN)
      }
    }
  }

  private static func isNegativeZero(_ number: Double) -> Bool { number == 0 && number.sign == .minus }

  /// The documented limits of queries.
  package static func accept(_ query: Query) -> Bool {
    let filters = query.filters.flatMap(\.flattened)
    let exclusions = filters.filter { $0.op == .notEqual || $0.op == .notIn }
    guard exclusions.count <= 1, query.disjunctionCount <= maximumDisjunctions, query.membershipCount <= 1 else {
      return false
    }
    if exclusions.first?.op == .notIn,
      filters.contains(where: { $0.op == .in || $0.op == .arrayContainsAny }) || query.filters.contains(where: hasOr)
    {
      return false
    }
    if filters.contains(where: isOtherwiseAtEmulator) { return false }
    let inequalities = Set(filters.filter(\.op.isInequality).map(\.path))
    if !inequalities.isEmpty, !inequalities.contains(.documentKey),
      filters.contains(where: { $0.path.isDocumentKey })
    {
      // "Equality on key is not allowed if there are other inequality fields and key does not appear in inequalities."
      return false
    }
    if query.collectionGroup != nil, !query.path.isEmpty {
      // "collection group queries are only allowed at the root parent"
      return false
    }
    let orders = query.target.orders
    guard Set(orders.map(\.path)).count == orders.count, orders.last?.path.isDocumentKey ?? false else {
      // "order by clause cannot contain duplicate fields", "order by clause cannot contain more fields after the key"
      return false
    }
    // Google's emulator: "Firestore does not support descending key scans". The backend does, with an index.
    return orders.count > 1 || orders.first?.direction == .ascending
  }

  /// True if Google's emulator is known to differ from the backend: it finds NaN where `not-in` excludes it (integration tests of the
  /// official SDKs).
  private static func isOtherwiseAtEmulator(_ filter: FieldFilter) -> Bool {
    guard filter.op == .notIn, case .array(let operands) = filter.value else { return false }
    return operands.contains(where: \.isNaN)
  }

  private static func hasOr(_ filter: Filter) -> Bool {
    guard case .composite(let composite) = filter else { return false }
    return composite.op == .or || composite.filters.contains(where: hasOr)
  }
}
