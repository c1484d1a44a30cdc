import TestSupport

/// An expression that is matched by trying one way after the other, as its meaning is defined. Exponential, for short texts only.
indirect enum NaiveExpression {
  case scalar(Character)
  case anyOf([Character], isNegated: Bool)
  case start
  case end
  case wordBoundary(Bool)
  case sequence([NaiveExpression])
  case alternatives([NaiveExpression])
  case repetition(NaiveExpression, minimum: Int, maximum: Int?, isGreedy: Bool)
  case group(Int, NaiveExpression)

  // MARK: - Pattern

  var pattern: String {
    switch self {
    case .scalar(let character): String(character)
    case .anyOf(let characters, let isNegated): "[\(isNegated ? "^" : "")\(String(characters))]"
    case .start: "^"
    case .end: "$"
    case .wordBoundary(let isBoundary): isBoundary ? "\\b" : "\\B"
    case .sequence(let parts): parts.map(\.pattern).joined()
    case .alternatives(let parts): "(?:\(parts.map(\.pattern).joined(separator: "|")))"
    case .repetition(let part, let minimum, let maximum, let isGreedy):
      "(?:\(part.pattern)){\(minimum),\(maximum.map { "\($0)" } ?? "")}\(isGreedy ? "" : "?")"
    case .group(_, let part): "(\(part.pattern))"
    }
  }

  var canBeEmpty: Bool {
    switch self {
    case .scalar, .anyOf: false
    case .start, .end, .wordBoundary: true
    case .sequence(let parts): parts.allSatisfy(\.canBeEmpty)
    case .alternatives(let parts): parts.contains(where: \.canBeEmpty)
    case .repetition(let part, let minimum, _, _): minimum == 0 || part.canBeEmpty
    case .group(_, let part): part.canBeEmpty
    }
  }

  // MARK: - Matching

  struct Match: Equatable {
    var end: Int
    /// The ends of each group, by its number.
    var groups: [Int: Range<Int>] = [:]
  }

  /// - Returns: The first match by priority that begins at a place and that the closure accepts.
  func match(_ text: [Character], at place: Int, accept: @escaping (Match) -> Bool) -> Match? {
    var found: Match?
    _ = follow(text, Match(end: place)) { match in
      guard accept(match) else { return false }
      found = match
      return true
    }
    return found
  }

  private func follow(_ text: [Character], _ match: Match, _ next: @escaping (Match) -> Bool) -> Bool {
    let place = match.end
    switch self {
    case .scalar(let character):
      return place < text.count && text[place] == character && next(match.moved(to: place + 1))
    case .anyOf(let characters, let isNegated):
      return place < text.count && characters.contains(text[place]) != isNegated && next(match.moved(to: place + 1))
    case .start: return place == 0 && next(match)
    case .end: return place == text.count && next(match)
    case .wordBoundary(let isBoundary):
      let before = place > 0 && Self.isWord(text[place - 1])
      let after = place < text.count && Self.isWord(text[place])
      return (before != after) == isBoundary && next(match)
    case .sequence(let parts):
      guard let first = parts.first else { return next(match) }
      return first.follow(text, match) { Self.sequence(Array(parts.dropFirst())).follow(text, $0, next) }
    case .alternatives(let parts): return parts.contains { $0.follow(text, match, next) }
    case .group(let number, let part):
      return part.follow(text, match) { inner in
        var inner = inner
        inner.groups[number] = place..<inner.end
        return next(inner)
      }
    case .repetition(let part, let minimum, let maximum, let isGreedy):
      if minimum > 0 {
        let rest = Self.repetition(part, minimum: minimum - 1, maximum: maximum.map { $0 - 1 }, isGreedy: isGreedy)
        return part.follow(text, match) { rest.follow(text, $0, next) }
      }
      if maximum == 0 { return next(match) }
      let rest = Self.repetition(part, minimum: 0, maximum: maximum.map { $0 - 1 }, isGreedy: isGreedy)
      // A part that takes nothing is not repeated, so that this ends.
      let repeated = { part.follow(text, match) { $0.end > place && rest.follow(text, $0, next) } }
      return isGreedy ? repeated() || next(match) : next(match) || repeated()
    }
  }

  private static func isWord(_ character: Character) -> Bool { character == "a" || character == "b" }

  // MARK: - Generation

  /// - Parameter groups: The groups so far; is increased.
  static func generated(
    _ random: inout SeededGenerator, depth: Int, groups: inout Int, repeatsEmpty: Bool
  ) -> NaiveExpression {
    switch random.below(depth > 0 ? 12 : 6) {
    case 0..<3: return .scalar(random.element(["a", "b", "-"]))
    case 3, 4: return .anyOf(random.element([["a"], ["a", "b"], ["-", "b"]]), isNegated: random.chance(40))
    case 5: return random.element([.start, .end, .wordBoundary(true), .wordBoundary(false), .sequence([])])
    case 6, 7:
      return .sequence(
        (0..<2 + random.below(2)).map { _ in
          generated(&random, depth: depth - 1, groups: &groups, repeatsEmpty: repeatsEmpty)
        })
    case 8, 9:
      return .alternatives(
        (0..<2 + random.below(2)).map { _ in
          generated(&random, depth: depth - 1, groups: &groups, repeatsEmpty: repeatsEmpty)
        })
    case 10:
      groups += 1
      let number = groups
      return .group(number, generated(&random, depth: depth - 1, groups: &groups, repeatsEmpty: repeatsEmpty))
    default:
      let part = generated(&random, depth: depth - 1, groups: &groups, repeatsEmpty: repeatsEmpty)
      if part.canBeEmpty, !repeatsEmpty { return part }
      let minimum = random.below(3)
      let maximum = random.chance(50) ? nil : minimum + random.below(3)
      return .repetition(part, minimum: minimum, maximum: maximum, isGreedy: random.chance(60))
    }
  }
}

extension NaiveExpression.Match {
  fileprivate func moved(to place: Int) -> Self { Self(end: place, groups: groups) }
}
