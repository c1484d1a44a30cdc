internal import HearthModel

/// One target of a listen stream.
struct WatchedTarget: Sendable {
  let id: TargetID
  let source: WatchSource
  let scope: ChangeScope
  /// Removed after its first snapshot.
  let isOnce: Bool
  /// The number of the shared query in the feed.
  var query: ChangeFeed.QueryID = 0

  init(id: TargetID, source: WatchSource, isOnce: Bool) {
    self.id = id
    self.source = source
    self.isOnce = isOnce
    scope = source.scope
  }
}

/// The document changes of one step, collected over all targets: one message for each document.
struct WatchDelta: Sendable {
  private struct Entry {
    var document: SharedDocument
    var isContentNew: Bool
    var updated: [TargetID] = []
    var removed: [TargetID] = []
  }

  private var entries: [DocumentKey: Entry] = [:]
  private var order: [DocumentKey] = []

  var isEmpty: Bool { order.isEmpty }

  /// Adds a document that is in the target and is new there or has changed.
  mutating func update(_ document: SharedDocument, in target: TargetID) {
    withEntry(document, isContentNew: true) { $0.updated.append(target) }
  }

  /// Adds a document that has left the target.
  ///
  /// - Parameter isContentNew: True if the document itself was changed or deleted; false if others pushed it out of a limit.
  mutating func remove(_ document: SharedDocument, from target: TargetID, isContentNew: Bool) {
    withEntry(document, isContentNew: isContentNew) { $0.removed.append(target) }
  }

  private mutating func withEntry(_ document: SharedDocument, isContentNew: Bool, _ change: (inout Entry) -> Void) {
    let key = document.document.key
    if entries[key] == nil { order.append(key) }
    var entry = entries[key] ?? Entry(document: document, isContentNew: false)
    // Targets may say different things of a document that changed several times: one with a limit hears nothing of it any more when
    // it has been pushed out. The latest is what it is now.
    if isContentNew, !entry.isContentNew || document.document.version >= entry.document.document.version {
      entry.document = document
      entry.isContentNew = true
    }
    change(&entry)
    entries[key] = entry
  }

  /// The messages, in the order in which the documents were first touched.
  func messages(in database: DatabaseID) -> [ListenMessage] {
    order.compactMap { key in
      guard let entry = entries[key] else { return nil }
      return .encoded(
        entry.document.message(
          updated: entry.updated, removed: entry.removed, isContentNew: entry.isContentNew, in: database))
    }
  }
}

// MARK: - Changes

extension WatchDelta {
  /// The changes that the feed has matched.
  mutating func collect(_ changes: [WatchChange], of target: TargetID) {
    for change in changes {
      if change.isIn {
        update(change.document, in: target)
      } else {
        remove(change.document, from: target, isContentNew: change.isContentNew)
      }
    }
  }

  /// The differences of a target without limit, from the change log.
  ///
  /// - Parameter version: The version of the documents after the changes.
  mutating func collect(_ difference: LoggedDifference, of target: WatchedTarget, at version: SnapshotVersion) {
    for transition in difference.transitions {
      if target.source.matches(transition.after) {
        update(SharedDocument(transition.after), in: target.id)
      } else if target.source.matches(transition.before) || difference.passing.contains(transition.key) {
        remove(Self.shared(transition.after, at: version), from: target.id, isContentNew: true)
      }
    }
  }

  /// The changes of a target with a limit, from an old result to a new one.
  mutating func move(
    _ target: TargetID, from before: [Document], to documents: [Document], _ difference: LoggedDifference,
    at version: SnapshotVersion
  ) {
    let old = Dictionary(before.map { ($0.key, $0.version) }) { first, _ in first }
    let new = Set(documents.map(\.key))
    let changed = Dictionary(difference.transitions.map { ($0.key, $0.after) }) { _, last in last }
    for document in before.sorted(by: { $0.key < $1.key }) where !new.contains(document.key) {
      if let after = changed[document.key] {
        remove(Self.shared(after, at: version), from: target, isContentNew: true)
      } else {
        remove(SharedDocument(document), from: target, isContentNew: false)
      }
    }
    for document in documents where old[document.key] != document.version {
      update(SharedDocument(document), in: target)
    }
    for transition in difference.transitions
    where difference.passing.contains(transition.key) && old[transition.key] == nil && !new.contains(transition.key) {
      remove(Self.shared(transition.after, at: version), from: target, isContentNew: true)
    }
  }

  private static func shared(_ document: Document, at version: SnapshotVersion) -> SharedDocument {
    SharedDocument(document.isFound ? document : .missing(document.key, version: version))
  }
}
