internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The rules of the outbox that need its batches decoded.
extension CacheInvariants {
  /// Each pending batch agrees with the tables that are made from it.
  func checkBatches() throws {
    try database.forEachRow("SELECT batch_id, batch, user_id FROM cache_mutation_batches ORDER BY batch_id") { row in
      let row = (
        id: try row.int64(at: 0), user: try row.int64(at: 2), batch: Result { try store.tables.queue.decode(row) }
      )
      try decoding("cache_mutation_batches", "\(row.id)") { try check(row.batch.get(), user: row.user) }
      return true
    }
    try database.forEachRow("SELECT CAST(number AS TEXT), identity, batch_id, number FROM cache_receipts") { row in
      let (number, batchID) = (try row.string(at: 0), try row.int64(at: 2))
      let identity = BatchIdentity(bytes: try row.bytes(at: 1))
      if identity.map(OutcomeTable.number) != (try row.int64(at: 3)) {
        report("cache_receipts", number, "its number is the lower half of its identity")
      }
      if try identity == nil || batch(batchID)?.identity != identity {
        report("cache_receipts", number, "the batch in the queue under its number has its identity")
      }
      return true
    }
  }

  private func check(_ batch: MutationBatch, user: MutationQueue.UserRow) throws {
    let (table, row) = ("cache_mutation_batches", "\(batch.batchID)")
    if batch.mutations.isEmpty { report(table, row, "it changes something") }
    var keys: Set<DocumentKey> = []
    try database.forEachRow(
      "SELECT path FROM cache_batch_documents WHERE user_id = ? AND batch_id = ?", .integer(user),
      .integer(batch.batchID)
    ) {
      keys.insert(try $0.documentKey(at: 0, table: "cache_batch_documents"))
      return true
    }
    if keys != batch.keys { report(table, row, "cache_batch_documents has its documents and no others") }
    if !batch.baseMutations.allSatisfy({ batch.keys.contains($0.key) }) {
      report(table, row, "its base values are of documents that it changes")
    }
    if let guards = batch.guards, !batch.keepsBases || !batch.keys.isSuperset(of: guards.keys) {
      report(table, row, "it has conditions only under rules for conflicts, and for documents that it changes")
    }
    if !batch.views.isEmpty, !batch.keepsBases || !batch.keys.isSuperset(of: batch.views.keys) {
      report(table, row, "it has views only under rules for conflicts, and of documents that it changes")
    }
    guard let identity = batch.identity else { return }
    if try store.tables.outcomes.outcome(of: identity) != nil {
      report(table, row, "no outcome is kept under its identity")
    }
    guard batch.keepsOutcome else { return }
    // If the identities of two batches have the same lower half, one has a row.
    let found = try database.firstRow(
      "SELECT 1 FROM cache_receipts WHERE number = ?", .integer(OutcomeTable.number(of: identity))
    ) { _ in true }
    if found == nil { report(table, row, "cache_receipts leads to it, because its outcome will be kept") }
  }

  private func batch(_ batchID: BatchID) throws -> MutationBatch? {
    try database.firstRow(
      "SELECT batch_id, batch FROM cache_mutation_batches WHERE batch_id = ?", .integer(batchID)
    ) { try? store.tables.queue.decode($0) } ?? nil
  }

