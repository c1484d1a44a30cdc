import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthServer

/// The retention of labelled requests in the storage, and the rule by which it recognises a repeated one.
@Suite("Answers to labelled requests")
struct BatchResponseTests {
  private func increment(_ path: String) -> Mutation {
    Mutation(
      key: key(path), operation: .patch(.empty, mask: .empty),
      transforms: [FieldTransform(path: field("n"), operation: .increment(1.value))])
  }

  private func label(_ number: UInt64, client: String = "client", _ mutations: [Mutation]) -> RequestLabel {
    RequestLabel(
      BatchLabel(cacheID: client, identity: BatchIdentity(high: 0, low: number)), mutations: mutations,
      database: ServerFixture.database)
  }

  @discardableResult
  private func commit(
    _ fixture: any ListenedFixture, _ number: UInt64, client: String = "client", _ mutations: [Mutation]
  ) async throws -> CommitOutcome {
    try await fixture.database.storage.commit(
      CommitRequest(mutations: mutations, label: label(number, client: client, mutations)))
  }

  private func count(_ fixture: any ListenedFixture, _ path: String) async throws -> Int64? {
    let document = try await fixture.database.storage.documents(for: [key(path)], at: nil).documents[0]
    guard case .integer(let n)? = try document.fields.decoded()["n"] else { return nil }
    return n
  }

  @Test(
    "a known label with other writes is committed, and each of the two requests gets its own answer again",
    .everyStorage)
  func reusedLabel() async throws {
    let fixture = try await TestedDatabase()
    let first = try await commit(fixture, 1, [increment("c/a")])
    let second = try await commit(fixture, 1, [increment("c/b")])
    let longer = try await commit(fixture, 1, [increment("c/a"), increment("c/a")])
    #expect(Set([first, second, longer].map(\.version)).count == 3)
    for _ in 1...2 {
      #expect(try await commit(fixture, 1, [increment("c/a")]) == first)
      #expect(try await commit(fixture, 1, [increment("c/b")]) == second)
      #expect(try await commit(fixture, 1, [increment("c/a"), increment("c/a")]) == longer)
    }
    #expect(try await count(fixture, "c/a") == 3)
    #expect(try await count(fixture, "c/b") == 1)
  }

