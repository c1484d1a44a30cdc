#if PostgreSQL
  import Dispatch
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "The order of a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterOrderTests {
    private static let writers = 4
    private static let commitsPerWriter = 25

    /// Every reader of a version sees what any later reader of it sees, whichever nodes commit in between.
    @Test("nothing appears below a version that was read, on whatever node")
    func noHoles() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storages = try await cluster.storages(3)
        try await storages[0].set("c/first")
        let (versions, reads) = try await withThrowingTaskGroup(of: [SnapshotVersion].self) { group in
          for writer in 0..<Self.writers {
            let storage = storages[writer % storages.count]
            group.addTask {
              var versions: [SnapshotVersion] = []
              for number in 0..<Self.commitsPerWriter {
                versions.append(try await storage.commit(.set(key("c/\(writer)-\(number)"), [:]), increment("c/sum")))
              }
              return versions
            }
          }
          // A read that is cancelled says nothing.
          let reader = Task {
            var counts: [SnapshotVersion: Int64] = [:]
            while !Task.isCancelled {
              for storage in storages {
                guard let version = try? await storage.currentVersion() else { continue }
                counts[version] = try? await cluster.changeCount(through: version)
              }
            }
            return counts
          }
          var all: [SnapshotVersion] = []
          while let versions = try await group.next() { all += versions }
          reader.cancel()
          return (all, await reader.value)
        }
        #expect(Set(versions).count == Self.writers * Self.commitsPerWriter)
        #expect(!reads.isEmpty)
        for (version, count) in reads { #expect(try await cluster.changeCount(through: version) == count) }
        #expect(try await storages[1].number("c/sum") == Int64(Self.writers * Self.commitsPerWriter))
      }
    }

    @Test("a commit that is acknowledged on one node has a lower version than any that begins later on another")
    func realTime() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storages = try await cluster.storages(3)
        var latest = SnapshotVersion.none
        for number in 0..<60 {
          let version = try await storages[number % 3].commit(increment("c/n"))
          #expect(version > latest)
          #expect(try await storages[(number + 1) % 3].number("c/n") == Int64(number + 1))
          latest = version
        }
      }
    }

    @Test("versions rise although the clocks of the nodes differ and go back")
    func clocks() async throws {
      let (ahead, behind) = (ManualClock(), ManualClock())
      ahead.advance(seconds: 3_600)
      try await ClusterFixture.withCluster(clock: behind) { cluster in
        let one = try await cluster.node().storage()
        let two = try await cluster.node(clock: ahead.clock).storage()
        var versions: [SnapshotVersion] = []
        for number in 0..<6 {
          versions.append(try await one.commit(increment("c/n")))
          versions.append(try await two.commit(increment("c/n")))
          if number == 3 { ahead.advance(seconds: -7_200) }
        }
        #expect(versions == versions.sorted() && Set(versions).count == versions.count)
      }
    }

    @Test("a version that was given out for a read stays what it is")
    func reservedVersions() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let storages = try await cluster.storages(2)
        try await storages[0].set("c/a", ["n": 1.value])
        clock.advance(seconds: 10)
        let read = try await storages[1].snapshot(at: Timestamp(microseconds: clock.now))
        #expect(try await storages[0].set("c/a", ["n": 2.value]) > read)
        let document = try await storages[0].documents(for: [key("c/a")], at: read).documents[0]
        #expect(try document.fields.decoded()["n"] == .integer(1))
        await #expect(throws: StatusError.self) {
          try await storages[0].snapshot(at: Timestamp(microseconds: clock.now + 1_000_000))
        }
      }
    }

    @Test("the same labelled request at two nodes at once is carried out once, and both get its answer")
    func exactlyOnce() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storages = try await cluster.storages(2)
        for round in UInt64(0)..<10 {
          let mutations = [increment("c/n"), .set(key("c/r\(round)"), [:])]
          let label = RequestLabel(
            BatchLabel(cacheID: "client", identity: BatchIdentity(high: 1, low: round)), mutations: mutations,
            database: ServerFixture.database)
          let outcomes = try await withThrowingTaskGroup(of: CommitOutcome.self) { group in
            for storage in storages + storages {
              group.addTask { try await storage.commit(CommitRequest(mutations: mutations, label: label)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
          }
          #expect(outcomes.count == 4 && outcomes.allSatisfy { $0 == outcomes[0] })
        }
        #expect(try await storages[1].number("c/n") == 10)
      }
    }

    @Test("a read that has found no database begins again if one was created before its snapshot was taken")
    func createdBeforeSnapshot() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (node, other) = (try await cluster.node("one"), try await cluster.node("two"))
        let storage = try await node.storage()
        let isLookedUp = Mutex(false)
        let isCreated = DispatchSemaphore(value: 0)
        let read = Task {
          try await storage.reading { session, number in
            if number == ClusterSchema.emptyDatabase {
              isLookedUp.withLock { $0 = true }
              isCreated.wait()
            }
            let version = try session.run(Self.latest.call(.int8(number))).only().version(0)
            return (number, version)
          }
        }
        try await waitUntil { isLookedUp.withLock { $0 } }
        let created = try await other.storage().set("c/a")
        // The empty database has a later version: one at which another client reads a database that does not exist.
        let absent = try await other.storage(DatabaseID(projectID: "absent"))
        let time = try await absent.present().time
        _ = try await absent.snapshot(at: time.truncatedToMicroseconds())
        isCreated.signal()
        let (number, version) = try await read.value
        #expect(number == 1 && version == created)
      }
    }

    private static let latest = PostgresStatement(
      "latest of test", "SELECT version FROM hearth_commits WHERE database = $1 ORDER BY version DESC LIMIT 1", [.int8])
  }

  extension ClusterFixture {
    /// The number of changes of all databases up to a version.
    func changeCount(through version: SnapshotVersion) async throws -> Int64 {
      try await execute("SELECT count(*) FROM hearth_changes WHERE version <= \(version.microseconds)")
        .only().int64(0)
    }
  }
#endif
