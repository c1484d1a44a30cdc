#if PostgreSQL
  import Foundation
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Clients carry out transactions on the same lists at once, each call of a transaction at a node of its own. One order of all transactions
  /// has to explain what each has read (``HistoryChecker``).
  ///
  /// `HEARTH_SECONDS` makes a run longer, and `HEARTH_SEED` repeats its choices.
  @Suite(
    "The history of transactions in a cluster",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .serialized, .timeLimit(.minutes(20)))
  struct ClusterSerializabilityTests {
    private static let duration = Duration.seconds(
      ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 4)
    private static let lists = (0..<6).map { "lists/l\($0)" }

    /// The faults that occur during the run.
    enum Trouble: CaseIterable {
      case none
      /// The connections of a node are cut again and again.
      case cutConnections
      /// The PostgreSQL server ends as in a crash, and is started again.
      case restarts
    }

    @Test("is strictly serialisable, whatever goes wrong in the meantime", arguments: Trouble.allCases)
    func history(trouble: Trouble) async throws {
      let seed =
        ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? .random(in: 1..<1_000_000)
      let server = try await PostgresServer.start()
      let history = ListHistory()
      try await ClusterFixture.withCluster(on: server) { cluster in
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        func node(port: Int? = nil) async throws -> ClusterTransactions {
          ClusterTransactions(
            of: try await cluster.node(port: port).storage(), limits: DatabaseLimits(), metrics: nil)
        }
        let nodes = [try await node(), try await node(), try await node(port: proxy.port)]
        let numbers = NumberSource()
        let end = ContinuousClock.now + Self.duration
        let faults = Task { try await Self.make(trouble, until: end, proxy, server) }
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<8 {
            group.addTask { [nodes] in
              var client = Client(name: "client\(number)", nodes: nodes, seed: seed + UInt64(number), numbers: numbers)
              // On a slow machine, longer.
              var committed = 0
              while ContinuousClock.now < end || committed <= 20 {
                await client.step(history)
                committed = await history.committedCount
              }
            }
          }
        }
        try await faults.value
        try await waitUntil { (try? await nodes[0].storage.currentVersion()) != nil }
        var reader = Client(name: "last", nodes: [nodes[0]], seed: seed, numbers: numbers)
        await reader.readAll(Self.lists, history)
      }
      try await server.stop()
      let transactions = await history.transactions
      let findings = HistoryChecker.findings(in: transactions)
      #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5))")
      let counts = [ListTransaction.Outcome.committed, .failed, .unknown].map { outcome in
        transactions.count { $0.outcome == outcome }
      }
      #expect(counts[0] > 20, "seed \(seed): committed, failed, unknown: \(counts)")
      #expect(transactions.last?.reads.values.contains { !$0.isEmpty } == true)
    }

    private static func make(
      _ trouble: Trouble, until end: ContinuousClock.Instant, _ proxy: FaultyProxy, _ server: PostgresServer
    ) async throws {
      while ContinuousClock.now < end {
        switch trouble {
        case .none: return
        case .cutConnections:
          proxy.cutAll()
          try await Task.sleep(for: .milliseconds(60))
        case .restarts:
          try await Task.sleep(for: .milliseconds(700))
          try await server.stop(.immediate)
          try await server.start()
        }
      }
    }

    /// Gives each number once.
    private final class NumberSource: Sendable {
      private let count = Atomic(0)
      func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    /// A client of all nodes.
    private struct Client: Sendable {
      let name: String
      let nodes: [ClusterTransactions]
      var generator: SeededGenerator
      let numbers: NumberSource
      /// The latest transaction; empty for none.
      var latest: [UInt8] = []

      init(name: String, nodes: [ClusterTransactions], seed: UInt64, numbers: NumberSource) {
        (self.name, self.nodes, self.numbers) = (name, nodes, numbers)
        generator = SeededGenerator(seed: seed)
      }

      private mutating func node() -> ClusterTransactions { nodes[generator.below(nodes.count)] }

      mutating func step(_ history: ListHistory) async {
        let lists = Array(ClusterSerializabilityTests.lists.shuffled(using: &generator).prefix(1 + generator.below(3)))
        switch generator.below(10) {
        case 0: await append(to: lists, history)
        case 1: await readAll(lists, history)
        default: await transact(lists, history)
        }
      }

      /// Begins a transaction, which repeats the latest one if that was not committed.
      private mutating func begin() async throws -> [UInt8] {
        let former = latest
        latest = []
        latest = try await node().begin(
          generator.chance(50) ? .pessimistic : .optimistic, repeating: former, at: nil)
        return latest
      }

      /// Reads lists and appends to some of them, in a transaction.
      private mutating func transact(_ lists: [String], _ history: ListHistory) async {
        let began = await history.event()
        var (reads, appends): ([String: [Int]], [String: [Int]]) = ([:], [:])
        var outcome = ListTransaction.Outcome.failed
        do {
          let id = try await begin()
          for list in lists {
            let version = try await node().read(id, keys: [key(list)], query: nil)
            let documents = try await node().storage.documents(for: [key(list)], at: version).documents
            reads[list] = try numbers(in: documents[0])
          }
          if generator.chance(20) {
            // A list that was read before is the same, or the transaction is not committed.
            reads = try await readCollection(id)
          }
          var mutations: [Mutation] = []
          for list in lists where generator.chance(60) {
            let number = numbers.next()
            appends[list] = [number]
            let all = (reads[list] ?? []) + [number]
            mutations.append(.set(key(list), ["all": .array(all.map { .integer(Int64($0)) })]))
          }
          outcome = await commit(mutations, ending: id)
        } catch {
          // It has failed.
        }
        // As clients do: others would wait for its reads.
        if outcome != .committed, !latest.isEmpty { try? await nodes[0].rollback(latest) }
        await add(began, outcome, reads: reads, appends: appends, to: history)
      }

      /// Reads all lists with one query.
      private mutating func readCollection(_ id: [UInt8]) async throws -> [String: [Int]] {
        let query = Query(path: path("lists"))
        let version = try await node().read(id, keys: [], query: query)
        let documents = try await node().storage.run(query, at: version).documents
        var reads = Dictionary(uniqueKeysWithValues: ClusterSerializabilityTests.lists.map { ($0, [Int]()) })
        for document in documents { reads[document.key.canonicalString] = try numbers(in: document) }
        return reads
      }

      private mutating func commit(_ mutations: [Mutation], ending id: [UInt8]) async -> ListTransaction.Outcome {
        do throws(StatusError) {
          _ = try await node().commit(CommitRequest(mutations: mutations), ending: id)
          return .committed
        } catch {
          return error.code == .unavailable ? .unknown : .failed
        }
      }

      /// Appends without a transaction.
      private mutating func append(to lists: [String], _ history: ListHistory) async {
        let began = await history.event()
        var appends: [String: [Int]] = [:]
        var outcome = ListTransaction.Outcome.failed
        let mutations = lists.map { list in
          let number = numbers.next()
          appends[list] = [number]
          return Mutation(
            key: key(list), operation: .patch(.empty, mask: .empty),
            transforms: [FieldTransform(path: field("all"), operation: .arrayUnion([.integer(Int64(number))]))])
        }
        do {
          _ = try await node().storage.commit(CommitRequest(mutations: mutations))
          outcome = .committed
        } catch {
          if error.code == .unavailable { outcome = .unknown }
        }
        await add(began, outcome, reads: [:], appends: appends, to: history)
      }

      /// Reads lists at the present, in one snapshot.
      mutating func readAll(_ lists: [String], _ history: ListHistory) async {
        let began = await history.event()
        let documents = try? await node().storage.documents(for: lists.map { key($0) }, at: nil).documents
        guard let documents, let found = try? documents.map(numbers(in:)) else { return }
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
  }
#endif
