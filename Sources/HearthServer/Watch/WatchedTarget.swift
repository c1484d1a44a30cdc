internal import HearthModel
internal import HearthStore

/// One target of a listen stream.
///
/// The membership of a document in a query without limit depends on the document alone. So a change is judged by the document
/// before and after it, and no state is kept. For a query with a limit the window is kept: the keys and versions of its
/// documents, and the last document, which decides whether a new document falls into the window.
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

  /// The changes that wake the stream for this target.
  var interests: Set<ChangeFeed.Interest> {
    switch scope {
    case .collections(.collection(let path)): [.collection(path)]
    case .collections(.group(let id, _)): [.group(id)]
    case .collections(.everything): [.everything]
    case .documents(let keys): Set(keys.map { .document($0) })
    }
  }

  /// Returns true if an existing document belongs to the target, without regard to the limit.
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

  /// Returns true if these changes may change the window of a query with a limit.
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

/// The documents of a query with a limit that the client has.
struct LimitWindow: Sendable {
  var versions: [DocumentKey: SnapshotVersion]
  var last: Document?

  init(_ documents: [Document]) {
    versions = Dictionary(documents.map { ($0.key, $0.version) }) { first, _ in first }
    last = documents.last
  }
}

/// The document changes of one step, collected over all targets: one message for each document.
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

  /// Adds a document that is in the target and is new there or has changed.
  mutating func update(_ document: Document, in target: TargetID) {
    withEntry(document, isContentNew: true) { $0.updated.append(target) }
  }

  /// Adds a document that has left the target.
  ///
  /// - Parameter isContentNew: True if the document itself was changed or deleted; false if others pushed it out of a limit.
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
