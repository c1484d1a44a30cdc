extension MapValue {
  /// The value at a path; nil if there is none, or if something on the way is no map.
  package subscript(path: FieldPath) -> Value? {
    var map = self
    for name in path.segments.dropLast() {
      guard case .map(let inner)? = map[name] else { return nil }
      map = inner
    }
    return path.segments.last.flatMap { map[$0] }
  }

  /// Sets the value at a path. What is on the way and no map is replaced by one.
  package mutating func set(_ value: Value, at path: FieldPath) {
    set(value, at: path.segments[...])
  }

  private mutating func set(_ value: Value, at path: ArraySlice<String>) {
    guard let name = path.first else { return }
    if path.count == 1 {
      self[name] = value
      return
    }
    var inner = MapValue()
    if case .map(let map)? = self[name] { inner = map }
    inner.set(value, at: path.dropFirst())
    self[name] = .map(inner)
  }

  /// Removes the value at a path, if it is there. Maps that become empty stay.
  package mutating func remove(at path: FieldPath) {
    remove(at: path.segments[...])
  }

  private mutating func remove(at path: ArraySlice<String>) {
    guard let name = path.first else { return }
    if path.count == 1 {
      self[name] = nil
    } else if case .map(var inner)? = self[name] {
      inner.remove(at: path.dropFirst())
      self[name] = .map(inner)
    }
  }

  /// The paths that a merge of this map sets: those of all values that are no maps, of empty maps, and of vectors. An
  /// empty map at the root has none.
  package var leafPaths: Set<FieldPath> {
    var paths: Set<FieldPath> = []
    collectLeafPaths(below: [], into: &paths)
    return paths
  }

  private func collectLeafPaths(below parent: [String], into paths: inout Set<FieldPath>) {
    for entry in entries {
      let segments = parent + [entry.key]
      if case .map(let inner) = entry.value, !inner.isEmpty, inner.vectorArray == nil {
        inner.collectLeafPaths(below: segments, into: &paths)
      } else {
        paths.insert(FieldPath(unchecked: segments))
      }
    }
  }
}
