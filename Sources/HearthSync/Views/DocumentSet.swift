internal import HearthModel

/// Documents in the order of a query, also found by key.
///
/// Looking up a document takes constant time; finding its index, inserting and removing take `O(log n)` comparisons. A copy is cheap and
/// shares its unchanged parts with the original.
struct DocumentSet: Sendable {
  private let query: Query
  private var list = DocumentList()
  private var table = DocumentsByKey()

  init(query: Query) {
    self.query = query
  }

  /// A set of different documents that are in the order of the query.
  init(query: Query, sorted documents: [Document]) {
    self.init(query: query, sorted: documents.map { DocumentList.Box($0, orderedBy: query) })
  }

  init(query: Query, sorted boxes: [DocumentList.Box]) {
    self.query = query
    list = DocumentList(boxes: boxes)
    table = DocumentsByKey(boxes: boxes)
  }

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }
  var first: Document? { list.first }
  var last: Document? { list.last }
  /// The documents in query order.
  var documents: DocumentList { list }

  subscript(key: DocumentKey) -> Document? { table[key]?.document }

  func contains(_ key: DocumentKey) -> Bool { table[key] != nil }

  /// The place of a document in query order, `nil` if the set does not hold it.
  func index(of key: DocumentKey) -> Int? {
    table[key].map { list.index(of: list.position(of: $0, in: query)) }
  }

  /// Inserts a document; an earlier version of it is replaced.
  ///
  /// - Returns: The index of the earlier version, `nil` if there was none, and the index of the document now.
  @discardableResult
  mutating func insert(_ document: Document) -> (oldIndex: Int?, newIndex: Int) {
    let (_, oldIndex, newIndex) = replace(with: DocumentList.Box(document, orderedBy: query))
    return (oldIndex, newIndex)
  }

  /// Same as ``insert(_:)``, with the earlier version, if there was one.
  mutating func replace(with box: DocumentList.Box) -> (old: DocumentList.Box?, oldIndex: Int?, newIndex: Int) {
    guard let known = table.insert(box) else {
      let place = list.position(of: box, in: query)
      let index = list.index(of: place)
      list.insert(box, at: place)
      return (nil, nil, index)
    }
    let old = list.position(of: known, in: query)
    let oldIndex = list.index(of: old)
    if staysInPlace(box, at: old) {
      list.replace(at: old, with: box)
      return (known, oldIndex, oldIndex)
    }
    list.remove(at: old)
    let place = list.position(of: box, in: query)
    let index = list.index(of: place)
    list.insert(box, at: place)
    return (known, oldIndex, index)
  }

  /// Inserts many documents with one sort, where single insertions would search for each place.
  mutating func insert(contentsOf documents: [Document]) {
    guard documents.count > 16, documents.count > count / 8 else {
      for document in documents { insert(document) }
      return
    }
    // If there are several versions of a document, the last one counts.
    for document in documents { table.insert(DocumentList.Box(document, orderedBy: query)) }
    let keys = Set(documents.map(\.key))
    var boxes = list.boxes.filter { !keys.contains($0.document.key) }
    boxes += keys.compactMap { table[$0] }
    boxes.sort { $0.isBefore($1, query) }
    list = DocumentList(boxes: boxes)
  }

  /// - Returns: The index that the document had, `nil` if the set did not hold it.
  @discardableResult
  mutating func remove(_ key: DocumentKey) -> Int? { take(key).oldIndex }

  /// Same as ``remove(_:)``, with the document.
  mutating func take(_ key: DocumentKey) -> (old: DocumentList.Box?, oldIndex: Int?) {
    guard let box = table.remove(key) else { return (nil, nil) }
    let position = list.position(of: box, in: query)
    let index = list.index(of: position)
    list.remove(at: position)
    return (box, index)
  }

  /// True if a new version of the document at a position belongs where the old one is.
  private func staysInPlace(_ box: DocumentList.Box, at position: DocumentList.Position) -> Bool {
    if query.isOrderedByKeyOnly { return true }
    if let before = list.box(before: position), !before.isBefore(box, query) { return false }
    if let after = list.box(after: position), !box.isBefore(after, query) { return false }
    return true
  }
}
