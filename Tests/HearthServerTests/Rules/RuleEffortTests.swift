import HearthModel
import HearthWire
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HearthRPC
@testable import HearthServer

/// The cost of decisions of rules, and the threads on which they are made.
@Suite("The effort of decisions", .timeLimit(.minutes(1)))
struct RuleEffortTests {
  private let fixture: RulesFixture

  init() throws {
    fixture = try RulesFixture()
  }

  // MARK: - Of listeners

  private static let rules = """
    function room() { return get(/databases/$(database)/documents/rooms/r).data; }
    function isThere() { return room().members.hasAny([request.auth.uid]); }
    function isDear() { return !isThere() && !isThere(); }
    match /dear/{id} { allow list: if request.time.toMillis() > 0 && isDear(); }
    match /notes/{id} { allow list: if resource.data.n == 1; allow get: if isDear(); }
    """

  private func listener() throws -> Listener {
    Listener(fixture.storage, of: .named("alice"), accessGuard: try fixture.access(Self.rules))
  }

  private func query(_ collection: String, _ number: Int) -> Query {
    Query(path: path(collection)).with(filter: .field(field("n"), .equal, number.value))
  }

  @Test("targets of a stream that are decided on again end by their own effort alone, not by that of all")
  func targets() async throws {
    try await fixture.setLargeRoom()
    var listener = try listener()
    for id in 1...60 {
      #expect(try await !listener.add(query("dear", id), id: TargetID(id)).contains { $0.hasPrefix("remove") })
    }
    #expect(try await !listener.refresh().contains { $0.hasPrefix("remove") })
    try await fixture.storage.set("rooms/r", ["members": .array([.string("alice")])])
    #expect(try await listener.catchUp().count { $0.hasPrefix("remove") } == 60)
  }

  private static let document = Document.found(
    key("c/a"), version: SnapshotVersion(microseconds: 1),
    fields: EncodedFields(["text": .string(String(repeating: "x", count: 1_000))]))

  @Test("efforts of a step share what was decoded and the turns of others, and each has its own bound")
  func sharedEfforts() async throws {
    let first = RuleEffort()
    #expect(first.spend(RuleEffort.maximum) && !first.spend(1))
    let second = first.another()
    #expect(second.takeTurn() && !second.takeTurn() && !first.takeTurn())
    #expect(second.spend(RuleEffort.maximum) && !second.spend(1))
    #expect(first.takeTurn())
    let cost = try first.fields(of: Self.document).effort
    #expect(try second.fields(of: Self.document).effort < cost / 8)
  }

  @Test("a document that many targets of a stream look up is decoded once for a step, and again for the next one")
  func decoding() throws {
    let decisions = StreamDecisions()
    for _ in 1...2 {
      let cost = try decisions.effortOfTarget().fields(of: Self.document).effort
      #expect(cost > 1_000)
      for _ in 1...3 { #expect(try decisions.effortOfTarget().fields(of: Self.document).effort < cost / 8) }
      decisions.endStep()
    }
  }

  @Test("of documents that leave a result together, those beyond the effort are named and not sent")
  func leaving() async throws {
    try await fixture.setLargeRoom()
    let keys = (0..<60).map { key("notes/\($0)") }
    for key in keys { try await fixture.storage.commit(.set(key, ["n": 1.value])) }
    let sent = SentDocuments()
    var session = ListenSession(
      database: fixture.session(.named("alice"), try fixture.access(Self.rules)),
      subscriber: fixture.storage.storage.feed.subscribe {}
    ) { try sent.take($0) }
    let request = TargetRequest(
      targetID: 2, target: query("notes", 1).target, purpose: .listen, resumeToken: [], readTime: nil,
      expectedCount: nil)
    try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    #expect(sent.found.count == 60 && sent.names.isEmpty)
    for (count, number) in [(60, 2), (10, 3)] {
      if number == 3 {
        for key in keys { try await fixture.storage.commit(.set(key, ["n": 1.value])) }
        try await session.catchUp()
      }
      sent.forget()
      let writes = keys.prefix(count).map { Mutation.set($0, ["n": number.value]) }
      _ = try await fixture.storage.storage.commit(CommitRequest(mutations: writes))
      try await session.catchUp()
      let (found, named) = (sent.found.count, sent.names.count)
      #expect(found + named == count)
      // The next step has its own effort.
      #expect(count == 60 ? (1...50).contains(named) : named == 0, "\(found) found, \(named) named")
    }
  }

  // MARK: - Of commits

  @Test("each attempt to carry a commit out has an effort of its own, and all that is asked in it shares one")
  func attempts() async throws {
    try await fixture.setLargeRoom()
    let room = try await fixture.storage.storage.documents(for: [key("rooms/r")], at: nil).documents[0]
    let rules = try fixture.access(
      """
      function isThere() {
        return get(/databases/$(database)/documents/rooms/r).data.members.hasAny([request.auth.uid]);
      }
      match /notes/{id} { allow write: if !isThere() && !isThere(); }
      """)
    var request = CommitRequest(mutations: [.set(key("notes/a"), [:])])
    let access = Access.write(request.mutations)
    let commitGuard = try #require(try rules.check(access, by: .named("alice"), in: ServerFixture.database))
    func attempt(_ count: Int) throws {
      for _ in 0..<count {
        let evaluation = try RequestEvaluation(
          request, in: ServerFixture.database, at: SnapshotVersion(microseconds: 1), maximumRewrittenBytes: 1 << 20,
          metrics: nil
        ).evaluate(DocumentReads { $0 == room.key ? room : .missing($0, version: .none) })
        #expect(evaluation.transitions.count == 1)
      }
    }
    request.commitGuard = commitGuard
    try attempt(60)
    request.commitGuard = try commitGuard.inOneAttempt()
    #expect(throws: StatusError.insufficientPermissions) { try attempt(60) }
  }

  // MARK: - On event loops

  @Test("what a brief commit tells of former contents is not decided on its event loop")
  func results() async throws {
    // True for decisions on an event loop.
    let places = Mutex<(ofWrites: Set<Bool>, ofReads: Set<Bool>)>(([], []))
    let guarding = ObservedRules(try fixture.access("match /notes/{id} { allow read, write: if true; }")) { access in
      let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
      places.withLock { places in
        switch access {
        case .write: _ = places.ofWrites.insert(isOnLoop)
        default: _ = places.ofReads.insert(isOnLoop)
        }
      }
    }
    let session = Session(
      fixture.storage.database, of: .named("alice"), accessGuard: guarding, seal: fixture.seal)
    let mask = FieldMask([field("n")])
    let increment = Mutation.patch(
      key("notes/a"), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field("n"), operation: .increment(1.value))])
    var ofDocument = CommitRequest(mutations: [.patch(key("notes/a"), ["n": 2.value], mask: mask)])
    ofDocument.returnsDocument = true
    let requests = [CommitRequest(mutations: [increment]), ofDocument]
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    try await withTaskExecutorPreference(EventLoopTaskExecutor(group.next())) {
      for request in requests { _ = try await session.commit(request) }
    }
    #expect(places.withLock { $0.ofWrites } == [true])
    #expect(places.withLock { $0.ofReads } == [false])
    try await group.shutdownGracefully()
  }
}
