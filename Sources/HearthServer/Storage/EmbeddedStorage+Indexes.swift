internal import HearthModel
internal import HearthStore
internal import Logging
internal import Synchronization

/// The indexes are made by need: a query whose scan cost much more than its result asks for one. They are filled by the writer, in steps
/// between the commits. Queries use an index from the beginning, and scan what it does not hold yet.
extension EmbeddedStorage {
  /// The largest number of automatic indexes of a collection group. Each one costs every later write of its documents.
  static let automaticIndexLimit = 32

  /// One step of filling: about two milliseconds, so that commits wait no longer for it than for another commit.
  static let fillLimits = IndexTable.FillLimits(
    documents: 400, documentBytes: 512 << 10, newEntries: 2_000, entries: 2_000)

  /// Asks for indexes. Returns at once; each is asked for once.
  nonisolated func wish(for definitions: [IndexDefinition]) {
    guard !definitions.isEmpty else { return }
    let new = published.withLock { published in definitions.filter { published.wishes.insert($0).inserted } }
    guard !new.isEmpty else { return }
    Task { await self.addAutomatic(new) }
  }

  private func addAutomatic(_ definitions: [IndexDefinition]) {
    changeIndexes("Create indexes") {
      for definition in definitions {
        // At the limit, the queries go on without: a group whose fields are named after its data asks for one with every name.
        guard try store.indexes.automaticIndexCount(of: definition.collectionGroup) < Self.automaticIndexLimit else {
          continue
        }
        try store.indexes.add(definition, origin: .automatic)
      }
    }
  }

  func declare(_ definitions: [IndexDefinition]) {
    published.withLock { $0.declared = definitions }
    guard (try? store.indexes.declaredDefinitions()) != Set(definitions) else { return }
    changeIndexes("Declare indexes") { try store.indexes.declare(definitions) }
  }

  /// Changes definitions, and has what they need filled.
  private func changeIndexes(_ name: String, _ body: () throws -> Void) {
    guard !isClosed, (try? requireSafeDisk()) != nil else { return }
    do {
      try database.transaction(name) {
        try body()
        try nextIndexState()
      }
      indexState += 1
      continueFilling()
    } catch {
      store.indexes.forget()
      if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
      // Queries are answered all the same, by a scan.
      logger.error(
        "indexes cannot be changed", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    }
  }

  private func nextIndexState() throws {
    try ServerState.save(indexState: indexState + 1, in: database)
  }

  /// Fills indexes in the background until all hold everything.
  func continueFilling() {
    guard fillsIndexes, !isFilling else { return }
    isFilling = true
    Task {
      self.isFilling = false
      if self.fillIndexes(Self.fillLimits) { self.continueFilling() }
    }
  }

  /// Does one step.
  ///
  /// - Returns: True if there may be more to do.
  func fillIndexes(_ limits: IndexTable.FillLimits) -> Bool {
    guard !isClosed, (try? requireSafeDisk()) != nil else { return false }
    do {
      // Not durable by itself: a power cut that takes the latest entries takes the mark of how far the index is filled too.
      let hasMore = try database.transaction("Fill indexes", synchronous: .normal) {
        store.indexes.use(indexState)
        guard try store.indexes.hasWork() else { return false }
        _ = try store.indexes.fill(limits)
        try nextIndexState()
        return true
      }
      if hasMore { indexState += 1 }
      return hasMore
    } catch {
      store.indexes.forget()
      if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
      logger.error(
        "indexes cannot be filled", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      return false
    }
  }
}
