internal import HearthModel
internal import HearthStore
internal import Logging
internal import Synchronization

/// The indexes that the administrator of a server has declared, as `firestore.indexes.json` has them.
struct DeclaredIndexes: Sendable, Equatable {
  var definitions: [IndexDefinition]
}

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

  /// Makes these the declared indexes. Those that exist are kept with their entries; declared ones that are no longer in the list go.
  func declare(_ declared: DeclaredIndexes) {
    published.withLock { $0.declared = declared }
    guard (try? store.indexes.declaredDefinitions()) != Set(declared.definitions) else { return }
    changeIndexes("Declare indexes") {
      try store.indexes.declare(declared.definitions)
    }
  }

  /// Changes definitions, and has what they need filled.
  private func changeIndexes(_ name: String, _ body: () throws -> Void) {
    guard !isClosed else { return }
    do {
      try database.transaction(name) {
        try body()
        try nextIndexState()
      }
      indexState += 1
      continueFilling()
    } catch {
      store.indexes.forget()
      // Queries are answered all the same, by a scan.
      logger.error("indexes cannot be changed", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    }
  }

  private func nextIndexState() throws {
    try ServerState.save(indexState: indexState + 1, in: database)
  }

  /// Fills indexes in the background until all hold everything.
  func continueFilling() {
    guard !isFilling else { return }
    isFilling = true
    Task { self.fillStep() }
  }

  private func fillStep() {
    isFilling = false
    guard !isClosed else { return }
    do {
      // Not durable by itself: an index that loses its latest entries to a power cut loses the mark of how far it was filled too.
      let hasMore = try database.transaction("Fill indexes", synchronous: .normal) {
        store.indexes.use(indexState)
        guard try store.indexes.hasWork() else { return false }
        _ = try store.indexes.fill(Self.fillLimits)
        try nextIndexState()
        return true
      }
      if hasMore {
        indexState += 1
        continueFilling()
      }
    } catch {
      store.indexes.forget()
      logger.error("indexes cannot be filled", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    }
  }
}
