extension Program.Permission {
  /// The path of what a request is about.
  struct Target {
    /// A name that is not known stands for any.
    let names: [String?]
    /// The place at which any number of names may stand, for queries of a whole database.
    var gap: Int?
  }

  /// Matches a path.
  /// - Returns: The values of the variables of the match, in their order; nil if the permission is about other paths.
  func captures(of target: Target, version: Int) -> [Machine.Outcome]? {
    let names = target.names
    let suffixCount = recursive.map { pattern.count - $0 - 1 } ?? 0
    if let recursive {
      // In version 1, a recursive wildcard matches at least one segment, and nothing is matched behind it.
      guard version >= 2 || suffixCount == 0 else { return nil }
      guard names.count >= pattern.count - (version < 2 ? 0 : 1) else { return nil }
      if let gap = target.gap { guard recursive <= gap, suffixCount <= names.count - gap else { return nil } }
    } else {
      guard names.count == pattern.count, target.gap == nil else { return nil }
    }
    func name(at place: Int) -> String? {
      let isBehind = recursive.map { place > $0 } ?? false
      return names[isBehind ? names.count - (pattern.count - place) : place]
    }
    // Most permissions are about other paths, and need no values.
    for place in pattern.indices {
      guard case .text(let text) = pattern[place] else { continue }
      guard let name = name(at: place), name.hasSameBytes(as: text) else { return nil }
    }
    return pattern.indices.compactMap { place in
      switch pattern[place] {
      case .text: nil
      case .variable:
        name(at: place).map { .success(.string($0)) } ?? .failure(.undecided("the id of the document"))
      case .recursive: Self.path(names[place..<names.count - suffixCount], hasGap: target.gap != nil)
      }
    }
  }

  private static func path(_ names: ArraySlice<String?>, hasGap: Bool) -> Machine.Outcome {
    let known = names.compactMap(\.self)
    guard !hasGap, known.count == names.count else { return .failure(.undecided("the path of the document")) }
    return .success(.path(RulePath(known)))
  }
}
