package import HearthModel

/// One document before and after something happened.
package struct DocumentTransition: Sendable, Equatable {
  /// Found or missing.
  package var before: Document
  /// Found or missing.
  package var after: Document

  package init(before: Document, after: Document) {
    self.before = before
    self.after = after
  }

  package var key: DocumentKey { after.key }
}

/// One commit that changed something.
package struct CommittedChange: Sendable {
  package var version: SnapshotVersion
  /// One for each document that differs after the commit.
  package var transitions: [DocumentTransition]

  package init(version: SnapshotVersion, transitions: [DocumentTransition]) {
    self.version = version
    self.transitions = transitions
  }
}
