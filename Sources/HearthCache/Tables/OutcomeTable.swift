internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The outcomes of writes with a receipt, and of writes of other clients, which may hear of them in no other way. Each is kept under the
/// identity of its batch, for a limited time.
struct OutcomeTable {
  let database: Database
  let databaseID: DatabaseID

  /// Outcomes are kept for this time of the cache's own scale (`KeepingTime`),
  static let maximumAgeSeconds: Int64 = 30 * 24 * 3600
  /// and at most this many of them, the oldest go first.
  static let maximumCount: Int64 = 10_000
  /// One of so many insertions looks for old rows, which reads the whole table.
  private static let insertionsPerTrimming: Int64 = 256

  /// Outcomes that are only for another client are kept for this time, and go before all others.
  private static let briefAgeSeconds: Int64 = 24 * 3600

  /// - Parameters:
  ///   - time: The device's time.
  ///   - isBrief: True for the outcome of a write without a receipt.
  func insert(
    _ outcome: WriteOutcome, for identity: BatchIdentity, at time: Timestamp, isBrief: Bool = false,
    _ globals: CacheGlobals
  ) throws {
    assert(database.isInWriteTransaction, "an outcome changes outside of a write transaction")
    let code: Int64
    var message = ""
    var result: [UInt8] = []
    switch outcome {
    case .committed(let version, let results, _):
      code = 0
      result = try CacheCodec.encode(commit: version, results: results, database: databaseID)
    case .failed(let error):
      code = Int64(error.code.rawValue)
      message = error.message
    }
    let now = try globals.keepingTime(at: time)
    // In a young cache before its scale begins: also among themselves they are in order.
    let keptAt = isBrief ? now - Self.maximumAgeSeconds + Self.briefAgeSeconds : now
    try database.update(
      """
      INSERT OR REPLACE INTO cache_write_outcomes (number, identity, kept_at, code, message, result)
      VALUES (?, ?, ?, ?, ?, ?)
      """, .integer(Self.number(of: identity)),
      .blob(identity.bytes), .integer(keptAt), .integer(code), .text(message), .blob(result))
    guard Self.number(of: identity) % Self.insertionsPerTrimming == 0 else { return }
    try database.update(
      """
      DELETE FROM cache_write_outcomes WHERE kept_at < ?1 OR number IN (
        SELECT number FROM cache_write_outcomes ORDER BY kept_at DESC, number LIMIT -1 OFFSET ?2)
      """, .integer(now &- Self.maximumAgeSeconds), .integer(Self.maximumCount))
  }

  /// Takes what comes from documents out of some rows: the results of transforms, and the messages of errors, which may name documents. Whether
  /// each write was committed stays known.
  ///
  /// - Parameter position: The number with which it begins; nil at the beginning.
  /// - Returns: The position to continue from; nil at the end.
  func removeContents(from position: Int64?, limit: Int) throws -> Int64? {
    assert(database.isInWriteTransaction, "an outcome changes outside of a write transaction")
    var rows: [(number: Int64, outcome: WriteOutcome?)] = []
    try database.forEachRow(
      "\(Self.select) WHERE number >= ? ORDER BY number LIMIT ?", .integer(position ?? .min), .integer(Int64(limit))
    ) { row in
      rows.append((try row.int64(at: 0), try? decode(row)))
      return true
    }
    for row in rows {
      switch row.outcome {
      case .committed(let version, let results, _) where results.contains { !$0.transformResults.isEmpty }:
        let result = try CacheCodec.encode(commit: version, results: [], database: databaseID)
        try database.update(
          "UPDATE cache_write_outcomes SET result = ? WHERE number = ?", .blob(result), .integer(row.number))
      case .failed(let error) where !error.message.isEmpty:
        try database.update("UPDATE cache_write_outcomes SET message = '' WHERE number = ?", .integer(row.number))
      case .committed, .failed: break
      case nil: try database.update("DELETE FROM cache_write_outcomes WHERE number = ?", .integer(row.number))
      }
    }
    return rows.count < limit ? nil : rows.last.flatMap { $0.number == .max ? nil : $0.number + 1 }
  }

  /// Identities are drawn at random, so half of one is enough to find it.
  static func number(of identity: BatchIdentity) -> Int64 { Int64(bitPattern: identity.low) }

  /// The outcome of the write, if it is known.
  func outcome(of identity: BatchIdentity) throws -> WriteOutcome? {
    try database.firstRow(
      "\(Self.select) WHERE number = ? AND identity = ?", .integer(Self.number(of: identity)), .blob(identity.bytes),
      body: decode)
  }

  /// The numbers of the rows that cannot be read.
  func unreadable() throws -> [Int64] {
    var unreadable: [Int64] = []
    try database.forEachRow(Self.select) { row in
      if (try? decode(row)) == nil { unreadable.append(try row.int64(at: 0)) }
      return true
    }
    return unreadable
  }

  private static let select = "SELECT number, code, message, result FROM cache_write_outcomes"

  private func decode(_ row: Statement) throws -> WriteOutcome {
    let number = try row.int64(at: 0)
    func damage(_ reason: String) -> CacheError {
      .corruptRecord(table: "cache_write_outcomes", row: "\(number)", reason: reason)
    }
    if let error = try row.statusError(code: 1, message: 2, damage) { return .failed(error) }
    do {
      let (version, results) = try CacheCodec.decodeCommit(row.bytes(at: 3), database: databaseID)
      return .committed(version, results)
    } catch let error as WireError {
      throw damage(error.description)
    }
  }
}

extension Statement {
  /// Reads an error from its code and its message; nil for code 0.
  func statusError(code: Int, message: Int, _ damage: (String) -> CacheError) throws -> StatusError? {
    let number = try int64(at: code)
    if number == 0 { return nil }
    guard let status = Int(exactly: number).flatMap(StatusCode.init(rawValue:)) else {
      throw damage("\(number) is not a status code")
    }
    return StatusError(code: status, message: try string(at: message))
  }
}
