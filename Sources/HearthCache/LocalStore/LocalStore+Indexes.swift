package import HearthModel
package import HearthStore

extension LocalStore {
  // MARK: - Definitions

  /// Makes these the indexes of the cache. Those that exist keep their entries, the others are dropped, those that are new
  /// are filled by ``advanceIndexFill(_:)``. Queries are answered the same before, meanwhile and afterwards.
  package func setIndexes(_ definitions: [IndexDefinition]) throws {
    try transaction("Set indexes") {
      try documents.indexes.set(definitions)
      try tell(.indexes)
    }
  }

  /// Gives all indexes up, declared and automatic ones.
  package func deleteAllIndexes() throws {
    try transaction("Delete all indexes") {
      try documents.indexes.dropAll()
      try tell(.indexes)
    }
  }

  /// All indexes with their sizes. The cost grows with the number of entries.
  package func indexListings() throws -> [IndexListing] {
    try read("List indexes") { try documents.indexes.listings() }
  }

  // MARK: - Filling

  /// Does a bounded part of what is to be done so that all indexes hold all documents, and nothing is left of those that
  /// were given up. Each part is a transaction, and stands by itself.
  ///
  /// - Returns: True if there may be more to do.
  package func advanceIndexFill(_ limits: IndexTable.FillLimits = .init()) throws -> Bool {
    try transaction("Fill indexes", needsLease: true) {
      if let fill = try documents.indexes.nextLocalFill() {
        try enterLocalMutations(fill)
        return true
      }
      return try documents.indexes.fill(limits)
    }
  }

  /// Returns whether some index is not filled, or entries of a dropped one are left.
  package func hasIndexWork() throws -> Bool {
    try read("Look for unfilled indexes") {
      try documents.indexes.nextLocalFill() != nil || documents.indexes.hasWork()
    }
  }

  /// How far the indexes are filled; see ``IndexTable/fillProgress(collectionLimit:)``.
  package func indexFillProgress() throws -> (completed: Int, total: Int?) {
    try read("Look for unfilled indexes") { try documents.indexes.fillProgress() }
  }

  /// The number of overlays that one step reads.
  private static let overlaysPerFill = 500

  /// Enters some of the documents with pending writes. Those that are written from now on are entered as it happens.
  private func enterLocalMutations(_ fill: IndexTable.LocalFill) throws {
    let found = try overlays.overlays(after: fill.mark, limit: Self.overlaysPerFill)
    for overlay in found where overlay.key.collectionGroup.utf8.elementsEqual(fill.collectionGroup.utf8) {
      let document = try localDocuments.document(for: overlay.key, user: overlay.user)
      try documents.indexes.setLocal(document, owner: overlay.user)
    }
    let isEnd = found.count < Self.overlaysPerFill
    try documents.indexes.setLocalMark(isEnd ? nil : found.last?.number, of: fill)
  }

  // MARK: - Automatic indexes

  /// The largest number of automatic indexes of a collection group. Each one costs every later write of its documents, and an
  /// app whose fields are named after its data ("likes.<user>") asks for a new one with every name.
  package static let automaticIndexLimit = 50

  /// Makes the indexes that a query would have been answered faster by, if automatic creation is on and it was worth it.
  ///
  /// - Returns: True if there is a new index, which is to be filled.
  package func considerIndexes(for query: Query, after execution: QueryExecution) throws -> Bool {
    guard state.createsIndexes, execution.plan == .scan, execution.isWorthAnIndex else { return false }
    let executor = QueryExecutor(documents: documents)
    let missing = try read("Look for missing indexes") { () -> [IndexDefinition] in
      let all = try executor.missingIndexes(for: query)
      guard let group = all.first?.collectionGroup else { return [] }
      let automatic = try documents.indexes.automaticIndexCount(of: group)
      // Some of them would not serve the query.
      return automatic + all.count <= Self.automaticIndexLimit ? all : []
    }
    guard !missing.isEmpty else { return false }
    try transaction("Create indexes") {
      for definition in missing {
        try documents.indexes.add(definition, origin: .automatic)
      }
      try tell(.indexes)
    }
    return true
  }

  /// True if slow scans create indexes. Off at every start (firebase-ios-sdk query_engine.cc).
  package var createsIndexes: Bool {
    get { state.createsIndexes }
    set { state.createsIndexes = newValue }
  }

  // MARK: - Explaining

  /// Runs a query as ``read(_:)`` does and returns its plan, and the indexes that would have answered it faster.
  ///
  /// - Parameter clock: measures the steps.
  package func explain(_ query: Query, clock: () -> Duration) throws -> QueryExecution {
    try withoutActuallyEscaping(clock) { clock in
      try read("Explain query") {
        var execution = try answer(query, clock: clock).execution
        execution.missingIndexes = try QueryExecutor(documents: documents).missingIndexes(for: query)
        return execution
      }
    }
  }
}
