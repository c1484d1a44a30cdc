internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The pending batches of the queue, and batches that were set aside before.
extension SalvagedOutbox {
  /// Numbers that no use of a cache can have given to a batch are damage, and nothing is counted from them.
  static func isBatchID(_ number: Int64) -> Bool { number > 0 && number < CountedNumber.limit }

  /// The bytes of a batch keep what they are where damage has made a text of the column.
  private static let bytes = "CAST(batch AS BLOB)"

  mutating func readQueue(_ database: Database) {
    let select = "SELECT batch_id, user_id, \(Self.bytes) FROM cache_mutation_batches NOT INDEXED"
    let isWhole = scanAround(database, select, named: Set(witnesses.keys)) { outbox, row in outbox.take(row) }
    if !isWhole { isComplete = false }
  }

  private mutating func take(_ row: Statement) {
    guard let batchID = try? row.int64(at: 0) else {
      lostBatchCount += 1
      return
    }
    let user = try? row.int64(at: 1)
    let bytes = (try? row.bytes(at: 2)) ?? []
    guard Self.isBatchID(batchID) else {
      let userKey = user.flatMap { userKeys[$0] }
      return keep(batchID, userKey, bytes, "the batch has the number \(batchID), which no batch is given")
    }
    guard !seen.contains(batchID) else { return }
    take(batchID, user: user, bytes)
  }

  private mutating func take(_ batchID: BatchID, user: UserRow?, _ bytes: [UInt8]) {
    seen.insert(batchID)
    let batch = Result { try decode(bytes, batchID) }
    if let batch = try? batch.get(), isAnswered(batch) { return }
    guard witnesses[batchID] != nil || !areWitnessesComplete else {
      return keep(batchID, nil, bytes, "it may have been answered before: no index names it")
    }
    guard let userKey = owner(of: batchID, row: user).flatMap({ userKeys[$0] }) else {
      return keep(batchID, nil, bytes, "its user is not known")
    }
    do {
      batches.append(Entry(userKey: userKey, batch: try batch.get()))
    } catch {
      keep(batchID, userKey, bytes, "\(error)")
    }
  }

  /// Returns true if the file has the outcome of a batch, or its refusal.
  private func isAnswered(_ batch: MutationBatch) -> Bool {
    guard let identity = batch.identity else { return false }
    return outcomes[OutcomeTable.number(of: identity)]?.identity == identity || rejectedIdentities.contains(identity)
  }

  /// Keeps a batch that is not to be sent, if anything of it is left.
  private mutating func keep(_ batchID: BatchID, _ userKey: String?, _ bytes: [UInt8], _ reason: String) {
    guard !bytes.isEmpty else {
      lostBatchCount += 1
      return
    }
    setAside.append(SetAsideEntry(batchID: batchID, userKey: userKey, bytes: bytes, reason: reason))
  }

  func decode(_ bytes: [UInt8], _ batchID: BatchID) throws -> MutationBatch {
    let batch = try CacheCodec.decodeBatch(bytes, database: databaseID)
    guard batch.batchID == batchID else {
      throw CacheError.unreadableBatch(batchID, reason: "the batch inside says id \(batch.batchID)")
    }
    return batch
  }

  /// Looks through the pages of the file for batches that exist and were not found.
  mutating func readMissingBatches(of path: String) {
    let missing = Set(witnesses.keys).subtracting(seen)
    guard !missing.isEmpty else { return }
    isComplete = false
    for row in DatabaseLeaves.rows(in: path, numbers: missing) where row.columns.count >= 3 {
      guard !seen.contains(row.number), case .integer(let user) = row.columns[1],
        witnesses[row.number]?.users.contains(user) == true, owner(of: row.number, row: user) == user,
        case .blob(let bytes) = row.columns[2], (try? decode(bytes, row.number)) != nil
      else { continue }
      take(row.number, user: user, bytes)
    }
  }

  /// Takes pending batches that could not be read from an older state of the file: their rows lay elsewhere before the lost page was made.
  mutating func takeLost(from older: SalvagedOutbox) {
    for entry in older.batches {
      let batchID = entry.batch.batchID
      guard !seen.contains(batchID), witnesses[batchID] != nil, !isAnswered(entry.batch),
        let user = owner(of: batchID, row: nil), userKeys[user] == entry.userKey
      else { continue }
      seen.insert(batchID)
      lostBatchCount -= 1
      batches.append(entry)
    }
    batches.sort { $0.batch.batchID < $1.batch.batchID }
  }

  // MARK: - Batches that were set aside before

