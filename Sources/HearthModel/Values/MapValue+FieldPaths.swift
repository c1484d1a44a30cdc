extension MapValue {
  /// The value at a path; nil if there is none, or if a value on the path is not a map.
  package subscript(path: FieldPath) -> Value? {
    var map = self
    for name in path.segments.dropLast() {
      guard case .map(let inner)? = map[name] else { return nil }
      map = inner
    }
    return path.segments.last.flatMap { map[$0] }
  }

  /// Sets the value at a path. Values on the path that are not maps are replaced by maps.
  package mutating func set(_ value: Value, at path: FieldPath) {
    set(value, at: path.segments[...])
  }

  private mutating func set(_ value: Value, at path: ArraySlice<String>) {
    guard let name = path.first else { return }
    if path.count == 1 {
      self[name] = value
      return
    }
    changeMap(forKey: name) { $0.set(value, at: path.dropFirst()) }
  }

  /// Removes the value at a path, if it is there. Maps that become empty stay.
  package mutating func remove(at path: FieldPath) {
    remove(at: path.segments[...])
  }

  private mutating func remove(at path: ArraySlice<String>) {
    guard let name = path.first else { return }
    if path.count == 1 {
      self[name] = nil
    } else if case .map? = self[name] {
      changeMap(forKey: name) { $0.remove(at: path.dropFirst()) }
    }
  }
}

extension MapValue {
  /// The part of this map that a mask names, as a merge sends it. Linear in the sizes of both.
  package func only(_ mask: FieldMask) -> MapValue {
    var part = MapValue()
    part.replaceFields(mask, from: self)
    return part
  }

  /// Replaces the fields that a mask names by those of `source`: existing ones are copied, with maps in place of other values on the path;
  /// missing ones are removed.
  ///
  /// The same as setting and removing path by path, but linear in the sizes of this map and of the mask: masks of many
  /// thousand fields are legal, and reach the backend.
  mutating func replaceFields(_ mask: FieldMask, from source: MapValue) {
    _ = replaceFields(at: mask.paths[...], depth: 0, from: source)
  }

  /// - Parameters:
  ///   - paths: sorted; they agree in the names before `depth`, which lead to this map.
  /// - Returns: True if a value was copied.
  private mutating func replaceFields(at paths: ArraySlice<FieldPath>, depth: Int, from source: MapValue) -> Bool {
    var merged: [Entry] = []
    merged.reserveCapacity(entries.count)
    var hasTaken = false
    var next = entries.startIndex
    var rest = paths
    while let first = rest.first {
      let name = first.segments[depth]
      let end = rest.firstIndex { !ByteOrder.areEqual($0.segments[depth], name) } ?? rest.endIndex
      let group = rest[..<end]
      rest = rest[end...]
      while next < entries.endIndex, ByteOrder.compare(entries[next].key, name) == .ascending {
        merged.append(entries[next])
        next += 1
      }
      var existing: Value?
      if next < entries.endIndex, ByteOrder.areEqual(entries[next].key, name) {
        existing = entries[next].value
        next += 1
      }
      if let value = Self.replacement(of: existing, at: group, depth: depth, from: source[name], &hasTaken) {
        merged.append(Entry(key: name, value: value))
      }
    }
    merged.append(contentsOf: entries[next...])
    self = MapValue(sortedEntries: merged)
    return hasTaken
  }

  /// Returns the value that replaces the one under the name that all of `paths` have at `depth`.
  private static func replacement(
    of existing: Value?, at paths: ArraySlice<FieldPath>, depth: Int, from source: Value?, _ hasTaken: inout Bool
  ) -> Value? {
    // Paths are sorted, so one that ends here is the first, and it covers all below it.
    if paths.first?.segments.count == depth + 1 {
      if source != nil { hasTaken = true }
      return source
    }
    var inner = MapValue()
    if case .map(let map)? = existing { inner = map }
    var innerSource = MapValue()
    if case .map(let map)? = source { innerSource = map }
    let hasTakenBelow = inner.replaceFields(at: paths, depth: depth + 1, from: innerSource)
    if hasTakenBelow { hasTaken = true }
    if case .map? = existing { return .map(inner) }
    // Removing below a value that is not a map leaves it as it is.
    return hasTakenBelow ? .map(inner) : existing
  }
}
