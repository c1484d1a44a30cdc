#if PostgreSQL
  internal import HearthHistory
  internal import HearthModel
  internal import HearthRPC
  internal import Synchronization

  /// Carries out transactions of many clients on the same lists at several nodes at once, each call of a transaction at a node of its own, so that
  /// their history can be checked for strict serialisability.
  struct HistoryCheck: Sendable {
    /// The nodes, all with the same database.
    let nodes: [HostedDatabase]
    let clients: Int
    private let numbers = NumberSource()
    let history = ListHistory()

    static let lists = (0..<6).map { "lists/l\($0)" }

    init(nodes: [HostedDatabase], clients: Int) {
      (self.nodes, self.clients) = (nodes, clients)
    }

    /// Gives each number once.
    final class NumberSource: Sendable {
      private let count = Atomic(0)
      func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    /// Lets the clients work until `isOver`, which is asked with the number of transactions that were committed.
    ///
    /// - Parameter random: Gives a client's source of random numbers.
    func run<Random: RandomNumberGenerator & Sendable>(
      random: (Int) -> Random, until isOver: @escaping @Sendable (_ committed: Int) -> Bool
    ) async {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<clients {
          var client = HistoryClient("client\(number)", nodes, numbers, random(number))
          group.addTask { [history] in
            while !isOver(await history.committedCount) { await client.step(history) }
          }
        }
      }
    }

    /// Reads all lists at one node, and gives what contradicts one order of all transactions.
    func findings() async throws -> [HistoryChecker.Finding] {
      var reader = HistoryClient("last", [nodes[0]], numbers, SystemRandomNumberGenerator())
      try await reader.readAll(Self.lists, history)
      return HistoryChecker.findings(in: await history.transactions)
    }
  }

  /// A client of all nodes.
  private struct HistoryClient<Random: RandomNumberGenerator & Sendable>: Sendable {
    private let name: String
    private let nodes: [HostedDatabase]
    private let numbers: HistoryCheck.NumberSource
    private var random: Random
    /// The latest transaction; empty for none.
    private var latest: [UInt8] = []

    init(_ name: String, _ nodes: [HostedDatabase], _ numbers: HistoryCheck.NumberSource, _ random: Random) {
      (self.name, self.nodes, self.numbers, self.random) = (name, nodes, numbers, random)
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    private mutating func node() -> HostedDatabase { nodes[below(nodes.count)] }

    mutating func step(_ history: ListHistory) async {
      let lists = Array(HistoryCheck.lists.shuffled(using: &random).prefix(1 + below(3)))
      switch below(10) {
      case 0: await append(to: lists, history)
      case 1: try? await readAll(lists, history)
      default: await transact(lists, history)
      }
    }

    // MARK: - Transactions

    /// Begins a transaction, which repeats the latest one if that was not committed.
    private mutating func begin() async throws -> [UInt8] {
      let former = latest
      latest = []
      let isolation: TransactionIsolation = below(2) == 0 ? .pessimistic : .optimistic
      latest = try await node().transactions.begin(isolation, repeating: former, at: nil)
      return latest
    }

    /// Reads lists and appends to some of them, in a transaction.
    private mutating func transact(_ lists: [String], _ history: ListHistory) async {
      let began = await history.event()
      var (reads, appends): ([String: [Int]], [String: [Int]]) = ([:], [:])
      var outcome = ListTransaction.Outcome.failed
      do {
        let id = try await begin()
        for list in lists { reads[list] = try await read(list, in: id) }
        // A list that was read before is the same, or the transaction is not committed.
        if below(5) == 0 { reads = try await readCollection(in: id) }
        var mutations: [Mutation] = []
        for list in lists where below(10) < 6 {
          let number = numbers.next()
          appends[list] = [number]
          let all = (reads[list] ?? []) + [number]
          mutations.append(.set(try DocumentKey(parsing: list), ["all": .array(all.map { .integer(Int64($0)) })]))
        }
        outcome = await commit(mutations, ending: id)
      } catch {
        // It has failed.
      }
      // As clients do: others would wait for its reads.
      if outcome != .committed, !latest.isEmpty { try? await nodes[0].transactions.rollback(latest) }
      await add(began, outcome, reads: reads, appends: appends, to: history)
    }

    private mutating func read(_ list: String, in transaction: [UInt8]) async throws -> [Int] {
      let key = try DocumentKey(parsing: list)
      let version = try await node().transactions.read(transaction, keys: [key], query: nil)
      return try await numbers(in: node().storage.documents(for: [key], at: version).documents[0])
    }

    /// Reads all lists with one query.
    private mutating func readCollection(in transaction: [UInt8]) async throws -> [String: [Int]] {
      let query = Query(path: ResourcePath(["lists"]))
      let version = try await node().transactions.read(transaction, keys: [], query: query)
      var reads = Dictionary(uniqueKeysWithValues: HistoryCheck.lists.map { ($0, [Int]()) })
      for document in try await node().storage.all(of: query, at: version) {
        reads[document.key.canonicalString] = try numbers(in: document)
      }
      return reads
    }

    private mutating func commit(_ mutations: [Mutation], ending id: [UInt8]) async -> ListTransaction.Outcome {
      do throws(StatusError) {
        _ = try await node().transactions.commit(CommitRequest(mutations: mutations), ending: id)
        return .committed
      } catch {
        return error.code == .unavailable ? .unknown : .failed
      }
    }

    // MARK: - Other calls

    /// Appends without a transaction.
    private mutating func append(to lists: [String], _ history: ListHistory) async {
      let began = await history.event()
      var appends: [String: [Int]] = [:]
      var outcome = ListTransaction.Outcome.failed
      do {
        var mutations: [Mutation] = []
        let field = try FieldPath(["all"])
        for list in lists {
          let number = numbers.next()
          appends[list] = [number]
          mutations.append(
            Mutation(
              key: try DocumentKey(parsing: list), operation: .patch(.empty, mask: .empty),
              transforms: [FieldTransform(path: field, operation: .arrayUnion([.integer(Int64(number))]))]))
        }
        _ = try await node().storage.commit(CommitRequest(mutations: mutations))
        outcome = .committed
      } catch {
        if (error as? StatusError)?.code == .unavailable { outcome = .unknown }
      }
      await add(began, outcome, reads: [:], appends: appends, to: history)
    }

    /// Reads lists at the present, in one snapshot.
    mutating func readAll(_ lists: [String], _ history: ListHistory) async throws {
      let began = await history.event()
      let documents = try await node().storage.documents(for: try lists.map(DocumentKey.init(parsing:)), at: nil)
        .documents
      let found = try documents.map(numbers(in:))
      await add(
        began, .committed, reads: Dictionary(uniqueKeysWithValues: zip(lists, found)), appends: [:], to: history)
    }

    private func add(
      _ began: UInt64, _ outcome: ListTransaction.Outcome, reads: [String: [Int]], appends: [String: [Int]],
      to history: ListHistory
    ) async {
      await history.add(
        ListTransaction(
          client: name, began: began, ended: await history.event(), outcome: outcome, reads: reads, appends: appends))
    }

    private func numbers(in document: Document) throws -> [Int] {
      guard document.isFound, case .array(let values)? = try document.fields.decoded()["all"] else { return [] }
      return values.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
    }
  }

  extension ServerStorage {
    /// The whole result of a query.
    func all(of query: Query, at version: SnapshotVersion?) async throws(StatusError) -> [Document] {
      var page = try await page(of: query, after: nil, at: version)
      var documents = page.answer.documents
      while let next = page.next {
        page = try await self.page(of: query, after: next, at: page.answer.readVersion)
        documents += page.answer.documents
      }
      return documents
    }
  }
#endif
