extension Query {
  /// The query in words: `cities where state == "CA" order by population descending limit to first 25`.
  package var inWords: String {
    var words: [String] = []
    if let collectionGroup {
      words.append("all \(collectionGroup)\(path.isEmpty ? "" : " below \(path)")")
    } else {
      words.append(path.canonicalString)
    }
    if !filters.isEmpty { words.append("where \(filters.map(\.inWords).joined(separator: " and "))") }
    if !explicitOrders.isEmpty {
      words.append("order by \(explicitOrders.map(\.inWords).joined(separator: ", "))")
    }
    if let startAt { words.append(startAt.inWords(isStart: true)) }
    if let endAt { words.append(endAt.inWords(isStart: false)) }
    if let limit { words.append("limit to \(limitType == .last ? "last" : "first") \(limit)") }
    return words.joined(separator: " ")
  }
}

extension Filter {
  /// The text as a part of a longer condition: combinations stand in parentheses.
  package var inWords: String {
    switch self {
    case .field(let filter):
      return filter.inWords
    case .composite(let composite):
      let words = composite.filters.map(\.inWords).joined(separator: composite.op == .and ? " and " : " or ")
      return composite.filters.count == 1 ? words : "(\(words))"
    }
  }
}

extension FieldFilter {
  /// A text such as `state == "CA"`.
  package var inWords: String { "\(path) \(op.sign) \(value.inWords)" }
}

extension OrderBy {
  /// A text such as `population descending`.
  package var inWords: String { direction == .ascending ? "\(path)" : "\(path) descending" }
}

extension Bound {
  /// A text such as `start after 5, "a"`.
  package func inWords(isStart: Bool) -> String {
    let edge = isStart ? (isInclusive ? "start at" : "start after") : (isInclusive ? "end at" : "end before")
    return "\(edge) \(position.map(\.inWords).joined(separator: ", "))"
  }
}

extension Value {
  /// Long values are cut: the text is for reading.
  fileprivate var inWords: String {
    let text = description
    return text.utf8.count > 80 ? "\(text.prefix(80))…" : text
  }
}

extension FieldFilter.Operator {
  fileprivate var sign: String {
    switch self {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .equal: "=="
    case .notEqual: "!="
    case .greaterThan: ">"
    case .greaterThanOrEqual: ">="
    case .arrayContains: "array-contains"
    case .arrayContainsAny: "array-contains-any"
    case .in: "in"
    case .notIn: "not-in"
    }
  }
}
