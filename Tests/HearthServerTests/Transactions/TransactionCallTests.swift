import Foundation
import GRPCCore
import HearthModel
import HearthStore
import HearthTransport
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthServer

@Suite("Transactions", .everyStorage)
struct TransactionCallTests {
  private func begin(
    _ fixture: ServerFixture, readOnly: Bool = false, optimistic: Bool = false
  ) async throws -> Data {
    var request = Google_Firestore_V1_BeginTransactionRequest()
    request.database = ServerFixture.database.resourceName
    if readOnly { request.options.readOnly = .init() } else { request.options.readWrite = .init() }
    if optimistic { request.options.readWrite.concurrencyMode = .optimistic }
    let response: Google_Firestore_V1_BeginTransactionResponse = try await fixture.unary(
      Method.BeginTransaction.descriptor, request)
    return response.transaction
  }

  private func get(_ fixture: ServerFixture, _ path: String, in transaction: Data) async throws
    -> Google_Firestore_V1_Document
  {
    var request = Google_Firestore_V1_GetDocumentRequest()
    request.name = name(path)
    request.transaction = transaction
    return try await fixture.unary(Method.GetDocument.descriptor, request)
  }

  @Test(
    "an optimistic commit is refused with ABORTED when a document that was read has changed, been deleted or come into being",
    arguments: ["changed", "deleted", "created"])
  func conflict(kind: String) async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/1", ["n": 1.value])
      let transaction = try await begin(fixture, optimistic: true)
      _ = try await get(fixture, "a/1", in: transaction)
      #expect(await failure { try await get(fixture, "a/2", in: transaction) }?.code == .notFound)
      switch kind {
      case "changed": try await fixture.set("a/1", ["n": 2.value])
      case "deleted": try await fixture.commit([.delete(key("a/1"))])
      default: try await fixture.set("a/2")
      }
      let refused = await failure { try await fixture.commit([.set(key("a/3"), [:])], transaction: transaction) }
      #expect(refused?.code == .aborted)
      #expect(await failure { try await fixture.get("a/3") }?.code == .notFound)
      let again = try await begin(fixture)
      _ = await failure { try await get(fixture, "a/1", in: again) }
      try await fixture.commit([.set(key("a/3"), [:])], transaction: again)
    }
  }

  @Test("a document that enters a query which was read makes an optimistic commit fail; one next to it does not")
  func phantom() async throws {
    try await ServerFixture.withServer { fixture in
      let query = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 5.value))
      func read() async throws -> Data {
        var request = fixture.queryRequest(query)
        request.newTransaction.readWrite.concurrencyMode = .optimistic
        let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
          Method.RunQuery.descriptor, request)
        return try #require(responses.first).transaction
      }
      let first = try await read()
      try await fixture.set("c/beside", ["n": 1.value])
      try await fixture.commit([.set(key("x/1"), [:])], transaction: first)
      let second = try await read()
      try await fixture.set("c/inside", ["n": 6.value])
      #expect(
        await failure { try await fixture.commit([.set(key("x/2"), [:])], transaction: second) }?.code == .aborted)
    }
  }

  @Test(
    "a change of what a transaction reads behind documents that it skips makes its commit fail, and so does one of these"
  )
  func skippedDocuments() async throws {
    try await ServerFixture.withServer { fixture in
      for id in ["a", "b", "c"] { try await fixture.set("c/\(id)") }
      for changed in ["c/a", "c/b"] {
        var request = fixture.queryRequest(Query(path: path("c")).with(limit: 1))
        request.structuredQuery.offset = 1
        request.newTransaction.readWrite.concurrencyMode = .optimistic
        let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
          Method.RunQuery.descriptor, request)
        let transaction = try #require(responses.first).transaction
        try await fixture.set(changed, ["changed": true])
        let refused = await failure { try await fixture.commit([.set(key("x/1"), [:])], transaction: transaction) }
        #expect(refused?.code == .aborted, "\(changed)")
      }
    }
  }

  @Test("all reads of a transaction see one snapshot, and reads alone always commit")
  func snapshotReads() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([.set(key("a/1"), ["n": 1.value]), .set(key("a/2"), ["n": 1.value])])
      let transaction = try await begin(fixture, readOnly: true)
      #expect(try await get(fixture, "a/1", in: transaction).fields["n"]?.integerValue == 1)
      try await fixture.commit([.set(key("a/1"), ["n": 2.value]), .set(key("a/2"), ["n": 2.value])])
      #expect(try await get(fixture, "a/2", in: transaction).fields["n"]?.integerValue == 1)
      try await fixture.commit([], transaction: transaction)
    }
  }

  @Test("a read-only transaction does not write")
  func readOnly() async throws {
    try await ServerFixture.withServer { fixture in
      let transaction = try await begin(fixture, readOnly: true)
      let refused = await failure { try await fixture.commit([.set(key("a/1"), [:])], transaction: transaction) }
      #expect(refused?.code == .invalidArgument)
      #expect(refused?.message == "Cannot modify entities in a read-only transaction.")
    }
  }

  @Test("ended, invented and expired transactions are told apart")
  func endings() async throws {
    let clock = ManualClock()
    try await ServerFixture.withServer(clock: clock.clock) { fixture in
      let committed = try await begin(fixture)
      try await fixture.commit([.set(key("a/1"), [:])], transaction: committed)
      #expect(
        await failure { try await get(fixture, "a/1", in: committed) }?.message == "Transaction is invalid or closed.")
      #expect(await failure { try await get(fixture, "a/1", in: Data([1, 2])) }?.message == "Invalid transaction.")

      var rollback = Google_Firestore_V1_RollbackRequest()
      rollback.database = ServerFixture.database.resourceName
      rollback.transaction = committed
      let _: Google_Protobuf_Empty = try await fixture.unary(Method.Rollback.descriptor, rollback)
      rollback.transaction = Data([1])
      let invented = await failure {
        try await fixture.unary(Method.Rollback.descriptor, rollback) as Google_Protobuf_Empty
      }
      #expect(invented?.code == .invalidArgument)

      let expired = "The referenced transaction has expired or is no longer valid."
      let idle = try await begin(fixture)
      clock.advance(seconds: 61)
      #expect(await failure { try await get(fixture, "a/1", in: idle) }?.message == expired)
      let long = try await begin(fixture)
      for _ in 0..<5 {
        clock.advance(seconds: 50)
        _ = try await get(fixture, "a/1", in: long)
      }
      clock.advance(seconds: 50)
      #expect(await failure { try await get(fixture, "a/1", in: long) }?.message == expired)
    }
  }

  @Test("a commit that is repeated because its answer was lost gets the answer of the first, for a minute")
  func repeatedCommit() async throws {
    let clock = ManualClock()
    try await ServerFixture.withServer(clock: clock.clock) { fixture in
      let transaction = try await begin(fixture)
      let writes = [Mutation.set(key("a/1"), ["n": 1.value])]
      let first = try await withThrowingTaskGroup(of: Google_Firestore_V1_CommitResponse.self) { group in
        for _ in 0..<4 { group.addTask { try await fixture.commit(writes, transaction: transaction) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      clock.advance(seconds: 59)
      let later = try await fixture.commit(writes, transaction: transaction)
      #expect(Set(first + [later]).count == 1)
      let closed = "Transaction is invalid or closed."
      let others = [Mutation.set(key("a/1"), ["n": 2.value])]
      #expect(await failure { try await fixture.commit(others, transaction: transaction) }?.message == closed)
      clock.advance(seconds: 2)
      #expect(await failure { try await fixture.commit(writes, transaction: transaction) }?.message == closed)
    }
  }

  @Test("a repeated commit that was refused is refused again, and one that met trouble of the server may succeed")
  func repeatedFailure() async throws {
    let fails = Mutex(false)
    let fixture = try StorageFixture { point in
      guard point == .commit, fails.withLock({ $0 }) else { return nil }
      return StoreError(kind: .full, message: "no space")
    }
    let database = fixture.database
    try await fixture.set("a/1", ["n": 1.value])
    let transaction = try database.registry.begin(.optimistic)
    let latest = try fixture.storage.currentVersion()
    _ = try await database.registry.read(transaction, keys: [key("a/1")], latest: latest)
    let writes = [Mutation.set(key("a/2"), ["n": 2.value])]
    func commit() async -> StatusCode? {
      do throws(StatusError) {
        _ = try await database.session.commit(writes, endingTransaction: transaction)
        return nil
      } catch {
        return error.code
      }
    }
    fails.withLock { $0 = true }
    #expect(await commit() == .resourceExhausted)
    fails.withLock { $0 = false }
    try await fixture.set("a/1", ["n": 3.value])
    #expect(await commit() == .aborted)
    #expect(await commit() == .aborted)
    let again = try database.registry.begin(.pessimistic)
    fails.withLock { $0 = true }
    await #expect(throws: StatusError.self) { try await database.session.commit(writes, endingTransaction: again) }
    fails.withLock { $0 = false }
    _ = try await database.session.commit(writes, endingTransaction: again)
  }

  @Test("abandoned transactions make room after a minute, and those that read much have a limit together")
  func abandoned() async throws {
    let clock = ManualClock()
    var limits = DatabaseLimits()
    (limits.transactions, limits.readsPerTransaction, limits.transactionReads) = (1_000, 1_000, 20_000)
    let registry = TransactionRegistry(limits: limits, clock: clock.clock, locks: TransactionLocks(clock: clock.clock))
    let version = SnapshotVersion(microseconds: clock.now)
    for _ in 0..<limits.transactions { _ = try registry.begin(.pessimistic) }
    let full = #expect(throws: StatusError.self) { try registry.begin(.pessimistic) }
    #expect(full?.code == .resourceExhausted)
    clock.advance(seconds: 61)
    let keys = (0..<990).map { key("c/d\($0)") }
    for _ in 0..<20 {
      _ = try await registry.read(registry.begin(.pessimistic), keys: keys, latest: version)
    }
    let much = try registry.begin(.pessimistic)
    let error = await #expect(throws: StatusError.self) { try await registry.read(much, keys: keys, latest: version) }
    #expect(error?.code == .resourceExhausted)
    clock.advance(seconds: 61)
    for _ in 0..<200 { _ = try registry.begin(.pessimistic) }
    _ = try await registry.read(registry.begin(.pessimistic), keys: keys, latest: version)
  }

  @Test("concurrent increments in transactions lose nothing")
  func increments() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/n", ["n": 0.value])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            while true {
              let transaction = try await begin(fixture)
              let count = try await get(fixture, "a/n", in: transaction).fields["n"]?.integerValue ?? 0
              let failed = await failure {
                try await fixture.commit([.set(key("a/n"), ["n": .integer(count + 1)])], transaction: transaction)
              }
              if failed == nil { return }
              #expect(failed?.code == .aborted)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await fixture.get("a/n").fields["n"]?.integerValue == 8)
    }
  }
}
