internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The outcomes of writes with a receipt. Without them a committed write would look to an application as if it had never been made.
extension SalvagedOutbox {
  /// A row of the outcomes that can be read.
  struct OutcomeRow {
    var identity: BatchIdentity
    /// By the cache's own scale.
    var keptAt: Int64
    var code: Int64
    var message: String
    var result: [UInt8]
  }

  /// From the beginning of the table, and if that breaks off from its end.
  mutating func readOutcomes(_ database: Database) {
    let select = "SELECT number, identity, kept_at, code, message, result FROM cache_write_outcomes"
    for order in ["ASC", "DESC"] {
      let isWhole = scan(database, "\(select) ORDER BY number \(order)") { outbox, row in
        guard let number = try? row.int64(at: 0), let outcome = outbox.outcome(row),
          OutcomeTable.number(of: outcome.identity) == number
        else { return }
        outbox.outcomes[number] = outcome
      }
      if isWhole { return }
    }
  }

  private func outcome(_ row: Statement) -> OutcomeRow? {
    guard let bytes = try? row.bytes(at: 1), let identity = BatchIdentity(bytes: bytes),
      let code = try? row.int64(at: 3), let message = try? row.string(at: 4), let result = try? row.bytes(at: 5)
    else { return nil }
    if code == 0 {
      guard (try? CacheCodec.decodeCommit(result, database: databaseID)) != nil else { return nil }
    } else {
      guard Int(exactly: code).flatMap(StatusCode.init(rawValue:)) != nil else { return nil }
    }
    return OutcomeRow(identity: identity, keptAt: keptAt(row, 2), code: code, message: message, result: result)
  }

  /// The time from which a row ages; now where the column does not say one, as after a repair.
  func keptAt(_ row: Statement, _ column: Int) -> Int64 {
    guard let time = try? row.int64(at: column), CountedNumber.bases.contains(time) else { return keepingTime.seconds }
    return time
  }

  func saveOutcomes(to database: Database) throws {
    for (number, row) in outcomes.sorted(by: { $0.key < $1.key }) {
      try database.update(
        """
        INSERT INTO cache_write_outcomes (number, identity, kept_at, code, message, result) VALUES (?, ?, ?, ?, ?, ?)
        """, .integer(number), .blob(row.identity.bytes), .integer(row.keptAt), .integer(row.code), .text(row.message),
        .blob(row.result))
    }
  }
}
