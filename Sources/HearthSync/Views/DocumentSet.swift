internal import HearthModel

/// Documents in the order of a query, also found by key.
///
/// Looking up a document takes constant time, finding its index `O(log n)` comparisons. Inserting and removing take
/// `O(log n)` comparisons and move the documents behind the place.
struct DocumentSet: Sendable {
  private let query: Query
  private var sorted: [Document] = []
  private var byKey: [DocumentKey: Document] = [:]

  init(query: Query) {
    self.query = query
  }

  var count: Int { sorted.count }
  var isEmpty: Bool { sorted.isEmpty }
  var first: Document? { sorted.first }
  var last: Document? { sorted.last }
  /// The documents in query order.
  var documents: [Document] { sorted }

  subscript(key: DocumentKey) -> Document? { byKey[key] }

  func contains(_ key: DocumentKey) -> Bool { byKey[key] != nil }

  /// The place of a document in query order, `nil` if the set does not hold it.
  func index(of key: DocumentKey) -> Int? {
    guard let document = byKey[key] else { return nil }
    let index = insertionIndex(of: document)
    return index < sorted.count && sorted[index].key == key ? index : nil
  }

  /// Inserts a document; an earlier version of it is replaced.
  mutating func insert(_ document: Document) {
    remove(document.key)
    byKey[document.key] = document
    sorted.insert(document, at: insertionIndex(of: document))
  }

  /// Inserts many documents with one sort, where single insertions would move the others again and again.
  mutating func insert(contentsOf documents: [Document]) {
    guard documents.count > 16, documents.count > count / 8 else {
      for document in documents { insert(document) }
      return
    }
    for document in documents { byKey[document.key] = document }
    sorted = byKey.values.sorted { query.compare($0, $1) == .ascending }
  }

  mutating func remove(_ key: DocumentKey) {
    guard let index = index(of: key) else { return }
    sorted.remove(at: index)
    byKey[key] = nil
  }

  /// The first index whose document does not sort before `document`.
  private func insertionIndex(of document: Document) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = low + (high - low) / 2
      if query.compare(sorted[middle], document) == .ascending {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
