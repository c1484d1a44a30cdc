internal import HearthModel
internal import HearthStore

extension SalvagedOutbox {
  /// Stores the outbox in an empty database, under the same batch ids, with the overlays and the base documents that go with it.
  func save(to database: Database, databaseID: DatabaseID) throws {
    let documents = try CacheSchema.migrate(database)
    let globals = CacheGlobals(database: database)
    let queue = MutationQueue(database: database, databaseID: databaseID, globals: globals)
    let overlays = OverlayTable(database: database, databaseID: databaseID)
    let localDocuments = LocalDocuments(documents: documents, queue: queue, overlays: overlays)
    try database.transaction("Save outbox", synchronous: .full) {
      try globals.restore(cacheID: cacheID, highestBatchID: highestBatchID)
      try globals.set(keepingTime)
      var keysByUser: [MutationQueue.UserRow: Set<DocumentKey>] = [:]
      for entry in batches {
        let user = try queue.makeRow(userKey: entry.userKey)
        // The process that waits for the answer may be one that opens the new file only when the answer has come.
        var batch = entry.batch
        batch.keepsOutcome = true
        try queue.insert(batch, user: user)
        keysByUser[user, default: []].formUnion(entry.batch.keys)
      }
      try saveSetAside(to: database, queue)
      try saveRejected(to: database, queue)
      try saveBases(to: database, queue, keysByUser)
      try saveOutcomes(to: database)
      // The marks may be older than the batches: all of them count as sent, also those that a later release puts back into the queue.
      let others = try setAside.compactMap(\.userKey).map { try queue.makeRow(userKey: $0) }
      let last = (batches.map(\.batch.batchID) + setAside.map(\.batchID)).reduce(highestBatchID, max)
      for user in Set(keysByUser.keys).union(others).sorted() {
        try SentMarks(database: database).setMark(last, of: user)
      }
      for (user, keys) in keysByUser.sorted(by: { $0.key < $1.key }) {
        _ = try localDocuments.recalculate(localDocuments.remoteDocuments(for: keys), user: user)
      }
    }
  }

  /// Only for documents with a pending batch. If the oldest batch was lost, the next one takes over its base. If the backend has carried
  /// out the lost batch, the rule compares the two.
  private func saveBases(
    to database: Database, _ queue: MutationQueue, _ keysByUser: [MutationQueue.UserRow: Set<DocumentKey>]
  ) throws {
    let table = BaseDocumentTable(database: database)
    for (number, bases) in bases.sorted(by: { $0.key < $1.key }) {
      guard let user = try userKeys[number].map({ try queue.makeRow(userKey: $0) }) else { continue }
      for (key, base) in bases.sorted(by: { $0.key < $1.key }) where keysByUser[user]?.contains(key) == true {
        try table.set(base, of: key, user: user)
      }
    }
  }

  private func saveSetAside(to database: Database, _ queue: MutationQueue) throws {
    for entry in setAside + setAsideRejected {
      try database.update(
        "INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason) VALUES (?, ?, ?, ?)",
        .integer(entry.batchID), .integer(row(of: entry.userKey, queue)), .blob(entry.bytes), .text(entry.reason))
    }
  }

  /// The row of a user; ``MutationQueue/unknownUser`` if the user is not known.
  private func row(of userKey: String?, _ queue: MutationQueue) throws -> MutationQueue.UserRow {
    try userKey.map { try queue.makeRow(userKey: $0) } ?? MutationQueue.unknownUser
  }

  private func saveRejected(to database: Database, _ queue: MutationQueue) throws {
    for row in rejected {
      try database.update(
        """
        INSERT OR IGNORE INTO cache_rejected_batches
          (batch_id, user_id, batch, code, message, rejected_seconds, rejected_nanos, kept_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        .integer(row.batchID), .integer(self.row(of: row.userKey, queue)), .blob(row.batch), .integer(row.code),
        .text(row.message), .integer(row.seconds), .integer(row.nanoseconds), .integer(row.keptAt))
    }
  }
}
