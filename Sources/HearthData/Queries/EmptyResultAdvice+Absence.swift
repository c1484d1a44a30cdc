internal import HearthModel

extension ConditionText {
  /// The rule of a condition that seems to find documents without the field, and does not; nil for others.
  func presenceRule(in database: DatabaseID) -> String? {
    let name: String
    switch op {
    case .notEqual: name = "!="
    case .notIn: name = "not-in"
    case .equal:
      guard case .null? = try? OperandText.value(value, at: "", after: start, database) else { return nil }
      name = "== null"
    default: return nil
    }
    return "a condition with \(name) finds only documents that have the field"
  }
}

extension EmptyResultAdvice {
  /// The sentence about documents that are not found because they lack a field, although all else fits; nil if there are none.
  func absence(in words: DataQuery) -> String? {
    for (index, text) in words.conditions.enumerated() {
      guard let condition = try? ConditionText(parsing: text), let rule = condition.presenceRule(in: database),
        let path = try? FieldText.path(condition.field, at: text), !path.isDocumentKey
      else { continue }
      var others = words.withoutConditions
      others.conditions = words.conditions
      others.conditions.remove(at: index)
      let (lacking, _) = documents(without: path, in: others)
      guard lacking > 0 else { continue }
      return "\(subject(lacking, meeting: others.conditions.isEmpty ? nil : "other conditions")) no field "
        + "\(path.canonicalString), and \(rule)."
    }
    var unordered = words.withoutConditions
    unordered.conditions = words.conditions
    let ordered = words.orders.compactMap { try? OrderText.order($0).path }.map { ($0, "an order finds") }
    let aggregated = words.aggregatedFields.compactMap { try? FieldText.path($0, at: $0) }
      .map { ($0, "a sum or an average counts") }
    for (path, rule) in ordered + aggregated where !path.isDocumentKey {
      // If one document has it, something else is the reason.
      let (lacking, all) = documents(without: path, in: unordered)
      guard lacking > 0, lacking == all else { continue }
      return "\(subject(lacking, meeting: unordered.conditions.isEmpty ? nil : "conditions")) no field "
        + "\(path.canonicalString), and \(rule) only documents that have its field."
    }
    return nil
  }

  /// The number of documents that a query finds, and of those of them that do not have a field.
  private func documents(without path: FieldPath, in words: DataQuery) -> (lacking: Int, all: Int) {
    guard let query = try? words.query(in: database) else { return (0, 0) }
    let matching = zip(found, documents).filter { query.matches($0.0) }
    return (matching.count { $0.1[path] == nil }, matching.count)
  }

  /// Some documents and the verb, such as "2 of the 3 documents have".
  ///
  /// - Parameter conditions: The conditions that these documents meet, in words; nil where there are none.
  private func subject(_ count: Int, meeting conditions: String?) -> String {
    let verb = count == 1 ? "has" : "have"
    guard let conditions else {
      return "\(count) of the \(isComplete ? "" : "first ")\(ProgressText.count(documents.count, "document")) \(verb)"
    }
    let start = isComplete ? "" : "Of the first \(documents.count) documents, "
    return
      "\(start)\(ProgressText.count(count, "document")) that \(count == 1 ? "meets" : "meet") the \(conditions) \(verb)"
  }
}
