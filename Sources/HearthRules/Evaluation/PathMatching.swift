extension Program.Permission {
  /// The path of what a request is about.
  struct Target {
    let names: [String]
    /// True if a name follows that is not known, and stands for any.
    var hasUnknownName = false
    /// The place at which any number of names may stand, for queries of a whole database.
    var gap: Int?

    var count: Int { names.count + (hasUnknownName ? 1 : 0) }
  }

  /// Matches a path.
  /// - Returns: The values of the variables of the match, in their order; nil if the permission is about other paths.
  func captures(of target: Target, version: Int) -> [Machine.Outcome]? {
    let count = target.count
    let suffixCount = recursive.map { pattern.count - $0 - 1 } ?? 0
    if let recursive {
      // In version 1, a recursive wildcard matches at least one segment, and nothing is matched behind it.
      guard version >= 2 || suffixCount == 0 else { return nil }
      guard count >= pattern.count - (version < 2 ? 0 : 1) else { return nil }
      if let gap = target.gap { guard recursive <= gap, suffixCount <= count - gap else { return nil } }
    } else {
      guard count == pattern.count, target.gap == nil else { return nil }
    }
    func place(of part: Int) -> Int {
      let isBehind = recursive.map { part > $0 } ?? false
      return isBehind ? count - (pattern.count - part) : part
    }
    // Most permissions are about other paths, and need no values.
    for index in texts.indices {
      let place = place(of: texts[index].place)
      guard place < target.names.count, target.names[place].hasSameBytes(as: texts[index].text) else { return nil }
    }
    var captures: [Machine.Outcome] = []
    for part in pattern.indices {
      switch pattern[part] {
      case .text: continue
      case .variable:
        let place = place(of: part)
        captures.append(
          place < target.names.count
            ? .success(.string(target.names[place])) : .failure(.undecided("the id of the document")))
      case .recursive: captures.append(Self.path(target, from: part, to: count - suffixCount))
      }
    }
    return captures
  }

  private static func path(_ target: Target, from start: Int, to end: Int) -> Machine.Outcome {
    guard target.gap == nil, end <= target.names.count || start == end else {
      return .failure(.undecided("the path of the document"))
    }
    return .success(.path(RulePath(start < end ? Array(target.names[start..<end]) : [])))
  }
}