  @Test("a damaged answer fails the requests that it belongs to, not those that share their transaction")
  func damagedAnswer() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let fixture = try StorageFixture(location: location)
      try await commit(fixture, 1, [increment("c/a")])
      let other = try Database(location)
      try other.execute("UPDATE server_batch_responses SET response = x'ff'")
      other.close()
      let failed = await withTaskGroup(of: UInt64?.self) { group in
        for number in UInt64(1)...20 {
          let mutations = [increment(number % 5 == 1 ? "c/a" : "c/b\(number)")]
          let known = number % 5 == 1 ? 1 : number
          group.addTask {
            do {
              _ = try await commit(fixture, known, mutations)
              return nil
            } catch {
              return known
            }
          }
        }
        return await group.reduce(into: [UInt64]()) { if let number = $1 { $0.append(number) } }
      }
      #expect(failed == [1, 1, 1, 1])
      #expect(try await count(fixture, "c/a") == 1)
    }
  }

  @Test("a batch that is sent again under another condition gets its answer, and is committed once", .everyStorage)
  func otherPrecondition() async throws {
    let fixture = try await TestedDatabase()
    let created = try await commit(fixture, 1, [.set(key("c/a"), ["n": 1.value])])
    var guarded = increment("c/a")
    guarded.precondition = .updateTime(created.version)
    let first = try await commit(fixture, 2, [guarded])
    for precondition in [
      guarded.precondition, .none, .exists(true), .exists(false), .updateTime(first.version),
    ] {
      guarded.precondition = precondition
      #expect(try await commit(fixture, 2, [guarded]) == first)
    }
    #expect(try await count(fixture, "c/a") == 2)
    // One that was refused has no answer.
    guarded.precondition = .updateTime(created.version)
    await #expect(throws: StatusError.self) { try await commit(fixture, 3, [guarded]) }
    guarded.precondition = .updateTime(first.version)
    try await commit(fixture, 3, [guarded])
    #expect(try await count(fixture, "c/a") == 3)
  }

  @Test("the digest is the same for the same contents only, under whatever conditions")
  func digests() {
    let one = label(1, [increment("c/a"), .delete(key("c/b"))])
    #expect(one == label(1, [increment("c/a"), .delete(key("c/b"))]))
    #expect(one == label(1, [increment("c/a"), .delete(key("c/b"), precondition: .exists(true))]))
    for other in [
      [increment("c/a")], [.delete(key("c/b")), increment("c/a")],
      [increment("c/a"), Mutation(key: key("c/b"), operation: .verify)],
    ] {
      #expect(one.digest != label(1, other).digest)
    }
  }

  @Test("an answer is kept for its time, by the server's clock, and not much longer")
  func time() async throws {
    let fixture = try StorageFixture(responseRetention: .init(microseconds: 60_000_000))
    let first = try await commit(fixture, 1, [increment("c/a")])
    fixture.clock.advance(seconds: 59)
    try await commit(fixture, 2, [increment("c/b")])
    #expect(try await commit(fixture, 1, [increment("c/a")]) == first)
    fixture.clock.advance(seconds: 2)
    try await commit(fixture, 3, [increment("c/b")])
    #expect(try await commit(fixture, 1, [increment("c/a")]) != first)
    #expect(try await count(fixture, "c/a") == 2)
  }

  @Test("each client has room for so many answers; another client's go on being known")
  func perClient() async throws {
    let fixture = try StorageFixture(responseRetention: .init(countPerClient: 10))
    let other = try await commit(fixture, 1_000, client: "other", [increment("c/other")])
    for number in 1...30 as ClosedRange<UInt64> { try await commit(fixture, number, [increment("c/a")]) }
    // From the newest to the oldest: a request that is forgotten pushes out another one.
    for number in (1...30 as ClosedRange<UInt64>).reversed() {
      let before = try await count(fixture, "c/a")
      try await commit(fixture, number, [increment("c/a")])
      #expect(try await count(fixture, "c/a") == (number > 20 ? before : before.map { $0 + 1 }), "batch \(number)")
    }
    #expect(try await commit(fixture, 1_000, client: "other", [increment("c/other")]) == other)
  }

  @Test("each client has room for so many bytes of answers; another client's go on being known")
  func bytesPerClient() async throws {
    let fixture = try StorageFixture(responseRetention: .init(bytesPerClient: 4_000))
    let other = try await commit(fixture, 1_000, client: "other", [increment("c/other")])
    let large = (0..<20).map { _ in increment("c/a") }
    for number in 1...20 as ClosedRange<UInt64> { try await commit(fixture, number, large) }
    let before = try #require(try await count(fixture, "c/a"))
    try await commit(fixture, 20, large)
    #expect(try await count(fixture, "c/a") == before, "the newest one is known")
    try await commit(fixture, 1, large)
    #expect(try await count(fixture, "c/a") == before + 20, "the oldest one is not")
    #expect(try await commit(fixture, 1_000, client: "other", [increment("c/other")]) == other)
  }

  @Test("callers whom nothing tells apart have half of the room together, whatever the room of a client")
  func ofMany() async throws {
    let fixture = try StorageFixture(responseRetention: .init(countPerClient: 4, count: 20))
    let mutations = [increment("c/a")]
    func commit(_ number: UInt64) async throws {
      let label = label(number, client: "client \(number)", mutations).bound(to: "nobody", ofMany: true)
      _ = try await fixture.storage.commit(CommitRequest(mutations: mutations, label: label))
    }
    for number in 1...30 as ClosedRange<UInt64> { try await commit(number) }
    for number in (1...30 as ClosedRange<UInt64>).reversed() {
      let before = try await count(fixture, "c/a")
      try await commit(number)
      #expect(try await count(fixture, "c/a") == (number > 20 ? before : before.map { $0 + 1 }), "batch \(number)")
    }
  }

  @Test(
    "all clients together have room for so many answers, and for so many bytes of them; what is held is counted right",
    arguments: [ResponseRetention(count: 20), ResponseRetention(bytes: 1_000)])
  func inAll(retention: ResponseRetention) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: folder + "/database.sqlite")
      let fixture = try StorageFixture(location: location, responseRetention: retention)
      for number in 1...100 as ClosedRange<UInt64> {
        try await commit(fixture, number, client: "client \(number)", [increment("c/a")])
      }
      // The newest is known, the oldest is not.
      try await commit(fixture, 100, client: "client 100", [increment("c/a")])
      #expect(try await count(fixture, "c/a") == 100)
      try await commit(fixture, 1, client: "client 1", [increment("c/a")])
      #expect(try await count(fixture, "c/a") == 101)
      await fixture.storage.close()

      let database = try Database(location)
      let held = try numbers("SELECT count(*), sum(length(response)) FROM server_batch_responses", database)
      #expect(try numbers("SELECT count, bytes FROM server_batch_response_totals", database) == held)
      let shares = try numbers("SELECT sum(count), sum(bytes) FROM server_batch_clients", database)
      #expect(shares == [held[0], held[1] + held[0] * Int64(ResponseRetention.bytesPerAnswer)])
      #expect(held[0] > 5 && held[0] <= retention.count && held[1] <= retention.bytes)
      database.close()
    }
  }

  @Test(
    "clients that label much take room from themselves, not from those with few answers",
    arguments: [ResponseRetention(count: 200), ResponseRetention(bytes: 8_000)])
  func shares(retention: ResponseRetention) async throws {
    let fixture = try StorageFixture(responseRetention: retention)
    var first: [CommitOutcome] = []
    for number in 1...10 as ClosedRange<UInt64> { first.append(try await commit(fixture, number, [increment("c/a")])) }
    let single = try await commit(fixture, 1, client: "single", [increment("c/single")])
    for number in 1...200 as ClosedRange<UInt64> {
      for stranger in 1...3 as ClosedRange<UInt64> {
        try await commit(fixture, stranger * 1000 + number, client: "stranger \(stranger)", [increment("c/b")])
      }
    }
    #expect(try await count(fixture, "c/b") == 600)
    for number in 1...10 {
      #expect(try await commit(fixture, UInt64(number), [increment("c/a")]) == first[number - 1], "batch \(number)")
    }
    #expect(try await commit(fixture, 1, client: "single", [increment("c/single")]) == single)
    // The latest of each stranger are known, the first are not.
    for stranger in 1...3 as ClosedRange<UInt64> {
      for number in 200 - UInt64(ResponseRetention.fairCount) + 1...200 {
        try await commit(fixture, stranger * 1000 + number, client: "stranger \(stranger)", [increment("c/b")])
      }
    }
    #expect(try await count(fixture, "c/b") == 600)
    try await commit(fixture, 1001, client: "stranger 1", [increment("c/b")])
    #expect(try await count(fixture, "c/b") == 601)
  }

  @Test("the shares of an older folder's clients are counted when it is taken over")
  func migration() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: folder + "/database.sqlite")
      var fixture = try StorageFixture(location: location)
      for number in 1...40 as ClosedRange<UInt64> { try await commit(fixture, number, [increment("c/a")]) }
      try await commit(fixture, 1, client: "other", [increment("c/b")])
      await fixture.storage.close()
      var database = try Database(location)
      let shares = "SELECT sum(count), sum(bytes) FROM server_batch_clients"
      let before = try numbers(shares, database)
      #expect(before[0] == 41)
      try database.execute("DROP TABLE server_batch_clients")
      try database.execute("ALTER TABLE server_state DROP COLUMN announced_version")
      try database.execute("UPDATE schema_versions SET version = 6 WHERE component = 'server'")
      database.close()
      fixture = try StorageFixture(location: location)
      await fixture.storage.close()
      database = try Database(location)
      #expect(try numbers(shares, database) == before)
      database.close()
    }
  }

  private func numbers(_ sql: String, _ database: Database) throws -> [Int64] {
    let select = try database.prepare(sql)
    #expect(try select.step())
    return [try select.int64(at: 0), try select.int64(at: 1)]
  }

  @Test("one commit removes a few old answers only, however many are too old")
  func boundedWork() async throws {
    let fixture = try StorageFixture(responseRetention: .init(microseconds: 60_000_000))
    var first: [CommitOutcome] = []
    for number in 1...20 as ClosedRange<UInt64> { first.append(try await commit(fixture, number, [increment("c/a")])) }
    fixture.clock.advance(seconds: 61)
    try await commit(fixture, 21, [increment("c/b")])
    // Eight are gone; the others are known until a later commit removes them.
    #expect(try await commit(fixture, 9, [increment("c/a")]) == first[8])
    #expect(try await commit(fixture, 8, [increment("c/a")]) != first[7])
    #expect(try await count(fixture, "c/a") == 21)
  }
}
