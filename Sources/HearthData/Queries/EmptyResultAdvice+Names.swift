package import HearthModel

extension DataQuery {
  /// The documents that the conditions on `__name__` name, in a database.
  package func namedDocuments(in database: DatabaseID) -> [DocumentKey] {
    guard let query = try? query(in: database) else { return [] }
    return query.filters.flatMap(\.flattened).filter { $0.path.isDocumentKey && ($0.op == .equal || $0.op == .in) }
      .flatMap { filter -> [Value] in
        if case .array(let elements) = filter.value { elements } else { [filter.value] }
      }
      .compactMap { if case .reference(let reference) = $0 { reference.key } else { nil } }
  }
}

extension EmptyResultAdvice {
  /// The sentence about a document that a condition on `__name__` names and that is not there, with the nearest one; nil if there is none.
  func missingDocument(_ condition: ConditionText, _ text: String, in words: DataQuery) -> String? {
    var alone = words.withoutConditions
    alone.conditions = [text]
    let named = alone.namedDocuments(in: database)
    guard let key = named.first, !named.contains(where: keys.contains) else { return nil }
    let siblings = keys.filter { $0.collectionPath == key.collectionPath }
    guard let id = NearestID.of(key.id, in: siblings.map(\.id).sorted()) else { return nil }
    let path = key.collectionPath.appending(id).canonicalString
    let word = words.isCollectionGroup ? path : id
    let isPlain =
      word.contains(where: \.isLetter) && !["true", "false", "null"].contains(word)
      && word.allSatisfy { $0.isLetter || $0.isNumber || "-_/".contains($0) }
    let value = isPlain ? word : JSONText.string(word).compact
    let form = "\(condition.start)\(condition.op == .in ? "[\(JSONText.string(word).compact)]" : value)"
    return
      "There is no document \(ShellWord.bare(key.path.canonicalString)). Did you mean \(ShellWord.bare(word))? Write "
      + "\(ShellWord.quoted(form))."
  }
}
