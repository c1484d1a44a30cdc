internal import HearthModel

/// One document before and after something happened.
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
  /// One for each document that differs after the commit.
  var transitions: [DocumentTransition]

  init(version: SnapshotVersion, transitions: [DocumentTransition]) {
    self.version = version
    self.transitions = transitions
  }

  /// About the memory that it takes.
  var sizeBytes: Int {
    transitions.reduce(64) { $0 + $1.before.fields.bytes.count + $1.after.fields.bytes.count + 128 }
  }
}
