internal import HearthModel
internal import HearthPlan
package import HearthStore

/// The indexes of a cache: the existing ones, and the ones that queries would need.
package final class CacheIndexes {
  /// The largest number of automatic indexes of a collection group. Each one costs every later write of its documents, and an
  /// app whose fields are named after its data ("likes.<user>") asks for a new one with every name.
  package static let automaticLimit = 50
  /// The number of overlays that one step of the filling reads.
  private static let overlaysPerFill = 500

  let transactions: CacheTransactions
  private let documents: DocumentStore
  private let overlays: OverlayTable
  private let localDocuments: LocalDocuments
  /// True if slow scans create indexes. Off at every start (firebase-ios-sdk query_engine.cc).
  package var areCreated = false

  init(_ transactions: CacheTransactions) {
    self.transactions = transactions
    documents = transactions.tables.documents
    overlays = transactions.tables.overlays
    localDocuments = transactions.tables.localDocuments
  }

  private var table: IndexTable { documents.indexes }

  /// All indexes with their sizes. The cost grows with the number of entries.
  package func listings() throws -> [IndexListing] {
    try transactions.read("List indexes") { try table.listings() }
  }

  // MARK: - Filling

  /// Returns whether some index is not filled, or entries of a dropped one are left.
  package func hasWork() throws -> Bool {
    try transactions.read("Look for unfilled indexes") { try table.nextLocalFill() != nil || table.hasWork() }
  }

  /// Returns how far the indexes are filled; see ``IndexTable/fillProgress(collectionLimit:)``.
  package func fillProgress() throws -> (completed: Int, total: Int?) {
    try transactions.read("Look for unfilled indexes") { try table.fillProgress() }
  }

  /// Part of ``LocalStore/advanceIndexFill(_:)``, inside its transaction.
  func advanceFill(_ limits: IndexTable.FillLimits) throws -> Bool {
    guard let fill = try table.nextLocalFill() else { return try table.fill(limits) }
    try enterLocalMutations(fill)
    return true
  }

  /// Enters some of the documents with pending writes. Those that are written from now on are entered as it happens.
  private func enterLocalMutations(_ fill: IndexTable.LocalFill) throws {
    let found = try overlays.overlays(after: fill.mark, limit: Self.overlaysPerFill)
    for overlay in found where overlay.key.collectionGroup.utf8.elementsEqual(fill.collectionGroup.utf8) {
      let document = try localDocuments.document(for: overlay.key, user: overlay.user)
      try table.setLocal(document, owner: overlay.user)
    }
    let isEnd = found.count < Self.overlaysPerFill
    try table.setLocalMark(isEnd ? nil : found.last?.number, of: fill)
  }

  // MARK: - Automatic indexes

  /// The indexes that a query would have been answered faster by, if automatic creation is on and it was worth it.
  func missing(for query: Query, after execution: QueryExecution) throws -> [IndexDefinition] {
    guard areCreated, execution.plan == .scan, execution.isWorthAnIndex else { return [] }
    return try transactions.read("Look for missing indexes") {
      let all = try QueryExecutor(documents: documents).missingIndexes(for: query)
      guard let group = all.first?.collectionGroup else { return [] }
      let automatic = try table.automaticIndexCount(of: group)
      // Some of them would not serve the query.
      return automatic + all.count <= Self.automaticLimit ? all : []
    }
  }
}
