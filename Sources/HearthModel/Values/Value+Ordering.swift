extension Value {
  /// The total order of values, by which queries sort and filters decide.
  ///
  /// Classes first: null, booleans, numbers, timestamps, pending server timestamps, strings, bytes, references, geo
  /// points, arrays, vectors, maps. Within a class:
  /// - false before true;
  /// - NaN before all other numbers, integers and doubles exactly by value, -0.0 the same as 0;
  /// - pending server timestamps by their local write time;
  /// - strings by UTF-8 bytes, bytes unsigned;
  /// - references by project, database and path segments;
  /// - geo points by latitude, then longitude;
  /// - arrays by elements, then length; vectors by length, then elements;
  /// - maps entry by entry in the order of their keys (key, then value), then by the number of entries.
  package static func compare(_ a: Value, _ b: Value) -> Ordering {
    let (classOfA, classOfB) = (a.typeClass, b.typeClass)
    if classOfA != classOfB { return Ordering(classOfA.rawValue, classOfB.rawValue) }
    switch (a, b) {
    case (.boolean(let x), .boolean(let y)): return Ordering(x ? 1 : 0, y ? 1 : 0)
    case (.integer(let x), .integer(let y)): return Ordering(x, y)
    case (.integer(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.double(let x), .integer(let y)): return NumberOrder.compare(y, x).reversed
    case (.double(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.timestamp(let x), .timestamp(let y)): return Ordering(x, y)
    case (.pendingServerTimestamp(let x, _), .pendingServerTimestamp(let y, _)): return Ordering(x, y)
    case (.string(let x), .string(let y)): return ByteOrder.compare(x, y)
    case (.bytes(let x), .bytes(let y)): return ByteOrder.compare(x, y)
    case (.reference(let x), .reference(let y)): return ReferenceValue.compare(x, y)
    case (.geoPoint(let x), .geoPoint(let y)): return GeoPoint.compare(x, y)
    case (.array(let x), .array(let y)): return compareArrays(x, y)
    case (.map(let x), .map(let y)):
      if let elementsOfX = x.vectorArray, let elementsOfY = y.vectorArray {
        return Ordering(elementsOfX.count, elementsOfY.count).then(compareArrays(elementsOfX, elementsOfY))
      }
      return compareMaps(x, y)
    default: return .same  // Two nulls: all other pairs of one class stand above.
    }
  }

  /// Returns whether filters and cursors take the two values as the same: 1 and 1.0 are, as are NaN and NaN.
  package func isOrderEqual(to other: Value) -> Bool {
    Value.compare(self, other) == .same
  }

  private static func compareArrays(_ a: [Value], _ b: [Value]) -> Ordering {
    for (x, y) in zip(a, b) {
      let order = compare(x, y)
      if order != .same { return order }
    }
    return Ordering(a.count, b.count)
  }

  private static func compareMaps(_ a: MapValue, _ b: MapValue) -> Ordering {
    for (x, y) in zip(a.entries, b.entries) {
      let order = ByteOrder.compare(x.key, y.key).then(compare(x.value, y.value))
      if order != .same { return order }
    }
    return Ordering(a.count, b.count)
  }
}
