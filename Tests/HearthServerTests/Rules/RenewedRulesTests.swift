import HearthModel
import HearthRules
import TestSupport
import Testing

@testable import HearthServer

@Suite("Rules that are replaced, and credentials that expire, while a call is in progress", .timeLimit(.minutes(2)))
struct RenewedRulesTests {
  private let open = "match /notes/{id} { allow read, write: if true; }"
  private let closed = "match /other/{id} { allow read: if true; }"

  @Test("a commit that has waited for locks is decided by the rules of the time at which it is carried out")
  func waitingCommit() async throws {
    let fixture = try RulesFixture()
    try await fixture.set("notes/a", ["n": 1])
    let access = try fixture.access(open)
    let (owner, alice) = (fixture.session(.owner, access), fixture.session(.named("alice"), access))
    let transaction = try await owner.beginTransaction(.pessimistic)
    _ = try await owner.read(.get([key("notes/a")]), in: transaction)
    let commit = Task { () -> StatusCode? in
      do throws(StatusError) {
        _ = try await alice.commit(CommitRequest(mutations: [.set(key("notes/a"), ["n": 2])]))
        return nil
      } catch { return error.code }
    }
    try await waitUntil { fixture.storage.database.use().transactions.waitingRequests == 1 }
    access.replace(try RulesFixture.rules(closed))
    try await owner.rollback(transaction)
    #expect(await commit.value == .permissionDenied)
    #expect(try await owner.documents(for: [key("notes/a")], at: nil).documents[0].fields == EncodedFields(["n": 1]))
  }

  @Test("a commit whose caller's credentials have expired is not carried out")
  func expiredCommit() async throws {
    let fixture = try RulesFixture()
    let access = try fixture.access(open)
    func session(_ expiry: ContinuousClock.Instant) -> Session {
      Session(
        fixture.storage.database, of: .named("alice"), expiry: expiry, accessGuard: access, seal: fixture.seal)
    }
    let mutations: [Mutation] = [.set(key("notes/a"), ["n": 2])]
    _ = try await session(.now + .seconds(600)).commit(CommitRequest(mutations: mutations))
    let expired = session(.now - .seconds(1))
    for commit in [
      { try await expired.commit(CommitRequest(mutations: mutations)) },
      { try await expired.commit(mutations, endingTransaction: []) },
    ] {
      let error = await #expect(throws: StatusError.self) { _ = try await commit() }
      #expect(error?.code == .unauthenticated)
    }
  }

  @Test("a result ends when rules that do not allow it come between two of its pieces")
  func pieces() async throws {
    let fixture = try RulesFixture()
    for number in 0..<8 {
      try await fixture.set("notes/n\(number)", ["t": .string(String(repeating: "x", count: 200_000))])
    }
    let access = try fixture.access(open)
    let session = fixture.session(.named("alice"), access)
    let query = Query(path: path("notes"))
    let first = try await session.page(of: query, after: nil, at: nil)
    let cursor = try #require(first.next)
    let second = try await session.page(of: query, after: cursor, at: first.answer.readVersion)
    #expect(!second.answer.documents.isEmpty)
    access.replace(try RulesFixture.rules(closed))
    await fixture.expectDenied {
      _ = try await session.page(of: query, after: cursor, at: first.answer.readVersion)
    }
  }

  @Test("which indexes there are is told to those who may list the result")
  func indexes() async throws {
    let fixture = try RulesFixture()
    let database = HostedDatabase(
      id: ServerFixture.database, storage: fixture.storage.storage, limits: DatabaseLimits(),
      indexRules: RequiredIndexes(), clock: fixture.storage.clock.clock)
    let access = try fixture.access(open)
    func session(_ caller: Caller) -> Session {
      Session(database, of: caller, accessGuard: access, seal: fixture.seal)
    }
    func query(_ collection: String) -> Query {
      Query(
        path: path(collection),
        explicitOrders: [
          OrderBy(path: field("a"), direction: .ascending), OrderBy(path: field("b"), direction: .descending),
        ])
    }
    func code(_ caller: Caller, _ collection: String) async -> StatusCode? {
      do throws(StatusError) {
        try await session(caller).requireIndexes(query(collection).indexNeeds(), for: query(collection))
        return nil
      } catch { return error.code }
    }
    #expect(await code(.owner, "secret") == .failedPrecondition)
    #expect(await code(.named("alice"), "notes") == .failedPrecondition)
    #expect(await code(.named("alice"), "secret") == .permissionDenied)
  }
}
