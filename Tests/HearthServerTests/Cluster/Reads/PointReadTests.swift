#if PostgreSQL
  import Dispatch
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Reads of single documents in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct PointReadTests {
    /// Runs `body` while all sessions for reads of a node are in use. They are free when it calls what it is given, or returns.
    private func withoutSessions<Result>(
      _ storage: ClusterStorage, _ body: (_ free: @escaping @Sendable () -> Void) async throws -> Result
    ) async throws -> Result {
      let engine = storage.engine
      let ends = (0..<3).map { _ in DispatchSemaphore(value: 0) }
      let holders = ends.enumerated().map { number, end in
        Task {
          try await CallSender.$current.withValue("holder \(number)") {
            try await engine.repeating(on: engine.reads, deadline: .now + .seconds(300)) { _ in end.wait() }
          }
        }
      }
      try await waitUntil { engine.reads.use.busy == 3 }
      let free: @Sendable () -> Void = { for end in ends { end.signal() } }
      defer { free() }
      let result = try await body(free)
      free()
      for holder in holders { try await holder.value }
      return result
    }

    /// Reads documents at the same time, and waits until all but two wait for the next statement.
    private func reads(_ paths: [String], _ storage: ClusterStorage) async throws -> [Task<Document, any Error>] {
      let reads = paths.map { path in Task { try await storage.document(path) } }
      try await waitUntil {
        storage.pointReads.waitingCount == paths.count - 2 && storage.engine.reads.use.waiting == 2
      }
      #expect(storage.use().waitingReads == paths.count)
      return reads
    }

    @Test("many at once wait for two statements, and each gets its own document, of whatever size, or none")
    func shared() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        let text = String(repeating: "x", count: 50_000)
        for number in 0..<40 { try await storage.set("c/\(number)", ["n": number.value, "text": .string(text)]) }
        let found = try await withoutSessions(storage) { free in
          let reads = try await reads((0..<150).map { "c/\($0 % 50)" }, storage)
          free()
          var documents: [Document] = []
          for read in reads { documents.append(try await read.value) }
          return documents
        }
        for (number, document) in found.enumerated() {
          #expect(document.key == key("c/\(number % 50)"))
          #expect(document.isFound == (number % 50 < 40))
          if document.isFound { #expect(try document.fields.decoded()["n"] == (number % 50).value) }
        }
        #expect(storage.use().waitingReads == 0)
      }
    }

    @Test("each sees what was committed before it, among many others")
    func fresh() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (storage, other) = (try await cluster.node().storage(), try await cluster.node().storage())
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<12 {
            group.addTask {
              for number in 0..<20 {
                try await (task.isMultiple(of: 2) ? storage : other).set("c/\(task)", ["n": number.value])
                #expect(try await storage.number("c/\(task)") == Int64(number))
              }
            }
          }
          try await group.waitForAll()
        }
      }
    }

    @Test("a cancelled one ends at once, and the others go on")
    func cancelled() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/a", ["n": 1.value])
        try await withoutSessions(storage) { free in
          let reads = try await reads(Array(repeating: "c/a", count: 10), storage)
          for read in reads[0..<5] { read.cancel() }
          for read in reads[0..<5] {
            #expect(await #expect(throws: StatusError.self) { try await read.value }?.code == .cancelled)
          }
          free()
          for read in reads[5...] { #expect(try await read.value.isFound) }
        }
        #expect(try await storage.number("c/a") == 1)
      }
    }

    @Test("a damaged document fails those who read it, and nobody who reads another one at the same time")
    func damaged() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        for id in ["a", "b", "d"] { try await storage.set("c/\(id)", ["n": 1.value]) }
        try await cluster.execute(
          "UPDATE hearth_documents SET fields = '\\xff'::bytea WHERE right(encode(id, 'hex'), 2) = '62'")
        try await withoutSessions(storage) { free in
          let reads = try await reads(["c/a", "c/a", "c/a", "c/b", "c/d", "c/b"], storage)
          free()
          for (number, read) in reads.enumerated() where ![3, 5].contains(number) {
            #expect(try await read.value.isFound)
          }
          for number in [3, 5] {
            #expect(await #expect(throws: StatusError.self) { try await reads[number].value }?.code == .dataLoss)
          }
        }
      }
    }

    @Test("those that wait fail when the node ends")
    func closed() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await withoutSessions(storage) { free in
          let reads = try await reads(Array(repeating: "c/a", count: 5), storage)
          await storage.close()
          async let ended: Void = storage.engine.close()
          for read in reads {
            #expect(await #expect(throws: StatusError.self) { try await read.value }?.code == .unavailable)
          }
          free()
          await ended
        }
      }
    }
  }
#endif
