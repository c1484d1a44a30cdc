internal import HearthModel

/// One document before and after a change.
struct DocumentTransition: Sendable, Equatable {
  /// Found or missing.
  var before: Document
  /// Found or missing.
  var after: Document

  init(before: Document, after: Document) {
    self.before = before
    self.after = after
  }

  var key: DocumentKey { after.key }
}

/// One commit that changed something.
struct CommittedChange: Sendable {
  var version: SnapshotVersion
  /// One for each document that differs after the commit; none if they are too many, see ``isComplete``.
  private(set) var transitions: [DocumentTransition]
  /// The number of documents that differ after the commit.
  private(set) var documentCount: Int

  init(version: SnapshotVersion, transitions: [DocumentTransition] = []) {
    self.version = version
    self.transitions = transitions
    documentCount = transitions.count
  }

  /// Commits up to a version, with unknown changes. Listeners take them from the change log.
  init(unknownThrough version: SnapshotVersion) {
    self.init(version: version)
    documentCount = 1
  }

  /// False for a commit with too many changes to hold. Listeners take it from the change log.
  var isComplete: Bool { transitions.count == documentCount }

  /// Adds changes, and holds none any more if they are too many.
  mutating func add(_ more: [DocumentTransition], holdingAtMost maximumCount: Int, bytes maximumBytes: Int) {
    if isComplete {
      transitions += more
      if transitions.count > maximumCount || sizeBytes > maximumBytes { transitions = [] }
    }
    documentCount += more.count
  }

  /// About the memory that it takes.
  var sizeBytes: Int {
    transitions.reduce(64) { $0 + $1.before.fields.bytes.count + $1.after.fields.bytes.count + 128 }
  }
}
