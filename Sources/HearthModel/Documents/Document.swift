/// The knowledge about one document at one moment: it is unknown, it exists with these fields, or it does not exist.
///
/// The fields stay in their wire encoding. Two documents are equal when key, kind, version, mutation state and field
/// values are equal; the times at which a document was created or read do not affect what a user sees and are not
/// compared.
package struct Document: Sendable {
  /// The extent of the knowledge about the document.
  package enum Kind: Hashable, Sendable {
    /// Nothing is known: neither the backend nor a local write has defined this key.
    case unknown
    /// The document exists and `fields` are its contents.
    case found
    /// The document is known not to exist.
    case missing
    /// The document was written at `version`, but its contents were not received: an update was acknowledged for a document that is not in
    /// the cache.
    case foundWithUnknownContents
  }

  /// The origin of the contents.
  package enum MutationState: Hashable, Sendable {
    /// From the backend.
    case synced
    /// From local writes that the backend has not acknowledged; the version is then always ``SnapshotVersion/none``.
    case hasLocalMutations
    /// From local writes that the backend acknowledged at `version`, which the watch stream has not delivered yet.
    case hasCommittedMutations
  }

  package var key: DocumentKey
  package var kind: Kind
  package var version: SnapshotVersion
  /// The time when the document was created, ``SnapshotVersion/none`` if it is unknown.
  package var createTime: SnapshotVersion
  /// The snapshot in which this state was read, ``SnapshotVersion/none`` if it was not read from the backend.
  package var readTime: SnapshotVersion
  /// The contents; empty unless `kind` is ``Kind/found``.
  package var fields: EncodedFields
  package var mutationState: MutationState

  private init(
    key: DocumentKey, kind: Kind, version: SnapshotVersion, createTime: SnapshotVersion, readTime: SnapshotVersion,
    fields: EncodedFields, mutationState: MutationState
  ) {
    self.key = key
    self.kind = kind
    self.version = version
    self.createTime = createTime
    self.readTime = readTime
    self.fields = fields
    self.mutationState = mutationState
  }

  /// A document without any knowledge of its contents or existence.
  package static func unknown(_ key: DocumentKey) -> Document {
    Document(
      key: key, kind: .unknown, version: .none, createTime: .none, readTime: .none, fields: .empty,
      mutationState: .synced)
  }

  /// A document that exists.
  package static func found(
    _ key: DocumentKey, version: SnapshotVersion, createTime: SnapshotVersion = .none,
    readTime: SnapshotVersion = .none, fields: EncodedFields
  ) -> Document {
    Document(
      key: key, kind: .found, version: version, createTime: createTime, readTime: readTime, fields: fields,
      mutationState: .synced)
  }

  /// A document that is known not to exist at `version`.
  package static func missing(
    _ key: DocumentKey, version: SnapshotVersion, readTime: SnapshotVersion = .none
  ) -> Document {
    Document(
      key: key, kind: .missing, version: version, createTime: .none, readTime: readTime, fields: .empty,
      mutationState: .synced)
  }

  /// A document that was written at `version` with contents that this client has not received. It is the result of an acknowledged write,
  /// so it has committed mutations.
  package static func foundWithUnknownContents(_ key: DocumentKey, version: SnapshotVersion) -> Document {
    Document(
      key: key, kind: .foundWithUnknownContents, version: version, createTime: .none, readTime: .none, fields: .empty,
      mutationState: .hasCommittedMutations)
  }

  package var isFound: Bool { kind == .found }
  package var isMissing: Bool { kind == .missing }
  package var isUnknown: Bool { kind == .unknown }
  package var hasLocalMutations: Bool { mutationState == .hasLocalMutations }
  package var hasCommittedMutations: Bool { mutationState == .hasCommittedMutations }
  /// True if the contents show a write that the watch stream has not confirmed.
  package var hasPendingWrites: Bool { mutationState != .synced }
}

extension Document: Equatable {
  package static func == (a: Document, b: Document) -> Bool {
    a.key == b.key && a.kind == b.kind && a.version == b.version && a.mutationState == b.mutationState
      && a.hasSameContents(as: b)
  }

  /// Returns whether both documents have the same fields with equal values, integers and doubles kept apart. The order in which
  /// the fields are encoded does not count: the backend does not promise one.
  package func hasSameContents(as other: Document) -> Bool { fields == other.fields }
}

extension Document {
  /// Makes this a document with these contents, as the outcome of a mutation.
  mutating func becomeFound(_ fields: EncodedFields, version: SnapshotVersion, state: MutationState) {
    kind = .found
    self.version = version
    self.fields = fields
    mutationState = state
  }

  /// Makes this a document that does not exist, as the outcome of a mutation.
  mutating func becomeMissing(version: SnapshotVersion, state: MutationState) {
    kind = .missing
    self.version = version
    createTime = .none
    fields = .empty
    mutationState = state
  }
}