  /// Puts batches that can be read by now back into the queue of their user, as at each start. A batch without a user is never sent.
  mutating func readSetAside(_ database: Database) {
    let select = "SELECT batch_id, user_id, \(Self.bytes), reason FROM cache_unreadable_batches"
    let isWhole = scanAround(database, select) { outbox, row in
      let (user, reason) = (try? row.int64(at: 1), try? row.string(at: 3))
      if user != nil, reason != nil { outbox.setAsideRowCount += 1 }
      let bytes = (try? row.bytes(at: 2)) ?? []
      let batchID = (try? row.int64(at: 0)) ?? 0
      let batch = Self.isBatchID(batchID) ? try? outbox.decode(bytes, batchID) : nil
      if let batch, outbox.isAnswered(batch) { return }
      let owner = user.flatMap { $0 > 0 ? outbox.owner(of: batchID, row: $0) : nil }
      let userKey = owner.flatMap { outbox.userKeys[$0] }
      if let userKey, let batch, outbox.seen.insert(batchID).inserted {
        outbox.batches.append(Entry(userKey: userKey, batch: batch))
      } else {
        outbox.keep(batchID, userKey, bytes, reason ?? "it was set aside before")
      }
    }
    if !isWhole { isComplete = false }
  }

  // MARK: - Refused batches

  mutating func readRejected(_ database: Database) {
    let select = """
      SELECT batch_id, user_id, \(Self.bytes), code, message, rejected_seconds, rejected_nanos, kept_at
      FROM cache_rejected_batches
      """
    isRejectedComplete = scanAround(database, select) { outbox, row in
      guard let batchID = try? row.int64(at: 0), let bytes = try? row.bytes(at: 2), !bytes.isEmpty else {
        outbox.lostRejectedCount += 1
        return
      }
      let batch = try? outbox.decode(bytes, batchID)
      if let identity = batch?.identity { outbox.rejectedIdentities.insert(identity) }
      guard batch != nil, let code = try? row.int64(at: 3),
        let message = try? row.string(at: 4), let seconds = try? row.int64(at: 5),
        let nanoseconds = try? row.int64(at: 6)
      else {
        // Without its user, or the next start would put it back into the queue if it can be read.
        outbox.setAsideRejected.append(
          SetAsideEntry(batchID: batchID, userKey: nil, bytes: bytes, reason: RejectedBatchTable.damagedReason))
        return
      }
      outbox.rejected.append(
        RejectedRow(
          batchID: batchID, userKey: (try? row.int64(at: 1)).flatMap { outbox.userKeys[$0] }, batch: bytes,
          code: code, message: message, seconds: seconds, nanoseconds: nanoseconds,
          keptAt: outbox.keptAt(row, 7)))
    }
  }

  // MARK: - Reading damaged tables

  /// So many numbers of a gap are looked up.
  private static let gapLimit: Int64 = 50_000

  /// Reads a table of batches from its beginning, where that breaks off from its end, and looks up by their numbers the rows that may lie
  /// between. `body` gets each row once.
  ///
  /// - Parameters:
  ///   - select: Its first column is `batch_id`.
  ///   - named: Batches that are known from elsewhere.
  /// - Returns: True if all could be read.
  private mutating func scanAround(
    _ database: Database, _ select: String, named: Set<BatchID> = [],
    _ body: (inout SalvagedOutbox, Statement) -> Void
  ) -> Bool {
    var (low, high) = (Int64(0), Int64.max)
    var found: Set<Int64> = []
    func isNew(_ row: Statement) -> Bool {
      guard let number = try? row.int64(at: 0) else { return true }
      return found.insert(number).inserted
    }
    let isWhole = scan(database, "\(select) ORDER BY batch_id") { outbox, row in
      if let number = try? row.int64(at: 0), Self.isBatchID(number) { low = number }
      if isNew(row) { body(&outbox, row) }
    }
    guard !isWhole else { return true }
    scan(database, "\(select) WHERE batch_id > \(low) ORDER BY batch_id DESC") { outbox, row in
      if let number = try? row.int64(at: 0), Self.isBatchID(number) { high = number }
      if isNew(row) { body(&outbox, row) }
    }
    let end = min(high, max(highestBatchID, named.max() ?? 0) + 1)
    var candidates = named
    if end > low { candidates.formUnion(low..<min(end, low + Self.gapLimit)) }
    for batchID in candidates.subtracting(found).sorted() {
      scan(database, "\(select) WHERE batch_id = \(batchID)") { outbox, row in
        if isNew(row) { body(&outbox, row) }
      }
    }
    return false
  }
}
