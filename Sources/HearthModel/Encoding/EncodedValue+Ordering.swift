extension EncodedValue {
  /// The total order of `Value.compare(_:_:)`, on the encoded forms.
  ///
  /// - Throws: `WireFormatError` for malformed bytes in the parts that decide.
  package func compare(to other: EncodedValue) throws(WireFormatError) -> Ordering {
    try compare(to: other, depth: 0)
  }

  /// The total order of `Value.compare(_:_:)`, on the encoded form and a value. Allocates nothing, except for the entries
  /// of maps.
  ///
  /// - Throws: `WireFormatError` for malformed bytes in the parts that decide.
  package func compare(to other: Value) throws(WireFormatError) -> Ordering {
    try compare(to: other, depth: 0)
  }

  private func compare(to other: EncodedValue, depth: Int) throws(WireFormatError) -> Ordering {
    let (ownClass, otherClass) = (typeClass, other.typeClass)
    if ownClass != otherClass { return Ordering(ownClass.rawValue, otherClass.rawValue) }
    switch (payload, other.payload) {
    case (.boolean(let x), .boolean(let y)): return Ordering(x ? 1 : 0, y ? 1 : 0)
    case (.integer(let x), .integer(let y)): return Ordering(x, y)
    case (.integer(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.double(let x), .integer(let y)): return NumberOrder.compare(y, x).reversed
    case (.double(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.timestamp(let x), .timestamp(let y)): return Ordering(x, y)
    case (.pendingServerTimestamp(let x, _), .pendingServerTimestamp(let y, _)): return Ordering(x, y)
    case (.string(let x), .string(let y)): return ByteOrder.compare(x.remainingBytes, y.remainingBytes)
    case (.bytes(let x), .bytes(let y)): return ByteOrder.compare(x, y)
    case (.reference(let x, _), .reference(let y, _)): return ReferenceNameParts.compare(x, y)
    case (.geoPoint(let x), .geoPoint(let y)): return GeoPoint.compare(x, y)
    case (.array(let x), .array(let y)):
      try Self.requireDepth(depth, x)
      return try Self.compareArrays(x, y, depth: depth + 1)
    case (.vector(_, let x), .vector(_, let y)):
      try Self.requireDepth(depth, x)
      let lengths = Ordering(try EncodedElements(x).count(), try EncodedElements(y).count())
      return lengths == .same ? try Self.compareArrays(x, y, depth: depth + 1) : lengths
    case (.map(let x), .map(let y)):
      try Self.requireDepth(depth, x)
      return try Self.compareMaps(x, y, depth: depth + 1)
    default: return .same  // Two nulls: all other pairs of one class stand above.
    }
  }

  private static func compareArrays(
    _ a: WireReader, _ b: WireReader, depth: Int
  ) throws(WireFormatError) -> Ordering {
    var elementsOfA = EncodedElements(a)
    var elementsOfB = EncodedElements(b)
    while true {
      switch (try elementsOfA.next(), try elementsOfB.next()) {
      case (let x?, let y?):
        let order = try x.compare(to: y, depth: depth)
        if order != .same { return order }
      case (_?, nil): return .descending
      case (nil, _?): return .ascending
      case (nil, nil): return .same
      }
    }
  }

  private static func compareMaps(_ a: WireReader, _ b: WireReader, depth: Int) throws(WireFormatError) -> Ordering {
    let entriesOfA = try EncodedEntries(a, field: ValueField.mapEntries).sorted()
    let entriesOfB = try EncodedEntries(b, field: ValueField.mapEntries).sorted()
    for (x, y) in zip(entriesOfA, entriesOfB) {
      let keys = ByteOrder.compare(x.key.remainingBytes, y.key.remainingBytes)
      if keys != .same { return keys }
      let order = try EncodedValue(x.value).compare(to: EncodedValue(y.value), depth: depth)
      if order != .same { return order }
    }
    return Ordering(entriesOfA.count, entriesOfB.count)
  }

  private func compare(to other: Value, depth: Int) throws(WireFormatError) -> Ordering {
    let (ownClass, otherClass) = (typeClass, other.typeClass)
    if ownClass != otherClass { return Ordering(ownClass.rawValue, otherClass.rawValue) }
    switch (payload, other) {
    case (.boolean(let x), .boolean(let y)): return Ordering(x ? 1 : 0, y ? 1 : 0)
    case (.integer(let x), .integer(let y)): return Ordering(x, y)
    case (.integer(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.double(let x), .integer(let y)): return NumberOrder.compare(y, x).reversed
    case (.double(let x), .double(let y)): return NumberOrder.compare(x, y)
    case (.timestamp(let x), .timestamp(let y)): return Ordering(x, y)
    case (.pendingServerTimestamp(let x, _), .pendingServerTimestamp(let y, _)): return Ordering(x, y)
    case (.string(let x), .string(let y)): return ByteOrder.compare(x.remainingBytes, y)
    case (.bytes(let x), .bytes(let y)): return y.withUnsafeBytes { ByteOrder.compare(x, $0) }
    case (.reference(let x, _), .reference(let y)): return ReferenceNameParts.compare(x, y)
    case (.geoPoint(let x), .geoPoint(let y)): return GeoPoint.compare(x, y)
    case (.array(let x), .array(let y)):
      try Self.requireDepth(depth, x)
      return try Self.compareArray(x, to: y, depth: depth + 1)
    case (.vector(_, let x), .map(let map)):
      let y = map.vectorArray ?? []
      try Self.requireDepth(depth, x)
      let lengths = Ordering(try EncodedElements(x).count(), y.count)
      return lengths == .same ? try Self.compareArray(x, to: y, depth: depth + 1) : lengths
    case (.map(let x), .map(let y)):
      try Self.requireDepth(depth, x)
      return try Self.compareMap(x, to: y, depth: depth + 1)
    default: return .same  // Two nulls: all other pairs of one class stand above.
    }
  }

  private static func compareArray(
    _ message: WireReader, to values: [Value], depth: Int
  ) throws(WireFormatError) -> Ordering {
    var elements = EncodedElements(message)
    for value in values {
      guard let element = try elements.next() else { return .ascending }
      let order = try element.compare(to: value, depth: depth)
      if order != .same { return order }
    }
    return try elements.next() == nil ? .same : .descending
  }

  private static func compareMap(_ message: WireReader, to map: MapValue, depth: Int) throws(WireFormatError)
    -> Ordering
  {
    let entries = try EncodedEntries(message, field: ValueField.mapEntries).sorted()
    for (x, y) in zip(entries, map.entries) {
      let keys = ByteOrder.compare(x.key.remainingBytes, y.key)
      if keys != .same { return keys }
      let order = try EncodedValue(x.value).compare(to: y.value, depth: depth)
      if order != .same { return order }
    }
    return Ordering(entries.count, map.count)
  }
}
