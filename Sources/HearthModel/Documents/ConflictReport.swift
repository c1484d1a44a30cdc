/// The document that the resolution of a conflict leaves, and the changes that it has dropped.
package struct ConflictReport: Hashable, Sendable {
  package enum Side: Hashable, Sendable {
    case local, remote
  }

  /// The document that the resolution leaves.
  package enum Ending: Hashable, Sendable {
    /// It has changes of both sides, or what the application has written.
    case merged
    case local
    case remote
    /// The backend's document stays, and the local one is another document.
    case both(copy: DocumentKey)
  }

  /// A field in which a change of one side, or of both, was dropped. A value is nil where the field was not there.
  package struct Field: Hashable, Sendable {
    package var path: FieldPath
    package var base: Value?
    package var local: Value?
    package var remote: Value?
    /// Nil for a value that neither side has.
    package var kept: Side?

    package init(path: FieldPath, base: Value?, local: Value?, remote: Value?, kept: Side?) {
      self.path = path
      self.base = base
      self.local = local
      self.remote = remote
      self.kept = kept
    }
  }

  package var key: DocumentKey
  package var ending: Ending
  /// True if the local write deletes the document.
  package var isDeletedLocally: Bool
  /// True if the backend does not have the document.
  package var isDeletedRemotely: Bool
  /// In the order of their names. Maps are compared field by field, arrays are values.
  package var fields: [Field]

  package init(
    key: DocumentKey, ending: Ending, isDeletedLocally: Bool = false, isDeletedRemotely: Bool = false,
    fields: [Field] = []
  ) {
    self.key = key
    self.ending = ending
    self.isDeletedLocally = isDeletedLocally
    self.isDeletedRemotely = isDeletedRemotely
    self.fields = fields
  }
}

/// A report that is kept for the application.
package struct KeptConflict: Hashable, Sendable {
  /// Names a report for good.
  package struct ID: Hashable, Sendable {
    /// The write whose conflict it was.
    package var identity: BatchIdentity
    /// Counts the reports of one write, from 0.
    package var number: Int64

    package init(identity: BatchIdentity, number: Int64) {
      self.identity = identity
      self.number = number
    }
  }

  package var id: ID
  /// The number of the write's batch in the outbox.
  package var batchID: BatchID
  /// The device's time of the resolution.
  package var resolvedAt: Timestamp
  package var report: ConflictReport

  package init(id: ID, batchID: BatchID, resolvedAt: Timestamp, report: ConflictReport) {
    self.id = id
    self.batchID = batchID
    self.resolvedAt = resolvedAt
    self.report = report
  }
}
