import HearthModel
import HearthWire
import Synchronization
import Testing

@testable import HearthServer

/// Targets of callers under security rules.
@Suite("Listeners under rules", .everyStorage, .timeLimit(.minutes(1)))
struct RuleListenerTests {
  private let fixture: RulesFixture

  init() throws {
    fixture = try RulesFixture()
  }

  private static let denial = "7: \(StatusError.insufficientPermissions.message)"

  @Test("a listener begins and ends with the documents that its rules look up")
  func listenerByRole() async throws {
    try await fixture.set("notes/a")
    let access = AccessRules(try RulesFixture.rules(RulesFixture.byRole), clock: fixture.storage.clock.clock)
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: access)
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
    let access = AccessRules(try RulesFixture.rules(RulesFixture.owned), clock: fixture.storage.clock.clock)
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: access)
    #expect(try await listener.add(Query(path: path("notes/a")), id: 2).contains("notes/a in 2"))
    try await fixture.set("notes/a", ["owner": .string("alice"), "n": .integer(1)])
    #expect(try await listener.catchUp().contains("notes/a in 2"))
    try await fixture.set("notes/a", ["owner": .string("bob")])
    let end = try await listener.catchUp()
    #expect(end.contains("remove 2 (\(Self.denial))") && !end.contains { $0.hasPrefix("notes") }, "\(end)")
  }

  @Test("a listener whose right ends by time ends when its token is refreshed, others of the stream go on")
  func listenerByTime() async throws {
    for name in ["notes/a", "grants/alice", "rooms/a"] { try await fixture.set(name) }
    let end = fixture.storage.clock.clock.now().seconds + 60
    let rules = """
      match /notes/{id} { allow read: if request.time.toMillis() < \(end) * 1000; }
      match /grants/{id} { allow read: if id == request.auth.uid && isOpen(request); }
      function isOpen(of) { return of.time.toMillis() < \(end) * 1000; }
      match /rooms/{id} { allow read: if request.auth.uid == 'alice' || request.time.year() == 1; }
      """
    let access = AccessRules(try RulesFixture.rules(rules), clock: fixture.storage.clock.clock)
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: access)
    for (id, name) in [(2, "notes"), (4, "grants/alice"), (6, "rooms")] as [(TargetID, String)] {
      #expect(try await listener.add(Query(path: path(name)), id: id).contains { $0.hasSuffix(" in \(id)") })
    }
    fixture.storage.clock.advance(seconds: 30)
    #expect(try await !listener.refresh().contains { $0.hasPrefix("remove") })
    fixture.storage.clock.advance(seconds: 40)
    let news = try await listener.refresh()
    #expect(news.filter { $0.hasPrefix("remove") } == [2, 4].map { "remove \($0) (\(Self.denial))" }, "\(news)")
    for name in ["notes/b", "grants/alice", "rooms/b"] { try await fixture.set(name, ["n": .integer(1)]) }
    let later = try await listener.catchUp()
    #expect(later.contains("rooms/b in 6") && !later.contains { $0.hasPrefix("notes") || $0.hasPrefix("grants") })
  }

  /// Decides the first time by other rules than later, as if a document that the rules look up had changed in between.
  private final class ChangingRules: AccessGuard {
    private let first: AccessRules
    private let later: AccessRules
    private let watches = Mutex(0)

    init(_ first: AccessRules, _ later: AccessRules) {
      (self.first, self.later) = (first, later)
    }

    func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
      guard case .watch = access else { return try later.check(access, by: caller, in: database) }
      let number = watches.withLock { watches in
        watches += 1
        return watches
      }
      return try (number == 1 ? first : later).check(access, by: caller, in: database)
    }

    func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError) {
      try later.checkOpening(database, by: caller)
    }

    func checkListing(by caller: Caller) throws(StatusError) { try later.checkListing(by: caller) }
    func tellsCallersApart(in database: DatabaseID) -> Bool { later.tellsCallersApart(in: database) }
    var release: Int { first.release }
  }

  @Test("a right that depends on the time since the listener was added ends with the time")
  func laterDecision() async throws {
    for name in ["notes/a", "flags/a"] { try await fixture.set(name, ["isOpen": .boolean(true)]) }
    let clock = fixture.storage.clock
    let isOpen = "get(/databases/$(database)/documents/flags/a).data.isOpen"
    let end = (clock.clock.now().seconds + 60) * 1000
    let rules = try [isOpen, "\(isOpen) && request.time.toMillis() < \(end)"].map {
      AccessRules(try RulesFixture.rules("match /notes/{id} { allow read: if \($0); }"), clock: clock.clock)
    }
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: ChangingRules(rules[0], rules[1]))
    #expect(try await listener.add(Query(path: path("notes")), id: 2).contains("notes/a in 2"))
    clock.advance(seconds: 30)
    #expect(try await !listener.refresh().contains { $0.hasPrefix("remove") })
    clock.advance(seconds: 40)
    #expect(try await listener.refresh().contains("remove 2 (\(Self.denial))"))
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
    let access = AccessRules(try RulesFixture.rules(Self.visible), clock: fixture.storage.clock.clock)
    let database = fixture.session(.named("mallory"), access)
    let sent = SentDocuments()
    let feed = fixture.storage.storage.feed
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
    #expect(sent.names.contains(key("posts/a")), "\(sent.names)")
  }

  @Test(
    "a document that leaves many targets of a stream is decided on once, at once and while nobody listens",
    arguments: [false, true])
  func decisions(isResumed: Bool) async throws {
    let count = Mutex(0)
    let access = ObservedRules(try fixture.access(Self.visible)) { access in
      if case .get = access { count.withLock { $0 += 1 } }
    }
    func stream() -> Listener { Listener(fixture.storage, of: .named("mallory"), accessGuard: access) }
    func add(_ listener: inout Listener, _ token: [UInt8] = []) async throws -> [String] {
      var events: [String] = []
      for id in 1...20 {
        events += try await listener.add(try publicPosts(limit: 100 + id), id: TargetID(id), token: token)
      }
      return events
    }
    try await fixture.set("posts/a", ["isPublic": .boolean(true)])
    var listener = stream()
    #expect(try await add(&listener).count { $0.hasPrefix("posts/a in") } == 20)
    let feed = fixture.storage.storage.feed
    let token = fixture.storage.storage.epochs.token(at: feed.latestVersion).bytes
    try await fixture.set("posts/a", ["isPublic": .boolean(false)])
    let before = count.withLock { $0 }
    if isResumed {
      listener = stream()
      _ = try await add(&listener, token)
    } else {
      _ = try await listener.catchUp()
    }
    #expect(count.withLock { $0 } == before + 1)
  }

  @Test("of a document that leaves a result the contents are sent if the caller may get them")
  func leavingVisible() async throws {
    try await fixture.set("posts/a", ["isPublic": .boolean(true), "owner": .string("alice"), "text": .string("open")])
    let access = AccessRules(try RulesFixture.rules(Self.visible), clock: fixture.storage.clock.clock)
    let database = fixture.session(.named("alice"), access)
    let sent = SentDocuments()
    var session = ListenSession(database: database, subscriber: fixture.storage.storage.feed.subscribe {}) {
      try sent.take($0)
    }
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
      try RulesFixture.rules("match /{document=**} { allow read: if true; }"), clock: fixture.storage.clock.clock)
    let user = fixture.session(.named("a"), access)
    let now = fixture.storage.storage.feed.latestVersion
    _ = try await user.grant(.documents((0..<100).map { key("c/\($0)") }), at: now, sharing: RuleEffort())
    let error = await #expect(throws: StatusError.self) {
      _ = try await user.grant(.documents((0..<101).map { key("c/\($0)") }), at: now, sharing: RuleEffort())
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test("users and nobody open the databases that are theirs, and no others")
  func databases() async throws {
    let rules = try RulesFixture.rules("match /{document=**} { allow read, write: if true; }")
    let access = AccessRules(rules, databases: UsersDatabases(projects: ["shop"]), clock: fixture.storage.clock.clock)
    let bound = Caller.user(Caller.User(issuer: "i", id: "a", claims: [:], projects: ["shop"]))
    let foreign = Caller.user(Caller.User(issuer: "i", id: "a", claims: [:], projects: ["payroll"]))
    let shop = DatabaseID(projectID: "shop")
    for caller in [bound, .named("a"), .nobody, .owner] { try access.checkOpening(shop, by: caller) }
    #expect(throws: StatusError.insufficientPermissions) { try access.checkOpening(shop, by: foreign) }
    for other in [DatabaseID(projectID: "payroll"), DatabaseID(projectID: "shop", database: "second")] {
      for caller in [bound, .named("a"), .nobody, foreign] {
        #expect(throws: StatusError.insufficientPermissions) { try access.checkOpening(other, by: caller) }
      }
      try access.checkOpening(other, by: .owner)
    }
    // Swift's strings are equal if they show the same characters; names of databases are their bytes.
    let accented = AccessRules(
      rules, databases: UsersDatabases(projects: ["caf\u{e9}", "Kiosk"]), clock: fixture.storage.clock.clock)
    let likeThem = Caller.user(
      Caller.User(issuer: "i", id: "a", claims: [:], projects: ["cafe\u{301}", "\u{212a}iosk"]))
    for project in ["caf\u{e9}", "Kiosk"] {
      try accented.checkOpening(DatabaseID(projectID: project), by: .nobody)
      #expect(throws: StatusError.insufficientPermissions) {
        try accented.checkOpening(DatabaseID(projectID: project), by: likeThem)
      }
    }
    for project in ["cafe\u{301}", "\u{212a}iosk"] {
      #expect(throws: StatusError.insufficientPermissions) {
        try accented.checkOpening(DatabaseID(projectID: project), by: .nobody)
      }
    }
    // Without rules there is nothing to open.
    #expect(throws: StatusError.insufficientPermissions) { try AccessRules().checkOpening(shop, by: bound) }
  }

  @Test("a listener ends when new rules do not allow it, and the others of its stream go on")
  func listenerByRelease() async throws {
    try await fixture.set("notes/a")
    try await fixture.set("rooms/a")
    let access = AccessRules(
      try RulesFixture.rules("match /{document=**} { allow read: if true; }"), clock: fixture.storage.clock.clock)
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: access)
    #expect(try await listener.add(Query(path: path("notes")), id: 2).contains("notes/a in 2"))
    #expect(try await listener.add(Query(path: path("rooms")), id: 4).contains("rooms/a in 4"))
    access.replace(try RulesFixture.rules("match /rooms/{id} { allow read: if true; }"))
    let end = try await listener.refresh()
    #expect(end.contains("remove 2 (\(Self.denial))") && !end.contains { $0.hasPrefix("remove 4") }, "\(end)")
    try await fixture.set("rooms/b")
    try await fixture.set("notes/b")
    let news = try await listener.catchUp()
    #expect(news.contains("rooms/b in 4") && !news.contains { $0.hasPrefix("notes") }, "\(news)")
  }

  @Test("the first rules hold for streams that are older")
  func olderStream() async throws {
    try await fixture.set("notes/a", ["owner": .string("bob")])
    let access = AccessRules(isDevelopment: true, clock: fixture.storage.clock.clock)
    let alice = fixture.session(.named("alice"), access)
    var listener = Listener(fixture.storage, of: .named("alice"), accessGuard: access)
    #expect(try await listener.add(Query(path: path("notes")), id: 2).contains("notes/a in 2"))
    _ = try await alice.commit(CommitRequest(mutations: [.set(key("notes/b"), [:])]))
    #expect(try await listener.catchUp().contains("notes/b in 2"))
    access.replace(try RulesFixture.rules(RulesFixture.owned))
    let end = try await listener.refresh()
    #expect(end.contains { $0.hasPrefix("remove 2 (7") }, "\(end)")
    await fixture.expectDenied { _ = try await alice.commit(CommitRequest(mutations: [.set(key("notes/c"), [:])])) }
  }

  @Test("those who observe rules hear of each replacement")
  func observed() throws {
    let access = AccessRules()
    let count = Mutex(0)
    access.observe { count.withLock { $0 += 1 } }
    access.replace(try RulesFixture.rules(RulesFixture.owned))
    access.replace(try RulesFixture.rules(RulesFixture.owned), of: "p")
    #expect(count.withLock { $0 } == 2)
  }

  @Test("in development the caller is told which rule has refused")
  func explained() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let access = AccessRules(
      try RulesFixture.rules(RulesFixture.owned), isDevelopment: true, clock: fixture.storage.clock.clock)
    let bob = fixture.session(.named("bob"), access)
    let error = await #expect(throws: StatusError.self) { _ = try await fixture.read(bob, "notes/a") }
    #expect(error?.code == .permissionDenied)
    #expect(
      error?.message.contains("notes/a") == true && error?.message.contains("false for 'get' @ L4") == true,
      "\(error?.message ?? "")"
    )
  }
}