  /// Checks the outcomes and refused batches that are kept: they can be read, and none of them is pending as well.
  func checkKeptBatches() throws {
    var pending: Set<BatchIdentity> = []
    try database.forEachRow("SELECT batch_id, batch FROM cache_mutation_batches") {
      if let identity = (try? store.tables.queue.decode($0))?.identity { pending.insert(identity) }
      return true
    }
    for batchID in try store.tables.rejected.unreadable() {
      report("cache_rejected_batches", "\(batchID)", "it can be decoded")
    }
    try database.forEachRow("SELECT batch_id, user_id FROM cache_rejected_batches ORDER BY batch_id") { row in
      let (batchID, user) = (try row.int64(at: 0), try row.int64(at: 1))
      let identity = (try? store.tables.rejected.batch(batchID, user: user))?.batch.identity
      if let identity, pending.contains(identity) {
        report("cache_rejected_batches", "\(batchID)", "it is not pending as well")
      }
      return true
    }
    for row in try store.tables.resolved.unreadable() {
      report("cache_resolved_conflicts", "\(row)", "it can be decoded")
    }
    for number in try store.tables.outcomes.unreadable() {
      report("cache_write_outcomes", "\(number)", "it can be decoded")
    }
    try database.forEachRow("SELECT number, identity FROM cache_write_outcomes") { row in
      let number = try row.int64(at: 0)
      if BatchIdentity(bytes: try row.bytes(at: 1)).map(OutcomeTable.number) != number {
        report("cache_write_outcomes", "\(number)", "its number is the lower half of its identity")
      }
      return true
    }
    try database.forEachRow(BaseDocumentTable.select) { row in
      try decoding("cache_base_documents", (try? row.string(at: 9)) ?? "?") { _ = try BaseDocumentTable.entry(row) }
      return true
    }
  }

  // MARK: - Overlays

  /// The local view of each user is what the pending batches make of the remote documents, as far as `OverlayTable.State` says so.
  func checkOverlays() throws {
    try database.forEachRow(
      """
      SELECT user_id || ' ' || path, path, collection_path, collection_group, mutation, state FROM cache_overlays
      ORDER BY user_id, path
      """
    ) { row in
      let name = try row.string(at: 0)
      try decoding("cache_overlays", name) {
        let key = try row.documentKey(at: 1, table: "cache_overlays")
        let mutation = try CacheCodec.decodeMutation(try row.bytes(at: 4), database: store.databaseID)
        let places = (try row.string(at: 2), try row.string(at: 3))
        if mutation.key != key { report("cache_overlays", name, "its mutation changes its document") }
        if places != (key.collectionPath.canonicalString, key.collectionGroup) {
          report("cache_overlays", name, "its collection and group are those of its document")
        }
        if !mutation.transforms.isEmpty { report("cache_overlays", name, "it holds values and no transforms") }
        if OverlayTable.State(rawValue: try row.int64(at: 5)) == nil {
          report("cache_overlays", name, "it has one of the states")
        }
      }
      return true
    }
    var keysByUser: [MutationQueue.UserRow: Set<DocumentKey>] = [:]
    try database.forEachRow("SELECT user_id, path FROM cache_batch_documents") { row in
      try decoding("cache_batch_documents", (try? row.string(at: 1)) ?? "?") {
        keysByUser[try row.int64(at: 0), default: []]
          .insert(try row.documentKey(at: 1, table: "cache_batch_documents"))
      }
      return true
    }
    for (user, keys) in keysByUser.sorted(by: { $0.key < $1.key }) {
      // Rows that cannot be decoded were reported.
      try decoding("cache_overlays", "of user \(user)") { try checkView(of: keys, user: user) }
    }
  }

  private func checkView(of keys: Set<DocumentKey>, user: MutationQueue.UserRow) throws {
    let remote = try store.tables.localDocuments.remoteDocuments(for: keys)
    let pending = try store.tables.queue.pendingBatchIDs(for: keys.sorted(), user: user)
    let effects = try store.tables.localDocuments.effect(of: pending, on: remote, user: user)
    let view = try store.tables.localDocuments.overlaid(remote, user: user)
    for key in keys.sorted() {
      if let entry = view[key], entry.document.hasLocalMutations {
        report(try store.tables.documents.indexes.violations(ofLocal: entry.document, owner: user))
      }
      guard let expected = effects[key], let actual = view[key], actual.state != .kept else { continue }
      let row = "\(user) \(key.canonicalString)"
      if !Self.isSame(actual.document, expected.document) {
        report("cache_overlays", row, "it shows what the pending batches make of the remote document")
      } else if actual.document.hasLocalMutations, actual.state == .exact, actual.mask != expected.mask {
        report("cache_overlays", row, "it is exact: it changes the fields that the pending batches change")
      }
    }
  }

  private static func isSame(_ a: Document, _ b: Document) -> Bool {
    a.kind == b.kind && a.hasLocalMutations == b.hasLocalMutations && a.hasSameContents(as: b)
  }
}
