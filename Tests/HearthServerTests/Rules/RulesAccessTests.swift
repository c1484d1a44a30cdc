import Foundation
import HearthModel
import HearthRules
import HearthWire
import Synchronization
import Testing

@testable import HearthServer

/// The access of callers to a database with security rules.
@Suite("Access by rules", .timeLimit(.minutes(1)))
struct RulesAccessTests {
  /// Rules for the documents of a database; lines of `match`.
  private static func rules(_ matches: String) throws -> RuleSet {
    try RuleSet(
      """
      rules_version = '2';
      service cloud.firestore {
        match /databases/{database}/documents {
          \(matches)
        }
      }
      """)
  }

  private let fixture: StorageFixture
  private let seal = CallerSeal()

  init() throws {
    fixture = try StorageFixture()
  }

  private func session(_ caller: Caller, _ matches: String) throws -> Session {
    Session(
      fixture.database, of: caller, accessGuard: AccessRules(try Self.rules(matches), clock: fixture.clock.clock),
      seal: seal)
  }

  private func expectDenied(
    _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
  ) async {
    let error = await #expect(throws: StatusError.self, "\(what)", sourceLocation: sourceLocation) { try await body() }
    #expect(error?.code == .permissionDenied, "\(what)", sourceLocation: sourceLocation)
  }

  private func read(_ session: Session, _ path: String) async throws -> Bool {
    try await session.documents(for: [key(path)], at: nil).documents[0].isFound
  }

  private static let owned = "match /notes/{id} { allow read, write: if resource.data.owner == request.auth.uid; }"

  // MARK: - Reads

