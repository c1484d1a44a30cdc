#if PostgreSQL
  import Dispatch
  import HearthModel
  import HearthPostgres
  import HearthRPC
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Senders of reads in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterFairnessTests {
    @Test("the many slow reads of one sender keep no other sender waiting, and the node follows the others and serves")
    func slowReads() async throws {
      try await ClusterFixture.withCluster { cluster in
        var hooks = ClusterEngine.Hooks()
        hooks.sendsHints = false
        let (node, other) = (try await cluster.served(hooks: hooks), try await cluster.node().storage())
        try await node.storage.set("c/a", ["n": 1.value])
        let engine = node.storage.engine
        var listener = Listener(node)
        _ = try await listener.add(Query(path: path("c")))
        let end = DispatchSemaphore(value: 0)
        let slow = (0..<40).map { _ in
          Task {
            try await CallSender.$current.withValue("a") {
              // As a scan of a large collection that finds nothing.
              try await engine.repeating(on: engine.reads, deadline: .now + .seconds(300)) { _ in end.wait() }
            }
          }
        }
        // The listener's last read may still hold a session.
        try await waitUntil { engine.reads.use.waiting == 38 && engine.reads.use.busy == 2 }
        for number in 0..<10 {
          let version = try await other.set("c/a", ["n": number.value])
          try await waitUntil { node.feed.latestVersion >= version }
          let found = try await CallSender.$current.withValue("b") { try await node.storage.number("c/a") }
          #expect(found == Int64(number))
          #expect(engine.availability.isAvailable)
        }
        #expect(engine.reads.use.waiting == 38)
        for _ in slow { end.signal() }
        for task in slow { try await task.value }
      }
    }
  }
#endif
