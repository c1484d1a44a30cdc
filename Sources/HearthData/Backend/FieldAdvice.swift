package import HearthModel

/// Says of an answer that is not empty which of the fields that were asked for its documents do not have.
package struct FieldAdvice: Sendable {
  private let words: DataQuery
  private let backend: DataBackend

  /// - Parameter words: The query that was answered.
  package init(_ words: DataQuery, _ backend: DataBackend) {
    self.words = words
    self.backend = backend
  }

  /// The sentence about a field that no document of the answer has, with the nearest one that some have.
  package func missing(_ path: FieldPath) async -> String {
    let documents = await backend.sample(words)
    return EmptyResultAdvice(documents, in: backend.databaseID).text(forField: path)
      ?? "No document has a field \(path.canonicalString)."
  }

  /// The sentence about a field whose numbers were added or averaged, if not all documents have a number there.
  ///
  /// - Parameters:
  ///   - aggregations: The aggregations of the answer. Their fields decide which documents are counted; the first one counts.
  ///   - counted: The number of documents in the answer.
  /// - Returns: Nil if all of them have one, and if that cannot be asked.
  package func numbers(at path: FieldPath, _ aggregations: [Aggregation], counted: Int64) async -> String? {
    // With a limit or a position, a further condition would be answered from other documents.
    guard !path.isDocumentKey, !words.isCut, let query = try? words.query(in: backend.databaseID),
      let first = aggregations.first
    else { return nil }
    let withNumber = query.with(filter: .field(path, .greaterThanOrEqual, .double(-.infinity)))
    guard case .integer(let count)? = try? await backend.aggregate(withNumber, aggregations)[first.alias],
      count < counted
    else { return nil }
    let name = path.canonicalString
    let all = ProgressText.count(Int(clamping: counted), "document")
    guard count > 0 else {
      return counted == 1 ? "The document has no number in \(name)." : "None of the \(all) has a number in \(name)."
    }
    return
      "\(ProgressText.grouped(Int(clamping: count))) of the \(all) \(count == 1 ? "has" : "have") a number in \(name); the others add nothing."
  }
}

extension DataQuery {
  /// True if something else than conditions and the collection decides which documents are found.
  fileprivate var isCut: Bool {
    limit != nil || startAt != nil || startAfter != nil || endAt != nil || endBefore != nil
  }
}