  @Test("a document is read by its contents, alone and among others")
  func get() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    try await fixture.set("notes/b", ["owner": .string("bob")])
    let alice = try session(.named("alice"), Self.owned)
    #expect(try await read(alice, "notes/a"))
    await expectDenied { _ = try await read(alice, "notes/b") }
    // Nobody learns that there is none.
    await expectDenied { _ = try await read(alice, "notes/c") }
    await expectDenied { _ = try await alice.documents(for: [key("notes/a"), key("notes/b")], at: nil) }
    await expectDenied { _ = try await alice.firstDocuments(of: [key("notes/a"), key("notes/b")], at: nil) }
    await expectDenied { _ = try await read(try session(.nobody, Self.owned), "notes/a") }
    #expect(try await read(try session(.owner, "match /x/{id} { allow read: if false; }"), "notes/b"))
  }

  @Test("without a rule for it, or without rules, nobody but the owner may do anything")
  func defaultDeny() async throws {
    try await fixture.set("notes/a")
    await expectDenied {
      _ = try await read(try session(.named("a"), "match /other/{id} { allow read: if true; }"), "notes/a")
    }
    let none = Session(fixture.database, of: .named("a"), accessGuard: AccessRules(), seal: seal)
    await expectDenied { _ = try await read(none, "notes/a") }
    await expectDenied { _ = try await none.beginTransaction(.optimistic) }
    let open = Session(fixture.database, of: .named("a"), accessGuard: AccessRules(isDevelopment: true), seal: seal)
    #expect(try await read(open, "notes/a"))
  }

  @Test("a query is allowed if its filters make the rules hold for everything that it could return")
  func list() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let alice = try session(.named("alice"), Self.owned)
    let all = Query(path: path("notes"))
    let own = all.with(filter: .field(try FieldPath(["owner"]), .equal, .string("alice")))
    let others = all.with(filter: .field(try FieldPath(["owner"]), .equal, .string("bob")))
    let count = Aggregation(alias: "n", operation: .count(upTo: nil))
    #expect(try await alice.page(of: own, after: nil, at: nil).answer.documents.count == 1)
    #expect(
      try await alice.aggregate([count], over: own, skipping: 0, at: nil).totals.values == ["n": .integer(1)])
    for query in [all, others, Query(path: ResourcePath(), collectionGroup: "")] {
      await expectDenied { _ = try await alice.page(of: query, after: nil, at: nil) }
      await expectDenied { _ = try await alice.aggregate([count], over: query, skipping: 0, at: nil) }
    }
    // A query that names a document is decided as a get.
    #expect(try await alice.page(of: Query(path: path("notes/a")), after: nil, at: nil).answer.documents.count == 1)
    let limited = try session(
      .nobody, "match /notes/{id} { allow list: if request.query.limit <= 10; }")
    _ = try await limited.page(of: all.with(limit: 10), after: nil, at: nil)
    await expectDenied { _ = try await limited.page(of: all.with(limit: 11), after: nil, at: nil) }
  }

  private static let byRole = """
    function role() { return get(/databases/$(database)/documents/roles/$(request.auth.uid)).data.role; }
    match /notes/{id} { allow read, write: if role() == 'editor'; }
    match /rooms/{id} { allow read: if exists(/databases/$(database)/documents/members/$(id + request.auth.uid)); }
    """

  @Test("rules look documents up as they are at the version that is read")
  func lookUps() async throws {
    try await fixture.set("notes/a")
    let before = try await fixture.set("roles/alice", ["role": .string("reader")])
    let alice = try session(.named("alice"), Self.byRole)
    await expectDenied { _ = try await read(alice, "notes/a") }
    await expectDenied { _ = try await alice.page(of: Query(path: path("notes")), after: nil, at: nil) }
    fixture.clock.advance(seconds: 1)
    try await fixture.set("roles/alice", ["role": .string("editor")])
    #expect(try await read(alice, "notes/a"))
    _ = try await alice.page(of: Query(path: path("notes")), after: nil, at: nil)
    await expectDenied { _ = try await alice.documents(for: [key("notes/a")], at: before) }
    await expectDenied { _ = try await read(alice, "rooms/1") }
    try await fixture.set("members/1alice")
    #expect(try await !read(alice, "rooms/1"))
    // Nobody's rule fails, and an error denies.
    await expectDenied { _ = try await read(try session(.nobody, Self.byRole), "notes/a") }
  }

  @Test("a request of many documents looks up twenty documents at most")
  func manyLookUps() async throws {
    for number in 0..<25 { try await fixture.set("members/r\(number)alice") }
    let alice = try session(.named("alice"), Self.byRole)
    func keys(_ count: Int) -> [DocumentKey] { (0..<count).map { key("rooms/r\($0)") } }
    _ = try await alice.documents(for: keys(20), at: nil)
    await expectDenied { _ = try await alice.documents(for: keys(21), at: nil) }
  }

  @Test("what tells more than the documents of a result is the owner's, whatever the rules say")
  func ownersOnly() async throws {
    try await fixture.set("notes/a")
    let user = try session(.named("a"), "match /{document=**} { allow read, write: if true; }")
    let query = Query(path: path("notes"))
    let attempts: [(String, () async throws -> Void)] = [
      ("the past", { _ = try await user.snapshot(at: fixture.clock.clock.now()) }),
      ("plan", { _ = try await user.plan(of: query) }),
      ("explain", { try user.checkExplaining(query) }),
      ("collections", { _ = try await user.collectionIDs(under: path("notes/a"), after: nil, limit: 1, at: nil) }),
      ("partitions", { _ = try await user.partitionPoints(of: query, count: 1, minimumSize: 1, at: nil) }),
      ("clearing", { try await user.clear(path("notes")) }),
    ]
    for (name, attempt) in attempts { await expectDenied(name) { try await attempt() } }
    #expect(try await read(user, "notes/a"))
  }

  // MARK: - Writes

  private func expectWriteDenied(
    _ session: Session, _ mutations: Mutation..., sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try fixture.storage.currentVersion()
    await expectDenied(sourceLocation: sourceLocation) {
      _ = try await session.commit(CommitRequest(mutations: mutations))
    }
    await expectDenied(sourceLocation: sourceLocation) {
      _ = try await session.commit(mutations, endingTransaction: session.beginTransaction(.optimistic))
    }
    #expect(try fixture.storage.currentVersion() == before, sourceLocation: sourceLocation)
  }

  private static let methods = """
    match /c/{id} {
      allow create: if request.resource.data.owner == request.auth.uid && request.resource.data.at == request.time;
      allow update: if resource.data.owner == request.auth.uid
        && request.resource.data.diff(resource.data).affectedKeys().hasOnly(['text']);
      allow delete: if resource.data.text == 'old';
    }
    """

  private func created(_ owner: String) throws -> Mutation {
    Mutation(
      key: key("c/a"), operation: .set(EncodedFields(["owner": .string(owner)])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["at"]), operation: .serverTimestamp)])
  }

  private func patch(_ name: String, _ value: Value) throws -> Mutation {
    .patch(key("c/a"), MapValue([name: value]), mask: FieldMask([try FieldPath([name])]))
  }

  @Test("creating, updating and deleting are decided by what is there and what will be")
  func methods() async throws {
    let alice = try session(.named("alice"), Self.methods)
    try await expectWriteDenied(alice, try created("bob"))
    try await expectWriteDenied(alice, .set(key("c/a"), ["owner": .string("alice"), "at": .integer(1)]))
    try await expectWriteDenied(alice, .delete(key("c/a")))
    _ = try await alice.commit(CommitRequest(mutations: [created("alice")]))
    try await expectWriteDenied(alice, try patch("owner", .string("bob")))
    try await expectWriteDenied(try session(.named("bob"), Self.methods), try patch("text", .string("x")))
    try await expectWriteDenied(alice, .delete(key("c/a")))
    _ = try await alice.commit([try patch("text", .string("old"))], endingTransaction: [])
    // All or nothing.
    try await expectWriteDenied(alice, try patch("text", .string("new")), .set(key("d/a"), [:]))
    _ = try await alice.commit(CommitRequest(mutations: [.delete(key("c/a"))]))
    #expect(try await !fixture.storage.documents(for: [key("c/a")], at: nil).documents[0].isFound)
  }

  @Test("a condition tells nothing of a document to those who may not write it")
  func conditions() async throws {
    try await fixture.set("c/a", ["owner": .string("alice"), "text": .string("x")])
    let bob = try session(.named("bob"), Self.methods)
    for precondition in [Precondition.exists(false), .exists(true), .updateTime(SnapshotVersion(.epoch))] {
      for path in ["c/a", "c/none", "d/none"] {
        var write = Mutation.set(key(path), ["owner": .string("x")])
        write.precondition = precondition
        try await expectWriteDenied(bob, write)
        var deletion = Mutation.delete(key(path))
        deletion.precondition = precondition
        try await expectWriteDenied(bob, deletion)
      }
    }
    // Those who may write learn it.
    let alice = try session(.named("alice"), Self.methods)
    var change = try patch("text", .string("y"))
    change.precondition = .updateTime(SnapshotVersion(.epoch))
    let error = await #expect(throws: StatusError.self) {
      _ = try await alice.commit(CommitRequest(mutations: [change]))
    }
    #expect(error?.code == .failedPrecondition)
  }

  @Test("an error tells nothing of the size or the fields of a document to those who may not write it")
  func sizes() async throws {
    try await fixture.set(
      "c/a", ["text": .string(String(repeating: "x", count: 600_000)), "list": .array([.string("carol")])])
    let bob = try session(.named("bob"), "match /d/{id} { allow write: if true; }")
    let padding = Value.string(String(repeating: "y", count: 600_000))
    for path in ["c/a", "c/none"] {
      let mask = FieldMask([try FieldPath(["z"])])
      var write = Mutation.patch(key(path), MapValue(["z": padding]), mask: mask)
      write.precondition = .none
      try await expectWriteDenied(bob, write)
      write.transforms = [FieldTransform(path: try FieldPath(["list"]), operation: .arrayUnion([.string("carol")]))]
      try await expectWriteDenied(bob, write)
    }
    // Those who may write it are told.
    let alice = try session(.named("alice"), "match /c/{id} { allow write: if true; }")
    let large = Mutation.patch(key("c/a"), MapValue(["z": padding]), mask: FieldMask([try FieldPath(["z"])]))
    let error = await #expect(throws: StatusError.self) {
      _ = try await alice.commit(CommitRequest(mutations: [large]))
    }
    #expect(error?.code == .invalidArgument && error?.message.contains("size") == true)
  }

  @Test("who may write a document and not read it gets its name and its time")
  func writtenDocument() async throws {
    try await fixture.set("polls/a", ["votes": .integer(1), "secret": .string("x")])
    let change = Mutation.patch(
      key("polls/a"), MapValue(["votes": .integer(2)]), mask: FieldMask([try FieldPath(["votes"])]))
    let request = CommitRequest(mutations: [change], returnsDocument: true)
    let writer = try session(.named("a"), "match /polls/{id} { allow update: if true; }")
    let outcome = try await writer.commit(request)
    #expect(try outcome.document?.fields.decoded() == [:] && outcome.document?.version == outcome.version)
    let reader = try session(.named("a"), "match /polls/{id} { allow get, update: if true; }")
    #expect(try await reader.commit(request).document?.fields.decoded()["secret"] == .string("x"))
  }

  @Test("the result of an increment is for those who may read the document")
  func transformResults() async throws {
    try await fixture.set("polls/a", ["balance": .integer(1_000)])
    let probe = Mutation(
      key: key("polls/a"), operation: .patch(EncodedFields([:]), mask: FieldMask([])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["balance"]), operation: .increment(.integer(0)))])
    for (matches, result) in [
      ("allow update: if true;", Value.null), ("allow get, update: if true;", .integer(1_000)),
    ] {
      let caller = try session(.named("a"), "match /polls/{id} { \(matches) }")
      let outcomes = [
        try await caller.commit(CommitRequest(mutations: [probe])),
        try await caller.commit([probe], endingTransaction: []),
      ]
      for outcome in outcomes { #expect(outcome.results.first?.transformResults == [result]) }
    }
  }

  @Test("who may read a document learns that it has changed, also if the rules do not allow the write any more")
  func lostRace() async throws {
    let matches = "match /slots/{id} { allow read; allow update: if resource.data.owner == null; }"
    let free = try await fixture.set("slots/a", ["owner": .null])
    fixture.clock.advance(seconds: 1)
    try await fixture.set("slots/a", ["owner": .string("bob")])
    var claim = Mutation.set(key("slots/a"), ["owner": .string("alice")])
    claim.precondition = .updateTime(free)
    let alice = try session(.named("alice"), matches)
    let error = await #expect(throws: StatusError.self) {
      _ = try await alice.commit(CommitRequest(mutations: [claim]))
    }
    #expect(error?.code == .failedPrecondition)
    let blind = try session(.named("alice"), matches.replacing("allow read;", with: ""))
    try await expectWriteDenied(blind, claim)
  }

  @Test("a verification is a read")
  func verify() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let verification = Mutation(key: key("notes/a"), operation: .verify, precondition: .exists(true))
    _ = try await session(.named("alice"), Self.owned).commit(CommitRequest(mutations: [verification]))
    try await expectWriteDenied(try session(.named("bob"), Self.owned), verification)
  }

  @Test("getAfter sees the documents after all writes of the request, and get those before")
  func after() async throws {
    let matches = """
      match /rooms/{id} {
        allow create: if getAfter(/databases/$(database)/documents/members/$(id)).data.user == request.auth.uid
          && !exists(/databases/$(database)/documents/members/$(id));
      }
      match /members/{id} { allow write: if existsAfter(/databases/$(database)/documents/rooms/$(id)); }
      """
    let alice = try session(.named("alice"), matches)
    let room = Mutation.set(key("rooms/1"), [:])
    let member = Mutation.set(key("members/1"), ["user": .string("alice")])
    try await expectWriteDenied(alice, room)
    try await expectWriteDenied(alice, member)
    try await expectWriteDenied(alice, room, .set(key("members/1"), ["user": .string("bob")]))
    _ = try await alice.commit(CommitRequest(mutations: [room, member]))
    #expect(try await fixture.storage.documents(for: [key("members/1")], at: nil).documents[0].isFound)
  }

  @Test("nobody locks what it may not read", arguments: [TransactionIsolation.pessimistic, .optimistic])
  func locks(isolation: TransactionIsolation) async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    await expectDenied { _ = try await session(.named("bob"), Self.owned).beginTransaction(isolation) }
    // In development users have transactions, as with the emulator.
    let access = AccessRules(try Self.rules(Self.owned), isDevelopment: true, clock: fixture.clock.clock)
    let bob = Session(fixture.database, of: .named("bob"), accessGuard: access, seal: seal)
    let transaction = try await bob.beginTransaction(isolation)
    for read in [Access.get([key("notes/a")]), .list(Query(path: path("notes")))] {
      let error = await #expect(throws: StatusError.self) { _ = try await bob.read(read, in: transaction) }
      #expect(error?.code == .permissionDenied)
    }
    #expect(fixture.database.registry.use().reads == 0)
    try await bob.rollback(transaction)
  }

  // MARK: - Listeners

  private static let denial = "7: \(StatusError.insufficientPermissions.message)"

  @Test("a listener begins and ends with the documents that its rules look up")
  func listenerByRole() async throws {
    try await fixture.set("notes/a")
    let access = AccessRules(try Self.rules(Self.byRole), clock: fixture.clock.clock)
    var listener = Listener(fixture, of: .named("alice"), accessGuard: access)
    let query = Query(path: path("notes"))
    #expect(try await listener.add(query, id: 2) == ["add 2", "remove 2 (\(Self.denial))"])
    try await fixture.set("roles/alice", ["role": .string("editor")])
    #expect(try await listener.add(query, id: 4).contains("notes/a in 4"))
    try await fixture.set("notes/b")
    #expect(try await listener.catchUp().contains("notes/b in 4"))
    let wakes = listener.wakeCount
    try await fixture.set("roles/alice", ["role": .string("reader")])
    #expect(listener.wakeCount == wakes + 1)
    try await fixture.set("notes/c")
    let end = try await listener.catchUp()
    #expect(end.contains("remove 4 (\(Self.denial))") && !end.contains { $0.hasPrefix("notes/c") }, "\(end)")
    try await fixture.set("notes/d")
    #expect(try await !listener.catchUp().contains { $0.hasPrefix("notes") })
  }

  @Test("a listener of a document ends with contents that its caller may not read, which are not sent")
  func listenerByContents() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let access = AccessRules(try Self.rules(Self.owned), clock: fixture.clock.clock)
    var listener = Listener(fixture, of: .named("alice"), accessGuard: access)
    #expect(try await listener.add(Query(path: path("notes/a")), id: 2).contains("notes/a in 2"))
    try await fixture.set("notes/a", ["owner": .string("alice"), "n": .integer(1)])
    #expect(try await listener.catchUp().contains("notes/a in 2"))
    try await fixture.set("notes/a", ["owner": .string("bob")])
    let end = try await listener.catchUp()
    #expect(end.contains("remove 2 (\(Self.denial))") && !end.contains { $0.hasPrefix("notes") }, "\(end)")
  }

  /// Everything that a stream has sent about documents.
  private final class Sent: Sendable {
    private let documents = Mutex<[(key: DocumentKey, fields: MapValue)]>([])

    func take(_ messages: [ListenMessage]) throws {
      for response in try messages.flatMap({ try $0.decoded }) {
        guard case .documentChange(let change) = response, let document = change.document, document.isFound else {
          continue
        }
        let fields = try document.fields.decoded()
        documents.withLock { $0.append((document.key, fields)) }
      }
    }

    var texts: [String] {
      documents.withLock { $0.compactMap { if case .string(let text)? = $0.fields["text"] { text } else { nil } } }
    }
  }

  private static let visible = """
    match /posts/{id} { allow read: if resource.data.isPublic == true || resource.data.owner == request.auth.uid; }
    """

  private func publicPosts(limit: Int? = nil) throws -> Query {
    var query = Query(path: path("posts"), filters: [.field(try FieldPath(["isPublic"]), .equal, .boolean(true))])
    query.limit = limit
    return query
  }

  @Test(
    "of a document that leaves a result only the name is sent, whether it leaves at once, in between, or while nobody listens",
    arguments: [nil, 1, 5], [false, true])
  func leaving(limit: Int?, isResumed: Bool) async throws {
    try await fixture.set("posts/a", ["isPublic": .boolean(true), "text": .string("open")])
    let access = AccessRules(try Self.rules(Self.visible), clock: fixture.clock.clock)
    let database = Session(fixture.database, of: .named("mallory"), accessGuard: access, seal: seal)
    let sent = Sent()
    let feed = fixture.storage.feed
    func stream() -> ListenSession {
      ListenSession(database: database, subscriber: feed.subscribe {}) { try sent.take($0) }
    }
    func request(_ token: [UInt8]) throws -> Google_Firestore_V1_ListenRequest {
      let request = TargetRequest(
        targetID: 2, target: try publicPosts(limit: limit).target, purpose: .listen, resumeToken: token, readTime: nil,
        expectedCount: nil)
      return ServerFixture.translator.encode(WatchRequest.addTarget(request))
    }
    var session = stream()
    try await session.handle(try request([]))
    #expect(sent.texts == ["open"])
    let token = database.epochs.token(at: database.feed.latestVersion).bytes
    try await fixture.set("posts/a", ["isPublic": .boolean(false), "text": .string("secret")])
    try await fixture.set("posts/b", ["isPublic": .boolean(true), "text": .string("open too")])
    try await fixture.set("posts/b", ["isPublic": .boolean(false), "text": .string("secret too")])
    try await fixture.set("posts/c", ["isPublic": .boolean(true), "text": .string("new")])
    if isResumed {
      session = stream()
      try await session.handle(try request(token))
    } else {
      try await session.catchUp()
    }
    #expect(sent.texts.contains("new") && !sent.texts.contains { $0.hasPrefix("secret") }, "\(sent.texts)")
  }

  @Test("of a document that leaves a result the contents are sent if the caller may get them")
  func leavingVisible() async throws {
    try await fixture.set("posts/a", ["isPublic": .boolean(true), "owner": .string("alice"), "text": .string("open")])
    let access = AccessRules(try Self.rules(Self.visible), clock: fixture.clock.clock)
    let database = Session(fixture.database, of: .named("alice"), accessGuard: access, seal: seal)
    let sent = Sent()
    var session = ListenSession(database: database, subscriber: fixture.storage.feed.subscribe {}) { try sent.take($0) }
    let request = TargetRequest(
      targetID: 2, target: try publicPosts().target, purpose: .listen, resumeToken: [], readTime: nil,
      expectedCount: nil)
    try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    try await fixture.set(
      "posts/a", ["isPublic": .boolean(false), "owner": .string("alice"), "text": .string("closed")])
    try await session.catchUp()
    #expect(sent.texts == ["open", "closed"])
  }

  @Test("a target names a hundred documents at most, because all are decided with each change of one")
  func manyDocuments() async throws {
    let access = AccessRules(
      try Self.rules("match /{document=**} { allow read: if true; }"), clock: fixture.clock.clock)
    let user = Session(fixture.database, of: .named("a"), accessGuard: access, seal: seal)
    let now = fixture.storage.feed.latestVersion
    _ = try await user.grant(.documents((0..<100).map { key("c/\($0)") }), at: now)
    let error = await #expect(throws: StatusError.self) {
      _ = try await user.grant(.documents((0..<101).map { key("c/\($0)") }), at: now)
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test("users and nobody open the databases that are theirs, and no others")
  func databases() async throws {
    let rules = try Self.rules("match /{document=**} { allow read, write: if true; }")
    let access = AccessRules(rules, databases: UsersDatabases(projects: ["shop"]), clock: fixture.clock.clock)
    let bound = Caller.user(Caller.User(issuer: "i", id: "a", claims: [:], project: "shop"))
    let foreign = Caller.user(Caller.User(issuer: "i", id: "a", claims: [:], project: "payroll"))
    let shop = DatabaseID(projectID: "shop")
    for caller in [bound, .named("a"), .nobody, .owner] { try access.checkOpening(shop, by: caller) }
    #expect(throws: StatusError.insufficientPermissions) { try access.checkOpening(shop, by: foreign) }
    for other in [DatabaseID(projectID: "payroll"), DatabaseID(projectID: "shop", database: "second")] {
      for caller in [bound, .named("a"), .nobody, foreign] {
        #expect(throws: StatusError.insufficientPermissions) { try access.checkOpening(other, by: caller) }
      }
      try access.checkOpening(other, by: .owner)
    }
    // Without rules there is nothing to open.
    #expect(throws: StatusError.insufficientPermissions) { try AccessRules().checkOpening(shop, by: bound) }
  }

  @Test("a listener ends when new rules do not allow it, and the others of its stream go on")
  func listenerByRelease() async throws {
    try await fixture.set("notes/a")
    try await fixture.set("rooms/a")
    let access = AccessRules(
      try Self.rules("match /{document=**} { allow read: if true; }"), clock: fixture.clock.clock)
    var listener = Listener(fixture, of: .named("alice"), accessGuard: access)
    #expect(try await listener.add(Query(path: path("notes")), id: 2).contains("notes/a in 2"))
    #expect(try await listener.add(Query(path: path("rooms")), id: 4).contains("rooms/a in 4"))
    access.replace(try Self.rules("match /rooms/{id} { allow read: if true; }"))
    let end = try await listener.refresh()
    #expect(end.contains("remove 2 (\(Self.denial))") && !end.contains { $0.hasPrefix("remove 4") }, "\(end)")
    try await fixture.set("rooms/b")
    try await fixture.set("notes/b")
    let news = try await listener.catchUp()
    #expect(news.contains("rooms/b in 4") && !news.contains { $0.hasPrefix("notes") }, "\(news)")
  }

  @Test("in development the caller is told which rule has refused")
  func explained() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let access = AccessRules(try Self.rules(Self.owned), isDevelopment: true, clock: fixture.clock.clock)
    let bob = Session(fixture.database, of: .named("bob"), accessGuard: access, seal: seal)
    let error = await #expect(throws: StatusError.self) { _ = try await read(bob, "notes/a") }
    #expect(error?.code == .permissionDenied)
    #expect(
      error?.message.contains("notes/a") == true && error?.message.contains("line 4") == true, "\(error?.message ?? "")"
    )
  }
}
