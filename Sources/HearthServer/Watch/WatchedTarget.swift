internal import HearthModel
internal import HearthStore

/// One target of a listen stream.
///
/// Membership of a document in the result of a query without limit depends on nothing but the document, so a change is
/// judged by looking at the document before and after it and nothing is remembered. For a query with a limit the keys
/// and versions in its window are kept, and the last document, which says whether a newcomer falls into the window.
struct WatchedTarget: Sendable {
  enum Source: Sendable {
    case query(Query)
    case documents([DocumentKey])
  }

  let id: TargetID
  let source: Source
  let scope: ChangeScope
  /// Removed after its first snapshot.
  let isOnce: Bool
  /// The window of a query with a limit.
  var window: LimitWindow?

  init(id: TargetID, source: Source, isOnce: Bool) {
    self.id = id
    self.source = source
    self.isOnce = isOnce
    switch source {
    case .query(let query): scope = ChangeScope(of: query)
    case .documents(let keys): scope = .documents(Set(keys))
    }
  }

  /// What wakes the stream for this target.
  var interests: Set<ChangeFeed.Interest> {
    switch scope {
    case .collections(.collection(let path)): [.collection(path)]
    case .collections(.group(let id, _)): [.group(id)]
    case .collections(.everything): [.everything]
    case .documents(let keys): Set(keys.map { .document($0) })
    }
  }

  /// Whether an existing document belongs to the target, leaving the limit out of account.
  func matches(_ document: Document) -> Bool {
    guard document.isFound else { return false }
    switch source {
    case .query(let query): return query.matches(document)
    case .documents: return scope.contains(document.key)
    }
  }

  /// The query with a limit, if this target is one.
  var limitQuery: Query? {
    guard case .query(let query) = source, query.limit != nil else { return nil }
    return query
  }

  /// Whether the window of a limit query can be another one after these changes.
  func isWindowAffected(by transitions: [DocumentTransition]) -> Bool {
    guard let window, let query = limitQuery else { return false }
    return transitions.contains { transition in
      if window.versions[transition.key] != nil { return true }
      guard scope.contains(transition.key), matches(transition.after) else { return false }
      guard let last = window.last, window.versions.count >= query.limit ?? 0 else { return true }
      return query.compare(transition.after, last) == .ascending
    }
  }
}

/// What a query with a limit shows.
struct LimitWindow: Sendable {
  var versions: [DocumentKey: SnapshotVersion]
  var last: Document?

  init(_ documents: [Document]) {
    versions = Dictionary(documents.map { ($0.key, $0.version) }) { first, _ in first }
    last = documents.last
  }
}

/// What one step has to tell the client about documents, gathered over all targets: one message for each document.
struct WatchDelta: Sendable {
  private struct Entry {
    var document: Document
    var isContentNew: Bool
    var updated: [TargetID] = []
    var removed: [TargetID] = []
  }

  private var entries: [DocumentKey: Entry] = [:]
  private var order: [DocumentKey] = []

  var isEmpty: Bool { order.isEmpty }

  /// The document is in the target and is new there or has changed.
  mutating func update(_ document: Document, in target: TargetID) {
    withEntry(document, isContentNew: true) { $0.updated.append(target) }
  }

  /// The document is not in the target any more.
  ///
  /// - Parameter isContentNew: whether the document itself has changed or gone; false when others pushed it out.
  mutating func remove(_ document: Document, from target: TargetID, isContentNew: Bool) {
    withEntry(document, isContentNew: isContentNew) { $0.removed.append(target) }
  }

  private mutating func withEntry(_ document: Document, isContentNew: Bool, _ change: (inout Entry) -> Void) {
    if entries[document.key] == nil { order.append(document.key) }
    var entry = entries[document.key] ?? Entry(document: document, isContentNew: false)
    if isContentNew {
      entry.document = document
      entry.isContentNew = true
    }
    change(&entry)
    entries[document.key] = entry
  }

  /// The messages, in the order in which the documents were first touched.
  ///
  /// - Parameter version: the snapshot they belong to, the read time of deletions.
  func responses(at version: SnapshotVersion) -> [WatchResponse] {
    order.compactMap { key in
      guard let entry = entries[key] else { return nil }
      let document: Document?
      if !entry.document.isFound {
        document = .missing(key, version: version)
      } else {
        document = entry.isContentNew ? entry.document : nil
      }
      return .documentChange(
        WatchDocumentChange(
          key: key, updatedTargetIDs: entry.updated, removedTargetIDs: entry.removed, document: document))
    }
  }
}
