#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthWire

  /// A row of `hearth_reads`: a document or a query that a transaction has read.
  struct TransactionRead: Sendable {
    enum Kind: Int16 {
      case document = 1
      case query = 2
    }

    var kind: Kind
    var content: [UInt8]
    /// See ``TransactionReaders``.
    var lockKey: [UInt8]

    /// The same for the same content: what is read again is stored once.
    var hash: [UInt8] { ClusterNames.hash([UInt8(kind.rawValue)] + content) }

    static func all(_ keys: [DocumentKey], _ query: Query?, in database: DatabaseID) -> [TransactionRead] {
      let place = ClusterNames.placeHash(database)
      var reads = Set(keys).sorted().map { key in
        TransactionRead(
          kind: .document, content: Array(key.canonicalString.utf8),
          lockKey: TransactionReaders.lockKey(of: key, in: place))
      }
      if let query {
        let content = CacheCodec.encode(target: query.target, database: database)
        reads.append(
          TransactionRead(kind: .query, content: content, lockKey: TransactionReaders.lockKey(of: query, in: place)))
      }
      return reads
    }

    /// - Parameter rows: The result of ``select``.
    /// - Throws: DATA_LOSS for a row that is not readable.
    static func reads(
      _ rows: PostgresRows, at version: SnapshotVersion, in database: DatabaseID
    ) throws -> TransactionReads {
      var reads = TransactionReads(version: version)
      for row in rows {
        let content = try row.bytes(1)
        switch Kind(rawValue: try row.int16(0)) {
        case .document?:
          guard let text = String(validating: content, as: UTF8.self),
            let key = try? DocumentKey(ResourcePath(canonical: text))
          else { throw damaged }
          reads.keys.insert(key)
        case .query?:
          reads.queries.append(try query(in: content, database))
        case nil: throw damaged
        }
      }
      return reads
    }

    /// The query of a row.
    ///
    /// - Throws: DATA_LOSS for one that is not readable.
    static func query(in content: [UInt8], _ database: DatabaseID) throws -> Query {
      guard let target = try? CacheCodec.decodeTarget(content, database: database) else { throw damaged }
      return target.query
    }

    private static let damaged = StatusError(
      code: .dataLoss, message: "Table hearth_reads: what a transaction has read is not readable.")

    static let select = PostgresStatement(
      "reads of transaction", "SELECT kind, content FROM hearth_reads WHERE transaction = $1", [.bytea])

    static let remove = PostgresStatement(
      "remove reads of transaction", "DELETE FROM hearth_reads WHERE transaction = $1", [.bytea])
  }

  /// The transactions that this node has served lately, for metrics. Those that end elsewhere are forgotten when their time is over.
  struct UsedTransactions {
    private var transactions: [[UInt8]: (reads: Int, time: Int64)] = [:]
    private static let maximumCount = 10_000

    mutating func note(_ id: [UInt8], reads: Int, at time: Int64) {
      guard transactions[id] != nil || transactions.count < Self.maximumCount else { return }
      transactions[id] = (reads, time)
    }

    mutating func forget(_ id: [UInt8]) { transactions[id] = nil }

    mutating func use(since time: Int64) -> TransactionUse {
      transactions = transactions.filter { $0.value.time >= time }
      let reads = transactions.values.map(\.reads)
      return TransactionUse(
        transactions: transactions.count, reads: reads.reduce(0, +), greatestReads: reads.max() ?? 0,
        waitingRequests: 0, greatestWaitingWrites: 0)
    }
  }
#endif
