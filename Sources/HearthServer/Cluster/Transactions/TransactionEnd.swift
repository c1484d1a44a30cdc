#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthWire

  /// A transaction that a commit ends.
  struct TransactionEnd: Sendable {
    let id: [UInt8]
    /// Others do not change what it has read. If they have, its row says so.
    let isPessimistic: Bool
    /// See ``TransactionID/era``.
    let era: Int64
    /// The digest of the writes: a repeated commit has the same.
    let digest: [UInt8]
    /// Nil for a pessimistic one, and for one that has read nothing.
    var check: ClusterReadCheck?

    init(_ bytes: [UInt8], _ id: TransactionID, digest: [UInt8]) {
      self.id = bytes
      isPessimistic = id.isolation == .pessimistic
      era = id.era
      self.digest = digest
    }

    /// The calls that read the transaction under the lock of the database.
    func calls(in database: Int64) -> [PostgresCall] {
      [TransactionRow.lock.call(.bytea(id)), TransactionEra.call] + (check.map { [$0.call(in: database)] } ?? [])
    }

    /// Keeps a transaction alive whose commit waits. Does nothing if it has ended.
    func extendLease(by duration: Duration, _ clock: ClusterClock, on session: PostgresSession) throws {
      let time = try clock.leaseTime(on: session)
      _ = try session.run(Self.extend.call(.bytea(id), .int8(time + duration.microseconds), .int8(time)))
    }

    private static let extend = PostgresStatement(
      "extend lease",
      """
      UPDATE hearth_transactions SET expiry = greatest(expiry, $2) WHERE id = $1 AND state = 0 AND expiry > $3
      """, [.bytea, .int8, .int8])
  }

  /// The findings, under the lock of the database, about the transactions that the commits of a group end.
  struct TransactionFindings {
    private struct Finding {
      /// Nil if there is none.
      var row: TransactionRow?
      /// See ``TransactionEra``.
      var era: Int64?
      var verdict: ClusterReadCheck.Verdict
    }

    enum Verdict {
      /// Its commit may go on, and is as old as this.
      case open(Seniority)
      /// It has ended with the same commit before, or with another one.
      case ended(Result<CommitOutcome, StatusError>)
      /// Too much was written since its reads were checked.
      case unchecked
    }

    private var findings: [[UInt8]: Finding] = [:]

    /// - Parameters:
    ///   - results: The results of ``TransactionEnd/calls(in:)``.
    ///   - logStart: The log of the database is complete after this version.
    mutating func note(_ end: TransactionEnd, _ results: [PostgresRows], logStart: SnapshotVersion) throws {
      var finding = Finding(
        row: try results[0].first.map(TransactionRow.init), era: try TransactionEra.number(results[1]), verdict: .holds)
      if let check = end.check, results.count > 2 {
        finding.verdict = check.verdict(on: try results[2].map(ChangeRow.init), logStart: logStart)
      }
      findings[end.id] = finding
    }

    /// - Parameters:
    ///   - evaluation: The changes by the earlier commits of the group.
    ///   - time: The present time, in microseconds since 1970.
    /// - Throws: ABORTED for a conflict.
    func verdict(
      on end: TransactionEnd, beside evaluation: GroupEvaluation, at time: Int64,
      translator: WireTranslator
    ) throws -> Verdict {
      guard let finding = findings[end.id], finding.era == end.era else { return .ended(.failure(.transactionLost)) }
      guard let row = finding.row else { return .ended(.failure(.transactionClosed)) }
      switch row.state {
      case .open where row.expiry <= time: return .ended(.failure(.transactionExpired))
      case .open: break
      case .aborted: return .ended(.failure(.transactionAborted))
      case .wounded: return .ended(.failure(.transactionWounded))
      case .expired: return .ended(.failure(.transactionExpired))
      case .rolledBack: return .ended(.failure(.transactionClosed))
      case .ended:
        guard let outcome = row.outcome(of: end.digest, at: time) else { return .ended(.failure(.transactionClosed)) }
        return .ended(try EndedTransaction.result(of: outcome, by: translator))
      }
      guard let check = end.check else { return .open(row.seniority) }
      if finding.verdict == .conflict || check.isBroken(by: evaluation.net.values) {
        throw StatusError.transactionConflict
      }
      return finding.verdict == .unfinished ? .unchecked : .open(row.seniority)
    }
  }

  extension StatusError {
    static let transactionExpired = StatusError(
      code: .invalidArgument, message: "The referenced transaction has expired or is no longer valid.")
    static let transactionClosed = StatusError(code: .invalidArgument, message: "Transaction is invalid or closed.")
    static let transactionAborted = StatusError(
      code: .aborted, message: "The transaction was aborted because the database was cleared. Please try again.")
    static let transactionWounded = StatusError(
      code: .aborted, message: "Too much contention on these documents. Please try again.")
    static let transactionLost = StatusError(
      code: .aborted, message: "The transaction was aborted because the database was restarted. Please try again.")
  }
#endif
