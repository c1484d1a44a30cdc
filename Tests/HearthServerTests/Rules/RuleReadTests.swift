import HearthModel
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthServer

/// Documents, queries and sums of callers under security rules.
@Suite("Reads under rules", .everyStorage, .timeLimit(.minutes(1)))
struct RuleReadTests {
  private let fixture: RulesFixture

  init() throws {
    fixture = try RulesFixture()
  }

  @Test("a document is read by its contents, alone and among others")
  func get() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    try await fixture.set("notes/b", ["owner": .string("bob")])
    let alice = try fixture.session(.named("alice"), RulesFixture.owned)
    #expect(try await fixture.read(alice, "notes/a"))
    await fixture.expectDenied { _ = try await fixture.read(alice, "notes/b") }
    // Nobody learns that there is none.
    await fixture.expectDenied { _ = try await fixture.read(alice, "notes/c") }
    await fixture.expectDenied { _ = try await alice.documents(for: [key("notes/a"), key("notes/b")], at: nil) }
    await fixture.expectDenied { _ = try await alice.firstDocuments(of: [key("notes/a"), key("notes/b")], at: nil) }
    await fixture.expectDenied {
      _ = try await fixture.read(try fixture.session(.nobody, RulesFixture.owned), "notes/a")
    }
    #expect(try await fixture.read(try fixture.session(.owner, "match /x/{id} { allow read: if false; }"), "notes/b"))
  }

  @Test("of documents that the caller may not read, no more are read than make a piece")
  func pieces() async throws {
    let keys = (0..<30).map { key("notes/\($0)") }
    let text = Value.string(String(repeating: "x", count: 100_000))
    for key in keys { try await fixture.storage.commit(.set(key, ["owner": .string("alice"), "text": text])) }
    let bytes = Mutex(0)
    let database = fixture.storage.observed(after: { documents in bytes.withLock { $0 += documents.fieldsBytes } })
    for isDevelopment in [true, false] {
      let bob = Session(
        database, of: .named("bob"), accessGuard: try fixture.access(RulesFixture.owned, isDevelopment: isDevelopment),
        seal: fixture.seal)
      let transaction = isDevelopment ? try await bob.beginTransaction(.pessimistic) : nil
      await fixture.expectDenied {
        guard let transaction else { return _ = try await bob.firstDocuments(of: keys[...], at: nil) }
        _ = try await bob.read(.get(keys[...]), in: transaction)
      }
      // What is large is given up until it is its turn, and read again then.
      let read = bytes.withLock { bytes in
        defer { bytes = 0 }
        return bytes
      }
      #expect(read > 0 && read <= 2 * (PieceSizes().bytes + 101_000), "\(read)")
    }
  }

  @Test("without a rule for it, or without rules, nobody but the owner may do anything")
  func defaultDeny() async throws {
    try await fixture.set("notes/a")
    await fixture.expectDenied {
      _ = try await fixture.read(
        try fixture.session(.named("a"), "match /other/{id} { allow read: if true; }"), "notes/a")
    }
    let none = fixture.session(.named("a"), AccessRules())
    await fixture.expectDenied { _ = try await fixture.read(none, "notes/a") }
    await fixture.expectDenied { _ = try await none.beginTransaction(.optimistic) }
    let open = fixture.session(.named("a"), AccessRules(isDevelopment: true))
    #expect(try await fixture.read(open, "notes/a"))
  }

  @Test("a query is allowed if its filters make the rules hold for everything that it could return")
  func list() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let alice = try fixture.session(.named("alice"), RulesFixture.owned)
    let all = Query(path: path("notes"))
    let own = all.with(filter: .field(try FieldPath(["owner"]), .equal, .string("alice")))
    let others = all.with(filter: .field(try FieldPath(["owner"]), .equal, .string("bob")))
    let count = Aggregation(alias: "n", operation: .count(upTo: nil))
    #expect(try await alice.page(of: own, after: nil, at: nil).answer.documents.count == 1)
    #expect(
      try await alice.aggregate([count], over: own, skipping: 0, at: nil).totals.values == ["n": .integer(1)])
    for query in [all, others, Query(path: ResourcePath(), collectionGroup: "")] {
      await fixture.expectDenied { _ = try await alice.page(of: query, after: nil, at: nil) }
      await fixture.expectDenied { _ = try await alice.aggregate([count], over: query, skipping: 0, at: nil) }
    }
    // A query that names a document is decided as a get.
    #expect(try await alice.page(of: Query(path: path("notes/a")), after: nil, at: nil).answer.documents.count == 1)
    let limited = try fixture.session(
      .nobody, "match /notes/{id} { allow list: if request.query.limit <= 10; }")
    _ = try await limited.page(of: all.with(limit: 10), after: nil, at: nil)
    await fixture.expectDenied { _ = try await limited.page(of: all.with(limit: 11), after: nil, at: nil) }
    // A list reads one document more than a page has.
    _ = try await limited.page(of: all.with(limit: 11), keeping: 10, after: nil, at: nil)
    let plan = try await ReadPlan.prepare(.latest, for: .list(all), in: limited)
    for (pageSize, isAllowed) in [(10, true), (11, false)] {
      let list = DocumentList(
        query: all, showsMissing: false, database: limited, plan: plan, pageSize: pageSize)
      let page = try? await list.page(after: "")
      #expect((page != nil) == isAllowed)
    }
  }

  @Test("a list with missing documents is denied before those are read that the caller may list")
  func missingDocuments() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let read = Mutex(0)
    let database = fixture.storage.observed(after: { documents in read.withLock { $0 += documents.count } })
    let nobody = Session(
      database, of: .nobody, accessGuard: try fixture.access("match /notes/{id} { allow list; }"), seal: fixture.seal)
    let query = Query(path: path("notes"))
    let plan = try await ReadPlan.prepare(.latest, for: .list(query), in: nobody)
    for showsMissing in [true, false] {
      let list = DocumentList(query: query, showsMissing: showsMissing, database: nobody, plan: plan, pageSize: 10)
      if showsMissing {
        await fixture.expectDenied { _ = try await list.page(after: "") }
      } else {
        #expect(try await list.page(after: "").documents.count == 1)
      }
      #expect(read.withLock { $0 } == (showsMissing ? 0 : 1))
    }
  }

  @Test("limit and offset are those that the caller has sent, for results, sums and reads of transactions")
  func offset() async throws {
    let all = Query(path: path("notes")).with(limit: 10)
    let count = Aggregation(alias: "n", operation: .count(upTo: nil))
    // Users have transactions in development.
    let access = AccessRules(
      try RulesFixture.rules(
        "match /notes/{id} { allow list: if request.query.limit == 10 && request.query.offset <= 5; }"),
      isDevelopment: true, clock: fixture.storage.clock.clock)
    let caller = fixture.session(.named("alice"), access)
    for (offset, isAllowed) in [(0, true), (5, true), (6, false)] {
      let plan = try await ReadPlan.prepare(.latest, for: .list(all), in: caller)
      var pages = ResultPages(of: all, skipping: offset, isShallow: false, plan: plan, in: caller)
      let answers = [
        await isDone { _ = try await pages.next() },
        await isDone { _ = try await caller.aggregate([count], over: all, skipping: offset, at: nil) },
        await isDone {
          let transaction = try await caller.beginTransaction(.optimistic)
          _ = try await caller.read(.list(all, skipping: offset), in: transaction)
        },
      ]
      #expect(answers == [isAllowed, isAllowed, isAllowed], "\(offset)")
    }
  }

  @Test("who may list documents gets all pages of a list, in any order, and may get none of them by its name")
  func listedPages() async throws {
    for id in ["a", "b", "c"] { try await fixture.set("notes/\(id)", ["n": .integer(1)]) }
    let alice = try fixture.session(
      .named("alice"), "match /notes/{id} { allow list: if request.query.limit <= 2; }")
    let byField = Query(
      path: path("notes"), explicitOrders: [OrderBy(path: try FieldPath(["n"]), direction: .ascending)])
    let plan = try await ReadPlan.prepare(.latest, for: .list(byField), in: alice)
    func list(_ pageSize: Int) -> DocumentList {
      DocumentList(query: byField, showsMissing: false, database: alice, plan: plan, pageSize: pageSize)
    }
    let first = try await list(2).page(after: "")
    #expect(try await list(2).page(after: first.nextToken).documents.map(\.key) == [key("notes/c")])
    await fixture.expectDenied { _ = try await list(3).page(after: first.nextToken) }
    await fixture.expectDenied { _ = try await fixture.read(alice, "notes/a") }
    let kept = [key("notes/a"), key("notes/b")]
    let search = byField.with(limit: 2)
    #expect(try await alice.firstDocuments(of: kept[...], inResultOf: search, at: nil).documents.map(\.key) == kept)
    await fixture.expectDenied {
      _ = try await alice.firstDocuments(of: kept[...], inResultOf: byField.with(limit: 3), at: nil)
    }
  }

  @Test("a query by ids is decided by the documents at the version that is read")
  func namedDocuments() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    try await fixture.set("notes/b", ["owner": .string("alice")])
    let alice = try fixture.session(.named("alice"), RulesFixture.owned)
    let names = ["a", "b"].map { Value.reference(ReferenceValue(database: alice.id, key: key("notes/\($0)"))) }
    let query = Query(path: path("notes")).with(filter: .field(.documentKey, .in, .array(names)))
    #expect(try await alice.page(of: query, after: nil, at: nil).answer.documents.count == 2)
    let grant = try await alice.grant(
      .query(query), at: fixture.storage.storage.currentVersion(), sharing: RuleEffort())
    #expect(grant?.basis.documents == [key("notes/a"), key("notes/b")])
    try await fixture.set("notes/b", ["owner": .string("bob")])
    await fixture.expectDenied { _ = try await alice.page(of: query, after: nil, at: nil) }
  }

  @Test("orders are those that the caller has sent, also of a sum, which is read in further ones")
  func orders() async throws {
    try await fixture.set("notes/a", ["n": .integer(1), "m": .integer(1)])
    let all = Query(path: path("notes"))
    let sum = Aggregation(alias: "n", operation: .sum(try FieldPath(["n"])))
    let isPositive = all.with(filter: .field(try FieldPath(["n"]), .greaterThan, .integer(0)))
    let ordered = Query(
      path: path("notes"), explicitOrders: [OrderBy(path: try FieldPath(["m"]), direction: .ascending)])
    let access = AccessRules(
      try RulesFixture.rules(
        """
        match /notes/{id} { allow list: if request.query.orderBy == {}; }
        match /notes/{id} { allow list: if request.query.orderBy == {'m': 'ASC'}; }
        """),
      isDevelopment: true, clock: fixture.storage.clock.clock)
    let caller = fixture.session(.named("alice"), access)
    for query in [all, isPositive, ordered] {
      #expect(try await caller.aggregate([sum], over: query, skipping: 0, at: nil).totals.values == ["n": .integer(1)])
      let transaction = try await caller.beginTransaction(.optimistic)
      _ = try await caller.read(.aggregate([sum], over: query), in: transaction)
    }
    let byBoth = ordered.with(order: OrderBy(path: try FieldPath(["n"]), direction: .ascending))
    await fixture.expectDenied { _ = try await caller.aggregate([sum], over: byBoth, skipping: 0, at: nil) }
    // What a request of a sum says of its orders.
    let message = Google_Firestore_V1_StructuredQuery.with { $0.from = [.with { $0.collectionID = "notes" }] }
    let checked = try CheckedQuery(parent: caller.id.documentsName, query: message, for: [sum], in: caller)
    #expect(checked.asked.explicitOrders.isEmpty && !checked.query.explicitOrders.isEmpty)
  }

  private func isDone(_ body: () async throws -> Void) async -> Bool {
    do { try await body() } catch { return false }
    return true
  }

  @Test("rules look documents up as they are at the version that is read")
  func lookUps() async throws {
    try await fixture.set("notes/a")
    let before = try await fixture.set("roles/alice", ["role": .string("reader")])
    let alice = try fixture.session(.named("alice"), RulesFixture.byRole)
    await fixture.expectDenied { _ = try await fixture.read(alice, "notes/a") }
    await fixture.expectDenied { _ = try await alice.page(of: Query(path: path("notes")), after: nil, at: nil) }
    fixture.storage.clock.advance(seconds: 1)
    try await fixture.set("roles/alice", ["role": .string("editor")])
    #expect(try await fixture.read(alice, "notes/a"))
    _ = try await alice.page(of: Query(path: path("notes")), after: nil, at: nil)
    await fixture.expectDenied { _ = try await alice.documents(for: [key("notes/a")], at: before) }
    await fixture.expectDenied { _ = try await fixture.read(alice, "rooms/1") }
    try await fixture.set("members/1alice")
    #expect(try await !fixture.read(alice, "rooms/1"))
    // Nobody's rule fails, and an error denies.
    await fixture.expectDenied {
      _ = try await fixture.read(try fixture.session(.nobody, RulesFixture.byRole), "notes/a")
    }
  }

  @Test("a request of many documents looks up twenty documents at most")
  func manyLookUps() async throws {
    for number in 0..<25 { try await fixture.set("members/r\(number)alice") }
    let alice = try fixture.session(.named("alice"), RulesFixture.byRole)
    func keys(_ count: Int) -> [DocumentKey] { (0..<count).map { key("rooms/r\($0)") } }
    _ = try await alice.documents(for: keys(20), at: nil)
    await fixture.expectDenied { _ = try await alice.documents(for: keys(21), at: nil) }
  }

  @Test("what tells more than the documents of a result is the owner's, whatever the rules say")
  func ownersOnly() async throws {
    try await fixture.set("notes/a")
    let user = try fixture.session(.named("a"), "match /{document=**} { allow read, write: if true; }")
    let query = Query(path: path("notes"))
    let attempts: [(String, () async throws -> Void)] = [
      ("the past", { _ = try await user.snapshot(at: fixture.storage.clock.clock.now()) }),
      ("plan", { _ = try await user.plan(of: query) }),
      ("explain", { try user.checkExplaining(query) }),
      ("collections", { _ = try await user.collectionIDs(under: path("notes/a"), after: nil, limit: 1, at: nil) }),
      ("partitions", { _ = try await user.partitionPoints(of: query, count: 1, minimumSize: 1, at: nil) }),
      ("clearing", { try await user.clear(path("notes")) }),
    ]
    for (name, attempt) in attempts { await fixture.expectDenied(name) { try await attempt() } }
    #expect(try await fixture.read(user, "notes/a"))
  }

  @Test("in development, tools for tests clear without a token")
  func clearing() async throws {
    try await fixture.set("notes/a")
    let nobody = try fixture.session(.nobody, "match /notes/{id} { allow read; }", isDevelopment: true)
    try await nobody.clear(path("notes"))
    #expect(try await !fixture.read(nobody, "notes/a"))
  }

  private static let byOwner = """
    match /notes/{id} {
      allow read: if exists(/databases/$(database)/documents/users/$(resource.data.owner));
      allow write: if exists(/databases/$(database)/documents/users/$(request.resource.data.owner));
    }
    """

  @Test("a value with a slash in a path leads to no other document, and to an answer")
  func slashes() async throws {
    try await fixture.set("users/mallory/notes/n")
    try await fixture.set("users/x")
    let mallory = try fixture.session(.named("mallory"), Self.byOwner)
    for owner in ["mallory/notes/n", "a/b/c", "x/", "/x"] {
      let query = Query(
        path: path("notes"), filters: [.field(try FieldPath(["owner"]), .equal, .string(owner))])
      await fixture.expectDenied(owner) { _ = try await mallory.page(of: query, after: nil, at: nil) }
      try await fixture.expectWriteDenied(
        .named("mallory"), Self.byOwner, .set(key("notes/a"), ["owner": .string(owner)]))
    }
    _ = try await mallory.commit(CommitRequest(mutations: [.set(key("notes/a"), ["owner": .string("x")])]))
  }

  @Test("documents whose names differ only in their bytes are looked up apart")
  func equivalentNames() async throws {
    let (own, others) = ("caf\u{E9}", "cafe\u{301}")
    try await fixture.set("rooms/\(own)", ["member": .string("alice")])
    try await fixture.set("rooms/\(others)", ["member": .string("bob")])
    let matches = """
      match /notes/{room} {
        allow read: if get(/databases/$(database)/documents/rooms/$(room)).data.member == request.auth.uid;
      }
      """
    let alice = try fixture.session(.named("alice"), matches)
    _ = try await alice.documents(for: [key("notes/\(own)")], at: nil)
    for keys in [[own, others], [others]] {
      await fixture.expectDenied { _ = try await alice.documents(for: keys.map { key("notes/\($0)") }, at: nil) }
    }
  }
}
