extension RuleValue {
  /// The values that a filter by this one finds and that rules tell apart, itself first.
  ///
  /// A filter does not tell the type of a number: `3.0` finds 3, and `0.0` finds 0 and -0.0, also as a coordinate. Rules do: 3.0 is not in
  /// `[3, 4]`. As in production, an integer stands for itself alone.
  /// - Returns: Nil if there are more than the limit.
  func equalValues(limit: Int) -> [RuleValue]? {
    guard hasSeveralEqualValues else { return [self] }
    switch self {
    case .float(0): return [.float(0), .int(0), .float(-0.0)]
    case .float(let number): return [self] + (Int64(exactly: number).map { [.int($0)] } ?? [])
    case .latlng(let point):
      return point.latitude.withBothZeros.flatMap { latitude in
        point.longitude.withBothZeros.compactMap { longitude in
          RuleLatLng(latitude: latitude, longitude: longitude).map { .latlng($0) }
        }
      }
    case .list(let list):
      return list.items.map { $0.equalValues(limit: limit) }.combinations(limit: limit)?.map { .list(RuleList($0)) }
    case .map(let map):
      let fields = map.fields.all.sorted { $0.key < $1.key }
      return fields.map { $0.value.equalValues(limit: limit) }.combinations(limit: limit)?.map { values in
        .map(RuleMap(Dictionary(uniqueKeysWithValues: zip(fields.map(\.key), values))))
      }
    default: return [self]
    }
  }
}

extension RuleValue {
  /// True if ``equalValues(limit:)`` are more than the value itself. Most values of queries have no others, and are not copied.
  private var hasSeveralEqualValues: Bool {
    switch self {
    case .float(let number): Int64(exactly: number) != nil
    case .latlng(let point): point.latitude.isZero || point.longitude.isZero
    case .list(let list): list.items.contains { $0.hasSeveralEqualValues }
    case .map(let map): map.fields.all.contains { $0.value.hasSeveralEqualValues }
    default: false
    }
  }
}

extension Double {
  /// The number itself, and for zero the one with the other sign, too.
  fileprivate var withBothZeros: [Double] { isZero ? [self, -self] : [self] }
}

extension [[RuleValue]?] {
  /// Each choice of one value of each list.
  /// - Returns: Nil if there are more than the limit, or if a list is nil.
  func combinations(limit: Int) -> [[RuleValue]]? {
    var chosen: [[RuleValue]] = [[]]
    for values in self {
      guard let values, chosen.count * values.count <= limit else { return nil }
      if values.count == 1 {
        // A list has many elements, and a choice is copied only where there is one.
        for index in chosen.indices { chosen[index].append(values[0]) }
      } else {
        chosen = chosen.flatMap { choice in values.map { choice + [$0] } }
      }
    }
    return chosen
  }
}
