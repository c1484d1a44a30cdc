/// The fields of a mask as a tree, which selects the matching part of a map.
///
/// The cost for a map is O(n log m), where n is the smaller and m the larger of the numbers of its fields and of the mask's paths. So a mask
/// of many thousand paths costs little for a small document.
package struct FieldSelection: Sendable {
  private let root: Branch

  package init(_ mask: FieldMask) {
    root = Branch(mask.paths[...], depth: 0)
  }

  package var isEmpty: Bool { root.children.isEmpty }

  /// The fields of `map` that the mask names. A map on the way to a field that is not there is left out.
  package func part(of map: MapValue) -> MapValue { root.part(of: map) }
}

/// The paths that agree in their first names.
private struct Branch: Sendable {
  /// The next name of the paths.
  let name: String
  /// A path ends here: the value is wanted whole.
  let isWhole: Bool
  /// In the order of their names.
  let children: [Branch]

  /// - Parameters:
  ///   - paths: Sorted; they agree in the names before `depth`.
  init(_ paths: ArraySlice<FieldPath>, depth: Int) {
    name = depth == 0 ? "" : paths.first?.segments[depth - 1] ?? ""
    // Sorted: a path that ends here comes first, and covers the others.
    isWhole = depth > 0 && paths.first?.segments.count == depth
    guard !isWhole else {
      children = []
      return
    }
    var children: [Branch] = []
    var rest = paths
    while let first = rest.first {
      let end = rest.firstIndex { !ByteOrder.areEqual($0.segments[depth], first.segments[depth]) } ?? rest.endIndex
      children.append(Branch(rest[..<end], depth: depth + 1))
      rest = rest[end...]
    }
    self.children = children
  }

  func part(of map: MapValue) -> MapValue {
    var entries: [(String, Value)] = []
    if children.count < map.count {
      for child in children {
        if let value = map[child.name], let part = child.part(of: value) { entries.append((child.name, part)) }
      }
    } else {
      for entry in map.entries {
        if let part = child(named: entry.key)?.part(of: entry.value) { entries.append((entry.key, part)) }
      }
    }
    return MapValue(entries: entries)
  }

  /// - Returns: Nil if nothing of the value is wanted.
  private func part(of value: Value) -> Value? {
    if isWhole { return value }
    guard case .map(let map) = value else { return nil }
    let part = part(of: map)
    return part.isEmpty ? nil : .map(part)
  }

  private func child(named name: String) -> Branch? {
    let index = position(of: name)
    guard index < children.count, ByteOrder.areEqual(children[index].name, name) else { return nil }
    return children[index]
  }

  private func position(of name: String) -> Int {
    var low = 0
    var high = children.count
    while low < high {
      let middle = low + (high - low) / 2
      if ByteOrder.compare(children[middle].name, name) == .ascending { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
