internal import HearthModel

/// The documents in the result of a query with a limit: their order and their versions.
///
/// A commit is applied in memory if the window alone determines the result. That is the case unless the window was full, so that other
/// documents may follow it, and has lost more documents than have entered before its end.
///
/// A result that does not reach its limit holds every document that matches. If it is too large to keep, its documents are counted instead.
/// That is sufficient as long as the result does not exceed the limit.
struct LimitWindow: Sendable {
  /// In the order of the query. Only the fields of the order are kept.
  private var documents: [Document]
  private(set) var versions: [DocumentKey: SnapshotVersion]
  /// The number of documents in a result that is only counted.
  private var count: Int?
  private let query: Query
  private let share: WindowMemory.Share?

  /// About the memory of a document without its path and fields.
  static let overheadBytes = 256

  /// - Parameter documents: With the fields that order, as ``head(of:for:)`` makes them.
  init(_ documents: [Document], of query: Query, in share: WindowMemory.Share) {
    self.query = query
    self.documents = documents
    self.share = share
    versions = Dictionary(documents.map { ($0.key, $0.version) }) { first, _ in first }
  }

  /// A result that does not reach its limit, and whose documents are not kept.
  init(count: Int, of query: Query) {
    self.query = query
    self.count = count
    (documents, versions, share) = ([], [:], nil)
  }

  /// False if documents are only counted.
  var hasDocuments: Bool { count == nil }

  static func bytes(of head: Document) -> Int {
    overheadBytes + 2 * head.key.canonicalString.utf8.count + head.fields.bytes.count
  }

  static func head(of document: Document, for query: Query) -> Document {
    guard !query.isOrderedByKeyOnly else {
      var head = document
      head.fields = .empty
      return head
    }
    var fields = MapValue()
    for order in query.orders where !order.path.isDocumentKey {
      if let value = try? document.fields.value(at: order.path) { fields.set(value, at: order.path) }
    }
    var head = document
    head.fields = EncodedFields(fields)
    return head
  }

  enum Outcome {
    case changed([WatchChange])
    /// The window is unchanged, and the query must be run.
    case unknown
    /// The window is of no use any more: streams that follow it compare results.
    case lost
  }

  /// Applies the changes of one commit to documents that match or have matched.
  mutating func apply(_ changes: [SharedTransition]) -> Outcome {
    let limit = query.limit ?? .max
    if let count { return apply(changes, toCount: count, limit) }
    let isFull = documents.count >= limit
    let last = documents.last
    let changed = Set(changes.map(\.key))
    var next = documents.filter { !changed.contains($0.key) }
    for change in changes where change.isMatchAfter {
      // Behind the end of a full window others may come first.
      if isFull, let last, query.compare(change.after.document, last) == .descending { continue }
      let head = Self.head(of: change.after.document, for: query)
      let place = next.partitionIndex { query.compare($0, head) == .descending }
      next.insert(head, at: place)
    }
    guard !isFull || next.count >= limit else { return .unknown }
    if next.count > limit { next.removeLast(next.count - limit) }
    let moves = move(to: next, changes)
    return fits() ? .changed(moves) : giveUp(moves)
  }

  private mutating func apply(_ changes: [SharedTransition], toCount count: Int, _ limit: Int) -> Outcome {
    let next = changes.reduce(count) { $0 + ($1.isMatchAfter ? 1 : 0) - ($1.oldVersion == nil ? 0 : 1) }
    guard next <= limit else { return .lost }
    self.count = next
    return .changed(
      changes.map {
        WatchChange(document: $0.after, oldVersion: $0.oldVersion, isIn: $0.isMatchAfter, isContentNew: true)
      })
  }

  /// Accounts for the memory of the documents.
  private func fits() -> Bool {
    share?.resize(to: documents.reduce(0) { $0 + Self.bytes(of: $1) }) != false
  }

  /// Only counts the documents from now on, if that is enough.
  private mutating func giveUp(_ moves: [WatchChange]) -> Outcome {
    guard documents.count < query.limit ?? .max else { return .lost }
    self = LimitWindow(count: documents.count, of: query)
    return .changed(moves)
  }

  /// Makes this the window of a result that was read. Both have documents.
  mutating func replace(by refilled: RefilledWindow, after changes: [SharedTransition]) -> [WatchChange] {
    assert(hasDocuments && refilled.window.hasDocuments, "a window whose documents are counted is replaced")
    let known = versions
    var moves = move(to: refilled.window.documents, changes, contents: refilled.contents)
    // A document that matched after one of several commits may have been in the window between them, see ``WatchChange/isNothing(after:)``.
    var passing: [DocumentKey: SharedDocument] = [:]
    for change in changes where change.isMatchAfter && known[change.key] == nil && versions[change.key] == nil {
      passing[change.key] = change.after
    }
    for change in changes where passing[change.key] != nil { passing[change.key] = change.after }
    for (_, document) in passing.sorted(by: { $0.key < $1.key }) {
      moves.append(WatchChange(document: document, oldVersion: nil, isIn: false, isContentNew: true))
    }
    self = refilled.window
    return moves
  }

  private mutating func move(
    to next: [Document], _ transitions: [SharedTransition], contents: [DocumentKey: Document] = [:]
  ) -> [WatchChange] {
    let changed = Dictionary(transitions.map { ($0.key, $0.after) }) { _, last in last }
    let nextVersions = Dictionary(next.map { ($0.key, $0.version) }) { first, _ in first }
    var changes: [WatchChange] = []
    for document in documents.sorted(by: { $0.key < $1.key }) where nextVersions[document.key] == nil {
      let after = changed[document.key]
      changes.append(
        WatchChange(
          document: after ?? SharedDocument(document), oldVersion: document.version, isIn: false,
          isContentNew: after != nil))
    }
    for document in next where versions[document.key] != document.version {
      let after = changed[document.key].flatMap { $0.document.version == document.version ? $0 : nil }
      guard let shared = after ?? contents[document.key].map(SharedDocument.init) else {
        assertionFailure("\(document.key) came into a window without having changed")
        continue
      }
      changes.append(
        WatchChange(document: shared, oldVersion: versions[document.key], isIn: true, isContentNew: true))
    }
    documents = next
    versions = nextVersions
    return changes
  }
}

/// A changed document that matches a query, or has matched it.
struct SharedTransition: Sendable {
  var key: DocumentKey { after.document.key }
  /// The version before, if the document matched then.
  var oldVersion: SnapshotVersion?
  var after: SharedDocument
  var isMatchAfter: Bool
}
