internal import HearthModel

/// One target of a listen stream.
struct WatchedTarget: Sendable {
  let id: TargetID
  let source: WatchSource
  /// Removed after its first snapshot.
  let isOnce: Bool
  /// The number of the shared query in the feed.
  var query: ChangeFeed.QueryID = 0
  /// Nil if no rules decide on the target. Rules allow the documents that are in it. What a document has become that has left it,
  /// they decide for each.
  var grant: WatchGrant?
  /// The number in the feed of the documents that the rules have looked up for the grant; nil if there are none.
  var lookedUp: ChangeFeed.QueryID?
  /// The share of the target in the memory for all.
  var memory: TargetMemory?

  init(id: TargetID, source: WatchSource, isOnce: Bool) {
    self.id = id
    self.source = source
    self.isOnce = isOnce
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
  /// The number of entries that were taken off.
  private var taken = 0
  /// About the memory of the entries, with their documents.
  private(set) var bytes = 0

  var isEmpty: Bool { entries.isEmpty }

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
    if let known = entries[key] { bytes -= Self.size(known) } else { order.append(key) }
    var entry = entries[key] ?? Entry(document: document, isContentNew: false)
    // Targets may say different things of a document that changed several times: one with a limit hears nothing of it any more when
    // it has been pushed out. The latest is what it is now.
    if isContentNew, !entry.isContentNew || document.document.version >= entry.document.document.version {
      entry.document = document
      entry.isContentNew = true
    }
    change(&entry)
    bytes += Self.size(entry)
    entries[key] = entry
  }

  /// Takes messages off the front, in the order in which the documents were first touched.
  ///
  /// - Parameter count: The size in bytes at which enough are taken.
  mutating func takeMessages(atLeast count: Int, in database: DatabaseID) -> [ListenMessage] {
    var messages: [ListenMessage] = []
    var size = 0
    while size < count, taken < order.count {
      guard let entry = entries.removeValue(forKey: order[taken]) else { break }
      let message = entry.document.message(
        updated: entry.updated, removed: entry.removed, isContentNew: entry.isContentNew, in: database)
      messages.append(.encoded(message))
      size += message.count
      bytes -= Self.size(entry)
      taken += 1
    }
    return messages
  }

  /// About the memory of an entry, with the document.
  private static func size(_ entry: Entry) -> Int { entry.document.document.fields.bytes.count + 256 }
}

// MARK: - Changes

extension WatchDelta {
  /// The changes that the feed has matched.
  ///
  /// - Parameter hidden: The documents that have left the target and whose contents the caller may not see. Their names are sent.
  mutating func collect(_ changes: [WatchChange], of target: TargetID, hidden: Set<DocumentKey>) {
    for change in changes {
      if change.isIn {
        update(change.document, in: target)
      } else {
        let isHidden = hidden.contains(change.document.document.key)
        remove(change.document, from: target, isContentNew: change.isContentNew && !isHidden)
      }
    }
  }
}
