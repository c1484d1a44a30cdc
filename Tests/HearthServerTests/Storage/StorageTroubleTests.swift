import Foundation
import HearthModel
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// Failures of a file or a disk, and their effect on the database there.
@Suite("Trouble with the storage")
struct StorageTroubleTests {
  @Test("a damaged document fails the commits that need it, not those that share their transaction")
  func damagedDocument() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let fixture = try StorageFixture(location: location)
      try await fixture.set("c/bad", ["n": 1.value])
      try Self.damage("bad", in: location)

      let results = await withTaskGroup(of: (Int, Result<CommitOutcome, StatusError>).self) { group in
        for n in 0..<40 {
          let written = n % 8 == 3 ? "c/bad" : "c/d\(n)"
          let request = CommitRequest(mutations: [.set(key("c/e\(n)"), [:]), .set(key(written), ["n": n.value])])
          group.addTask {
            do throws(StatusError) { return (n, .success(try await fixture.storage.commit(request))) } catch {
              return (n, .failure(error))
            }
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for (n, result) in results {
        switch result {
        case .success: #expect(n % 8 != 3)
        case .failure(let error):
          #expect(n % 8 == 3)
          // DATA_LOSS would make the client drop the write.
          #expect(error.code == .internal)
        }
      }
      let documents = try await fixture.storage.documents(for: (0..<40).map { key("c/e\($0)") }, at: nil).documents
      #expect(documents.map(\.isFound) == (0..<40).map { $0 % 8 != 3 })
      #expect(Set(documents.filter(\.isFound).map(\.version)).count == 35)
      await fixture.storage.close()
    }
  }

  /// Gives a document a kind that does not exist.
  private static func damage(_ id: String, in location: Database.Location) throws {
    let database = try Database(location)
    try database.execute("UPDATE documents SET kind = 77 WHERE id = '\(id)'")
  }

  @Test("after a failed synchronisation no commit is taken until the database is opened again, and reads go on")
  func failedSync() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let failsNext = Mutex(false)
      let fixture = try StorageFixture(location: location, fillsIndexes: false) { point in
        guard point == .commit else { return nil }
        let fails = failsNext.withLock { fails in
          defer { fails = false }
          return fails
        }
        // SQLITE_IOERR_FSYNC
        return fails ? StoreError(kind: .io, message: "disk I/O error", sqliteCode: 1034) : nil
      }
      let before = try await fixture.set("c/a", ["n": 1.value])
      failsNext.withLock { $0 = true }
      for _ in 0..<3 {
        let error = await #expect(throws: StatusError.self) { try await fixture.set("c/a", ["n": 2.value]) }
        #expect([.internal, .unavailable].contains(error?.code))
      }
      let error = await #expect(throws: StatusError.self) { try await fixture.set("c/b") }
      #expect(error?.code == .unavailable)
      #expect(error?.message.contains("disk I/O error") == true)
      #expect(await !fixture.storage.fillIndexes(EmbeddedStorage.fillLimits))
      let document = try await fixture.storage.documents(for: [key("c/a")], at: nil).documents[0]
      #expect(document.version == before)
      await fixture.storage.close()

      let reopened = try StorageFixture(location: location)
      #expect(try await reopened.set("c/a", ["n": 3.value]) > before)
      await reopened.storage.close()
    }
  }

  @Test("commits that fail for one reason are one line of the log")
  func oneLine() async throws {
    let log = LogRecorder()
    let isFull = Mutex(false)
    let fixture = try StorageFixture(fillsIndexes: false, logger: log.logger) { point in
      point == .commit && isFull.withLock { $0 }
        ? StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13) : nil
    }
    isFull.withLock { $0 = true }
    let start = ContinuousClock.now
    for _ in 0..<80 { await #expect(throws: StatusError.self) { try await fixture.set("c/a") } }
    // One in ten seconds, also where 80 commits take longer.
    let allowed = 1 + Int((ContinuousClock.now - start) / .seconds(10))
    #expect((1...allowed).contains(log.lines.count { $0.contains("storage failed") }), "\(log.lines)")
    #expect(log.lines.count { $0.contains("history cannot be trimmed") } <= allowed, "\(log.lines)")
  }

  @Test("another failure of the disk is over when it is over")
  func passingFailure() async throws {
    let failsNext = Mutex(false)
    let fixture = try StorageFixture(fillsIndexes: false) { point in
      guard point == .commit else { return nil }
      let fails = failsNext.withLock { fails in
        defer { fails = false }
        return fails
      }
      // SQLITE_IOERR_WRITE
      return fails ? StoreError(kind: .io, message: "disk I/O error", sqliteCode: 778) : nil
    }
    failsNext.withLock { $0 = true }
    await #expect(throws: StatusError.self) { try await fixture.set("c/a") }
    try await fixture.set("c/a")
  }

  @Test("after two failures in a row each collection has the changes of its own documents")
  func twoFailures() async throws {
    let failures = Mutex<[Database.FailurePoint]>([])
    let fixture = try StorageFixture(fillsIndexes: false) { point in
      failures.withLock { failures in
        guard let index = failures.firstIndex(of: point) else { return nil }
        failures.remove(at: index)
        return StoreError(kind: .io, message: "disk I/O error", sqliteCode: 778)
      }
    }
    try await fixture.set("c/before")
    var listeners: [String: [UInt8]] = [:]
    for collection in ["a", "b"] {
      var listener = Listener(fixture)
      _ = try await listener.add(Query(path: path(collection)))
      listeners[collection] = listener.token
    }
    // The commit fails that gives `a` a number, and then whatever is read to find out what is left of it.
    failures.withLock { $0 = [.commit, .transaction("load server state")] }
    await #expect(throws: StatusError.self) { try await fixture.set("a/x") }
    try await fixture.set("b/y")
    try await fixture.set("a/x")
    for (collection, document) in ["a": "a/x", "b": "b/y"] {
      var listener = Listener(fixture)
      #expect(
        try await listener.add(Query(path: path(collection)), token: listeners[collection] ?? [])
          == ["add 2", "\(document) in 2", "current 2", "snapshot"])
      let version = try fixture.storage.currentVersion()
      #expect(try await fixture.storage.count(of: Query(path: path(collection)), at: version) == 1)
    }
  }

  @Test("a first commit that fails on the disk leaves no file, and the next one begins it again")
  func failedFirstCommit() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/data"
      let isFull = Mutex(true)
      let settled = Mutex(0)
      let home = StorageHome(
        create: {
          // As a disk that has room for the file, and not for the document.
          if isFull.withLock({ $0 }) {
            let database = try Database(.file(path: file))
            try ServerSchema.schema.migrate(database)
            try database.execute(
              "CREATE TRIGGER full BEFORE INSERT ON server_changes BEGIN SELECT RAISE(ABORT, 'full'); END")
            database.close()
          }
          return .file(path: file)
        },
        discard: { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } },
        settled: { settled.withLock { $0 += 1 } })
      let storage = try EmbeddedStorage(
        location: .memory, home: home, databaseID: ServerFixture.database, clock: ManualClock().clock,
        logger: ServerFixture.quietLogger)
      let request = CommitRequest(mutations: [.set(key("c/d"), ["n": 1.value])])
      for _ in 0..<2 {
        await #expect(throws: StatusError.self) { try await storage.commit(request) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(try await storage.documents(for: [key("c/d")], at: nil).documents.map(\.isFound) == [false])
      }
      isFull.withLock { $0 = false }
      _ = try await storage.commit(request)
      #expect(settled.withLock { $0 } == 1)
      #expect(FileManager.default.fileExists(atPath: file))
      #expect(try await storage.documents(for: [key("c/d")], at: nil).documents.map(\.isFound) == [true])
      await storage.close()
    }
  }

  @Test("a first commit that is refused because its merges are too large makes no file")
  func refusedFirstCommit() async throws {
    let isMade = Mutex(false)
    let home = StorageHome(
      create: {
        isMade.withLock { $0 = true }
        return .memory
      }, discard: {}, settled: {})
    let storage = try EmbeddedStorage(
      location: .memory, home: home, databaseID: ServerFixture.database, clock: ManualClock().clock,
      rewrittenBytes: 1_000, logger: ServerFixture.quietLogger)
    let text = Value.string(String(repeating: "x", count: 2_000))
    let merge = Mutation.patch(key("c/d"), ["n": 1.value], mask: FieldMask([field("n")]))
    await #expect(throws: StatusError.self) {
      try await storage.commit(CommitRequest(mutations: [.set(key("c/d"), ["t": text]), merge]))
    }
    #expect(!isMade.withLock { $0 })
    await storage.close()
  }

  @Test("a database that nobody uses is closed, and opened again by the next call")
  func idle() async throws {
    try await withTemporaryFolder { folder in
      let clock = ManualClock()
      let backend = try EmbeddedBackend(
        location: .folder(path: folder), clock: clock.clock, logger: ServerFixture.quietLogger)
      let ids = (0..<4).map { DatabaseID(projectID: "p\($0)") }
      for id in ids {
        _ = try await backend.database(id).storage.commit(CommitRequest(mutations: [.set(key("c/a"), [:])]))
      }
      func storages() async throws -> [EmbeddedStorage] {
        var storages: [EmbeddedStorage] = []
        for id in ids { storages.append(try #require(try await backend.database(id).storage as? EmbeddedStorage)) }
        return storages
      }
      // Kept, so that no later one can have the address of one that is gone.
      let first = try await storages()
      let held = try await backend.database(ids[0])
      _ = try await backend.database(ids[1]).registry.begin(.pessimistic)
      await backend.closeIdle()
      #expect(zip(try await storages(), first).allSatisfy { $0 === $1 })

      clock.advance(seconds: 240)
      _ = try await backend.database(ids[2])
      clock.advance(seconds: 55)
      // The transaction has not been idle for a minute.
      let transaction = try await backend.database(ids[1]).registry.begin(.pessimistic)
      clock.advance(seconds: 50)
      await backend.closeIdle()
      let second = try await storages()
      // In use; with a transaction; asked for a moment ago.
      #expect(zip(second, first).prefix(3).allSatisfy { $0 === $1 })
      #expect(second[3] !== first[3])
      #expect(try await backend.database(ids[3]).storage.documents(for: [key("c/a")], at: nil).documents[0].isFound)
      try await backend.database(ids[1]).registry.rollback(transaction)
      _ = held
      await backend.close()
    }
  }

  @Test("the first commit of a blank database is seen, also if its name was asked for again in between")
  func firstCommitOfForgottenBlank() async throws {
    try await withTemporaryFolder { folder in
      let backend = try EmbeddedBackend(
        location: .folder(path: folder), clock: .system, logger: ServerFixture.quietLogger)
      let id = DatabaseID(projectID: "p")
      let storage = try await backend.database(id).storage
      for number in 0..<80 {
        _ = try await backend.database(DatabaseID(projectID: "other\(number)"))
      }
      let second = try await backend.database(id)
      #expect(second.storage === storage)
      _ = try await storage.commit(CommitRequest(mutations: [.set(key("c/d"), ["n": 1.value])]))
      let found = try await backend.database(id).storage.documents(for: [key("c/d")], at: nil).documents
      #expect(found.map(\.isFound) == [true])
      _ = try await backend.database(id).storage.commit(CommitRequest(mutations: [.delete(key("c/d"))]))
      withExtendedLifetime(second) {}
      await backend.close()
    }
  }
}
