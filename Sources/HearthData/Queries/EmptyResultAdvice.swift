package import HearthModel

/// Finds the words of a query that match no document of its collection: a mistyped field or id, a value of another type, or a field that
/// documents lack.
package struct EmptyResultAdvice {
  /// The number of documents to look at.
  package static let sampleSize = 100

  let found: [Document]
  let documents: [MapValue]
  /// The keys that are known to be there.
  let keys: Set<DocumentKey>
  let database: DatabaseID

  /// - Parameters:
  ///   - documents: At most ``sampleSize`` documents of the collection.
  ///   - keys: Keys of further documents.
  package init(_ documents: [Document], and keys: [DocumentKey] = [], in database: DatabaseID) {
    let decoded = documents.compactMap { document in (try? document.fields.decoded()).map { (document, $0) } }
    found = decoded.map(\.0)
    self.documents = decoded.map(\.1)
    self.keys = Set(found.map(\.key) + keys)
    self.database = database
  }

  /// True if there are no other documents in the collection.
  var isComplete: Bool { documents.count < Self.sampleSize }

  /// - Returns: The reason why the first such word matches nothing, and the nearest form that may; nil if there is no such word.
  package func text(for words: DataQuery) -> String? {
    guard !documents.isEmpty else { return nil }
    for text in words.conditions {
      guard let condition = try? ConditionText(parsing: text),
        let path = try? FieldText.path(condition.field, at: text)
      else { continue }
      if path.isDocumentKey {
        if let advice = missingDocument(condition, text, in: words) { return advice }
        continue
      }
      let values = values(at: path)
      guard !values.isEmpty else {
        let rule = condition.presenceRule(in: database).map { " \($0.prefix(1).uppercased())\($0.dropFirst())." }
        return missing(path) { "\($0) \(condition.operation) \(condition.value)" } + (rule ?? "")
      }
      let advice = OperandAdvice(condition: condition, values: values, whose: whose, database: database).text
      if let advice { return advice }
    }
    for text in words.orders {
      guard let path = try? OrderText.order(text).path, !path.isDocumentKey, values(at: path).isEmpty else { continue }
      let direction = text.firstIndex(of: ":").map { String(text[$0...]) } ?? ""
      if let field = try? FieldPath(path.segments.dropLast()), !values(at: field).isEmpty,
        let meant = OrderText.direction(meantBy: path.segments.last ?? "")
      {
        return
          "\(start(path)). A direction stands behind a colon: write \(ShellWord.quoted("\(field.canonicalString):\(meant)"))."
      }
      return missing(path) { $0 + direction }
    }
    for text in words.aggregatedFields {
      guard let path = try? FieldText.path(text, at: text), values(at: path).isEmpty else { continue }
      return missing(path) { $0 }
    }
    return absence(in: words) ?? words.conditions.lazy.compactMap(otherText).first
  }

  /// The sentence about a text that no document has in a field with other texts.
  private func otherText(_ text: String) -> String? {
    guard let condition = try? ConditionText(parsing: text), condition.op == .equal,
      let path = try? FieldText.path(condition.field, at: text), !path.isDocumentKey,
      case .string(let wanted)? = try? OperandText.value(condition.value, at: "", after: condition.start, database)
    else { return nil }
    let texts = values(at: path).compactMap { value -> String? in
      if case .string(let text) = value, text.count <= Self.longestExample { text } else { nil }
    }
    guard let example = texts.first, !texts.contains(wanted) else { return nil }
    guard let nearest = NearestWord.of(wanted, in: texts) else {
      return "\(whose) \(condition.field) is, for example, \(JSONText.string(example).compact)."
    }
    let form = "\(condition.field) \(condition.operation) \(JSONText.string(nearest).compact)"
    return "Did you mean \(JSONText.string(nearest).compact)? Write \(ShellWord.quoted(form))."
  }

  private static let longestExample = 60

  /// - Returns: The sentence about a field that none of the documents has; nil if one of them has it, and if there are none.
  package func text(forField path: FieldPath) -> String? {
    documents.isEmpty || !values(at: path).isEmpty ? nil : missing(path) { $0 }
  }

  private var whose: String { documents.count == 1 ? "Its" : "Their" }

  func values(at path: FieldPath) -> [Value] { documents.compactMap { $0[path] } }

  /// The fields that other databases and libraries have for the id of a document.
  private static let namesOfIDs: Set<String> = ["id", "_id", "docid", "doc_id", "documentid", "document_id", "key"]

  private func start(_ path: FieldPath) -> String {
    let who =
      isComplete
      ? (documents.count == 1 ? "The document has no" : "None of the documents has a")
      : "None of the first \(documents.count) has a"
    return "\(who) field \(path.canonicalString)"
  }

  /// - Parameter form: The word with another field.
  private func missing(_ path: FieldPath, _ form: (String) -> String) -> String {
    let start = start(path)
    let whole = path.segments.joined(separator: ".")
    if path.segments.count > 1, fieldNames.contains(whole), let quoted = try? FieldPath([whole]).canonicalString {
      return "\(start), but a field \(quoted), with a dot in its name. Write \(ShellWord.quoted(form(quoted)))."
    }
    if let advice = missingMap(on: path, form) { return advice }
    if path.segments.count == 1, let name = path.segments.first, Self.namesOfIDs.contains(name.lowercased()) {
      return "\(start). The id of a document is __name__: write \(ShellWord.quoted(form("__name__")))."
    }
    if isBelowVector(path), let vector = try? FieldPath(path.segments.dropLast()) {
      return "\(start): \(vector.canonicalString) is a vector, which conditions compare as a whole."
    }
    let names = siblings(of: path)
    if let nearest = NearestWord.of(path.segments.last ?? "", in: names) {
      let meant = (try? FieldPath(path.segments.dropLast() + [nearest]).canonicalString) ?? nearest
      return "\(start). Did you mean \(meant)? Write \(ShellWord.quoted(form(meant)))."
    }
    let parent = try? FieldPath(path.segments.dropLast())
    guard !names.isEmpty else {
      return start + (parent.map { ": \($0.canonicalString) is no map with fields." } ?? ".")
    }
    return "\(start); the fields\(parent.map { " of \($0.canonicalString)" } ?? "") are \(list(names))."
  }

  /// The sentence about the map in which a field would be, if no document has that; nil if one has it.
  private func missingMap(on path: FieldPath, _ form: (String) -> String) -> String? {
    for count in 1..<max(path.segments.count, 1) {
      guard let map = try? FieldPath(Array(path.segments.prefix(count))), values(at: map).isEmpty,
        let rest = try? FieldPath(Array(path.segments.dropFirst(count))).canonicalString
      else { continue }
      let names = siblings(of: map)
      let maps = names.filter { name in
        guard let field = try? FieldPath(map.segments.dropLast() + [name]) else { return false }
        return values(at: field).contains { if case .map = $0 { !$0.isVector } else { false } }
      }
      if let nearest = NearestWord.of(map.segments.last ?? "", in: maps),
        let meant = try? FieldPath(map.segments.dropLast() + [nearest]).canonicalString
      {
        return "\(start(map)). Did you mean \(meant)? Write \(ShellWord.quoted(form("\(meant).\(rest)")))."
      }
      let parent = (try? FieldPath(map.segments.dropLast())).map { " of \($0.canonicalString)" } ?? ""
      return names.isEmpty ? "\(start(map))." : "\(start(map)); the fields\(parent) are \(list(names))."
    }
    return nil
  }

  private func list(_ names: [String]) -> String {
    let more = names.count > Self.shownNames ? " and \(names.count - Self.shownNames) more" : ""
    let shown = names.prefix(Self.shownNames).map { (try? FieldPath([$0]).canonicalString) ?? $0 }
    return shown.joined(separator: ", ") + more
  }

  private static let shownNames = 8

  /// The names of the fields that are in no map.
  private var fieldNames: Set<String> {
    documents.reduce(into: []) { $0.formUnion($1.entries.map(\.key)) }
  }

  private func isBelowVector(_ path: FieldPath) -> Bool {
    guard let parent = try? FieldPath(path.segments.dropLast()) else { return false }
    return documents.contains { $0[parent]?.isVector ?? false }
  }

  /// The names of the fields at the same level.
  private func siblings(of path: FieldPath) -> [String] {
    guard let parent = try? FieldPath(path.segments.dropLast()) else { return fieldNames.sorted() }
    var names: Set<String> = []
    for document in documents {
      if case .map(let map)? = document[parent] { names.formUnion(map.entries.map(\.key)) }
    }
    return names.sorted()
  }
}
