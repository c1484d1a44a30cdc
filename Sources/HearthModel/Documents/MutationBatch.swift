/// The number of a batch in the outbox; batches are sent in this order. ``unknownBatchID`` stands for none.
package typealias BatchID = Int64

/// The batch number that no batch has.
package let unknownBatchID: BatchID = -1

/// The backend's answer to one mutation.
package struct MutationResult: Equatable, Sendable {
  /// The version at which the mutation was committed.
  package var version: SnapshotVersion
  /// One value for each transform of the mutation, in order; null for those of arrays.
  package var transformResults: [Value]

  package init(version: SnapshotVersion, transformResults: [Value] = []) {
    self.version = version
    self.transformResults = transformResults
  }
}

/// The mutations of one write call: stored, sent, acknowledged and rejected together.
package struct MutationBatch: Equatable, Sendable {
  package var batchID: BatchID
  /// Nil in rows of releases without identities: such a batch is sent without a label.
  package var identity: BatchIdentity?
  /// The time of the local write; all server timestamps of the batch show it until the backend answers.
  package var localWriteTime: Timestamp
  /// Applied to the local view before ``mutations`` and never sent: they fix the initial values of increments.
  package var baseMutations: [Mutation]
  package var mutations: [Mutation]
  /// True if its outcome is kept for a while, under its identity.
  package var keepsOutcome: Bool
  /// True if its base documents are kept, because a rule for conflicts contains one of them.
  package var keepsBases: Bool
  /// True if the resolution of a conflict has put other mutations in the place of those that the application wrote.
  package var isResolved: Bool
  /// The conditions under which the backend carries it out, by document. They take the place of those of its first mutation. They are
  /// stored before the batch is sent for the first time, and it is sent with them until it is answered, whatever the rules for conflicts
  /// are by then.
  ///
  /// Nil as long as they are not decided, so that it was never sent, and always without ``keepsBases``.
  package var guards: [DocumentKey: Precondition]?
  /// Its documents as its author saw them, where that is not known otherwise: see ``AuthorView``. Always empty without ``keepsBases``.
  package var views: [DocumentKey: AuthorView]

  package init(
    batchID: BatchID, identity: BatchIdentity? = nil, localWriteTime: Timestamp, baseMutations: [Mutation] = [],
    mutations: [Mutation], keepsOutcome: Bool = false, keepsBases: Bool = false,
    isResolved: Bool = false, guards: [DocumentKey: Precondition]? = nil, views: [DocumentKey: AuthorView] = [:]
  ) {
    self.batchID = batchID
    self.identity = identity
    self.localWriteTime = localWriteTime
    self.baseMutations = baseMutations
    self.mutations = mutations
    self.keepsOutcome = keepsOutcome
    self.keepsBases = keepsBases
    self.isResolved = isResolved
    self.guards = guards
    self.views = views
  }

  /// The documents that the batch writes.
  package var keys: Set<DocumentKey> { Set(mutations.map(\.key)) }

  /// The mutations as they are sent.
  package var guardedMutations: [Mutation] {
    guard var open = guards, !open.isEmpty else { return mutations }
    return mutations.map { mutation in
      guard let precondition = open.removeValue(forKey: mutation.key) else { return mutation }
      var guarded = mutation
      guarded.precondition = precondition
      return guarded
    }
  }

  /// The part of the batch for each document. A batch may write tens of thousands of documents, and applying the whole batch searches it
  /// once per document; loops over all documents use the parts instead.
  package var parts: [DocumentKey: MutationBatch] {
    var parts: [DocumentKey: MutationBatch] = [:]
    let empty = MutationBatch(batchID: batchID, localWriteTime: localWriteTime, mutations: [])
    for mutation in baseMutations { parts[mutation.key, default: empty].baseMutations.append(mutation) }
    for mutation in mutations { parts[mutation.key, default: empty].mutations.append(mutation) }
    return parts
  }

  /// Shows the batch in the local view of one document.
  ///
  /// - Parameter mutatedFields: the fields that earlier batches changed, as in
  ///   ``Mutation/applyToLocalView(_:previousMask:localWriteTime:)``; ``FieldMask/empty`` to begin with.
  /// - Returns: the fields changed so far, nil if the whole document was replaced or deleted.
  package func applyToLocalView(
    _ document: inout Document, mutatedFields: FieldMask?
  ) throws(WireFormatError) -> FieldMask? {
    var mask = mutatedFields
    for mutation in baseMutations where mutation.key == document.key {
      mask = try mutation.applyToLocalView(&document, previousMask: mask, localWriteTime: localWriteTime)
    }
    for mutation in mutations where mutation.key == document.key {
      mask = try mutation.applyToLocalView(&document, previousMask: mask, localWriteTime: localWriteTime)
    }
    return mask
  }

  /// Updates one cached document with the backend's answer to this batch. A mutation without a result in the answer counts as committed at
  /// the version of the batch.
  package func applyToRemoteDocument(
    _ document: inout Document, result: MutationBatchResult
  ) throws(WireFormatError) {
    for (index, mutation) in mutations.enumerated() where mutation.key == document.key {
      let answer =
        index < result.results.count ? result.results[index] : MutationResult(version: result.commitVersion)
      try mutation.applyToRemoteDocument(&document, result: answer)
    }
  }
}

/// The backend's answer to a batch.
package struct MutationBatchResult: Equatable, Sendable {
  package var batch: MutationBatch
  package var commitVersion: SnapshotVersion
  /// One for each mutation of the batch, in order.
  package var results: [MutationResult]

  package init(batch: MutationBatch, commitVersion: SnapshotVersion, results: [MutationResult]) {
    self.batch = batch
    self.commitVersion = commitVersion
    self.results = results
  }

  /// The part of the answer for each document; see ``MutationBatch/parts``.
  package var parts: [DocumentKey: MutationBatchResult] {
    var parts = batch.parts.mapValues {
      MutationBatchResult(batch: $0, commitVersion: commitVersion, results: [])
    }
    for (mutation, result) in zip(batch.mutations, results) { parts[mutation.key]?.results.append(result) }
    return parts
  }

  /// The version that each document of the batch has after it; of several mutations of one document the last counts.
  package var documentVersions: [DocumentKey: SnapshotVersion] {
    var versions: [DocumentKey: SnapshotVersion] = [:]
    for (index, mutation) in batch.mutations.enumerated() {
      versions[mutation.key] = index < results.count ? results[index].version : commitVersion
    }
    return versions
  }
}
