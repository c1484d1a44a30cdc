#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthWire

  /// A row of `hearth_transactions`.
  struct TransactionRow: Sendable {
    enum State: Int16 {
      case open = 0
      /// Committed, or refused: `outcome` says which.
      case ended = 1
      /// Ended by the server because the database was cleared. Its client does not know yet.
      case aborted = 2
      /// Ended by its client. Another one may repeat it, with its age.
      case rolledBack = 3
      /// Ended by an older commit, see ``WoundWait``. Its client does not know yet.
      case wounded = 4
      /// Its time was over when a commit found it in its way.
      case expired = 5
    }

    var state: State
    /// Nil before its first read.
    var readVersion: SnapshotVersion?
    var readCount: Int64
    /// When it ends, or its outcome is forgotten, in microseconds since 1970.
    var expiry: Int64
    var digest: [UInt8]?
    var outcome: [UInt8]?
    /// The time of the server when the row was read.
    var time: Int64
    /// Its age, and that of its commit.
    var seniority: Seniority

    init(_ row: PostgresRow) throws {
      guard let state = State(rawValue: try row.int16(0)) else {
        throw StatusError(code: .dataLoss, message: "Table hearth_transactions: \(try row.int16(0)) is not a state.")
      }
      self.state = state
      let version = try row.version(1)
      readVersion = version == .none ? nil : version
      readCount = try row.int64(2)
      guard (0...Self.maximumReadCount).contains(readCount) else {
        throw StatusError(code: .dataLoss, message: "Table hearth_transactions: \(readCount) reads.")
      }
      expiry = try row.int64(3)
      digest = try row.optionalBytes(4)
      outcome = try row.optionalBytes(5)
      time = try row.microseconds(6)
      seniority = Seniority(time: try row.int64(7), number: try row.int64(8))
    }

    /// No limit of reads is as high.
    private static let maximumReadCount: Int64 = 1 << 40

    /// The outcome of the commit that has ended it, for one with the same digest; nil if there is none, or it is forgotten.
    func outcome(of digest: [UInt8], at time: Int64) -> [UInt8]? {
      state == .ended && expiry > time && self.digest == digest ? outcome : nil
    }

    private static let columns =
      "state, read_version, read_count, expiry, digest, outcome, clock_timestamp(), seniority_time, seniority_number"

    static let read = PostgresStatement(
      "read transaction", "SELECT \(columns) FROM hearth_transactions WHERE id = $1", [.bytea])

    static let lock = PostgresStatement(
      "lock transaction", "SELECT \(columns) FROM hearth_transactions WHERE id = $1 FOR UPDATE", [.bytea])
  }

  /// A transaction that ends with its commit, or because that was refused.
  struct EndedTransaction {
    let id: [UInt8]
    /// Others may wait for its end.
    let isPessimistic: Bool
    private let digest: [UInt8]
    private let expiry: Int64
    private let result: Result<CommitOutcome, StatusError>

    /// Outcomes are remembered for this time.
    static let outcomeMicroseconds: Int64 = 60_000_000

    /// - Returns: Nil after a failure that leaves the transaction open.
    init?(_ end: TransactionEnd, _ result: Result<CommitOutcome, StatusError>, at time: Int64) {
      if case .failure(let error) = result, Self.leavesOpen.contains(error.code) { return nil }
      (id, isPessimistic, digest, self.result) = (end.id, end.isPessimistic, end.digest, result)
      expiry = time + Self.outcomeMicroseconds
    }

    /// Trouble of the server for a while. The commit has changed nothing, and may be tried again.
    private static let leavesOpen: Set<StatusCode> = [.unavailable, .resourceExhausted, .internal, .cancelled]

    /// The result for a further commit of the transaction.
    func result(of digest: [UInt8]) -> Result<CommitOutcome, StatusError> {
      digest == self.digest ? result : .failure(.transactionClosed)
    }

    /// The row of the transaction is changed before its reads, as everywhere.
    func calls(by translator: WireTranslator) throws -> [PostgresCall] {
      let bytes = try Self.bytes(of: result, by: translator)
      // What is committed is not repeated, so its age goes to nobody.
      let isRepeatable = if case .failure = result { true } else { false }
      let end = Self.end.call(.bytea(id), .int8(expiry), .bytea(digest), .bytea(bytes), .bool(isRepeatable))
      // The look for readers passes over those of ended transactions, and they would become many.
      return isPessimistic ? [end, TransactionRead.remove.call(.bytea(id))] : [end]
    }

    private static let end = PostgresStatement(
      "end transaction",
      """
      UPDATE hearth_transactions SET state = 1, expiry = $2, digest = $3, outcome = $4,
        seniority_time = CASE WHEN $5 THEN seniority_time ELSE 0 END
      WHERE id = $1
      """, [.bytea, .int8, .bytea, .bytea, .bool])

    // MARK: - Outcomes as they are stored

    private enum Format {
      static let success: UInt8 = 1
      static let failure: UInt8 = 2
    }

    private static func bytes(
      of result: Result<CommitOutcome, StatusError>, by translator: WireTranslator
    ) throws -> [UInt8] {
      switch result {
      case .success(let outcome): [Format.success] + (try outcome.encoded(by: translator))
      case .failure(let error): [Format.failure, UInt8(error.code.rawValue)] + Array(error.message.utf8)
      }
    }

    static func result(of bytes: [UInt8], by translator: WireTranslator) throws -> Result<CommitOutcome, StatusError> {
      switch bytes.first {
      case Format.success: return .success(try CommitOutcome(encoded: Array(bytes.dropFirst()), by: translator))
      case Format.failure:
        guard bytes.count >= 2, let code = StatusCode(rawValue: Int(bytes[1])) else { break }
        return .failure(StatusError(code: code, message: String(decoding: bytes.dropFirst(2), as: UTF8.self)))
      default: break
      }
      throw StatusError(code: .dataLoss, message: "Table hearth_transactions: an outcome is not readable.")
    }
  }
#endif
