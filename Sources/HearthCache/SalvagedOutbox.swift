internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The pending writes that can still be read in a damaged cache file.
struct SalvagedOutbox {
  struct Entry {
    var userKey: String
    var batch: MutationBatch
  }

  /// In order of batch id.
  private(set) var batches: [Entry] = []
  private(set) var unreadableBatchCount = 0
  /// False when the reading broke off somewhere.
  private(set) var isComplete = true
  /// Empty when it could not be read. Then the new cache gets another name, and batch ids may start over: the backend
  /// knows each batch by its own identity, which is saved with it.
  private(set) var cacheID = ""
  private(set) var highestBatchID: BatchID = 0
  private var userKeys: [Int64: String] = [:]

  /// Reads what can be read. The file is not changed.
  init(reading path: String, databaseID: DatabaseID) {
    var options = Database.Options()
    options.isReadOnly = true
    guard let database = try? Database(.file(path: path), options: options) else {
      isComplete = false
      return
    }
    readGlobals(database)
    readUsers(database)
    readBatches(database, databaseID: databaseID)
    database.close()
  }

  private mutating func readGlobals(_ database: Database) {
    let globals = try? database.firstRow("SELECT cache_id, highest_batch_id FROM cache_globals WHERE id = 1") {
      (try $0.string(at: 0), try $0.int64(at: 1))
    }
    guard let globals, globals.1 >= 0, globals.1 < .max else { return }
    (cacheID, highestBatchID) = globals
  }

  private mutating func readUsers(_ database: Database) {
    do {
      try database.forEachRow("SELECT user_id, user_key FROM cache_users") {
        userKeys[try $0.int64(at: 0)] = try $0.string(at: 1)
        return true
      }
    } catch {
      isComplete = false
    }
  }

  /// Reads the queue from its beginning, and where that breaks off, from its end.
  private mutating func readBatches(_ database: Database, databaseID: DatabaseID) {
    var highestRead: Int64 = -1
    do {
      try database.forEachRow("SELECT batch_id, user_id, batch FROM cache_mutation_batches ORDER BY batch_id") {
        highestRead = try $0.int64(at: 0)
        take($0, databaseID: databaseID)
        return true
      }
    } catch {
      isComplete = false
      try? database.forEachRow(
        "SELECT batch_id, user_id, batch FROM cache_mutation_batches WHERE batch_id > ? ORDER BY batch_id DESC",
        .integer(highestRead)
      ) {
        take($0, databaseID: databaseID)
        return true
      }
      batches.sort { $0.batch.batchID < $1.batch.batchID }
    }
    highestBatchID = max(highestBatchID, batches.last?.batch.batchID ?? 0)
  }

  private mutating func take(_ statement: Statement, databaseID: DatabaseID) {
    guard let batchID = try? statement.int64(at: 0), batchID > 0, batchID < .max,
      let row = try? statement.int64(at: 1), let userKey = userKeys[row],
      let bytes = try? statement.bytes(at: 2),
      let batch = try? CacheCodec.decodeBatch(bytes, database: databaseID), batch.batchID == batchID
    else {
      unreadableBatchCount += 1
      return
    }
    batches.append(Entry(userKey: userKey, batch: batch))
  }

  /// Stores the outbox in an empty database, under the same batch ids, with the overlays that go with it.
  func save(to database: Database, databaseID: DatabaseID) throws {
    try CacheSchema.schema.migrate(database)
    let documents = try DocumentStore(database: database)
    let globals = CacheGlobals(database: database)
    let queue = MutationQueue(database: database, databaseID: databaseID, globals: globals)
    let overlays = OverlayTable(database: database, databaseID: databaseID)
    let localDocuments = LocalDocuments(documents: documents, queue: queue, overlays: overlays)
    try database.transaction("Save outbox", synchronous: .full) {
      try globals.restore(cacheID: cacheID, highestBatchID: highestBatchID)
      var keysByUser: [MutationQueue.UserRow: Set<DocumentKey>] = [:]
      for entry in batches {
        let user = try queue.makeRow(userKey: entry.userKey)
        try queue.insert(entry.batch, user: user)
        keysByUser[user, default: []].formUnion(entry.batch.keys)
      }
      for (user, keys) in keysByUser.sorted(by: { $0.key < $1.key }) {
        _ = try localDocuments.recalculate(localDocuments.remoteDocuments(for: keys), user: user)
      }
    }
  }
}
