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

  /// The room has a list of 850 KB.
  private static let rules = """
    function room() { return get(/databases/$(database)/documents/rooms/r).data; }
    function isThere() { return room().members.hasAny([request.auth.uid]); }
    function isDear() { return !isThere() && !isThere(); }
    match /dear/{id} { allow list: if request.time.toMillis() > 0 && isDear(); }
    match /light/{id} { allow list: if request.time.toMillis() > 0 && !(request.auth.uid in room().members); }
    match /notes/{id} { allow list: if resource.data.n == 1; allow get: if isDear(); }
    """

  private func setRoom() async throws {
    let members = (0..<25_000).map { Value.string("member with the number \($0)") }
    try await fixture.storage.set("rooms/r", ["members": .array(members)])
  }

  private func listener() throws -> Listener {
    Listener(fixture.storage, of: .named("alice"), accessGuard: try fixture.access(Self.rules))
  }

  private func query(_ collection: String, _ number: Int) -> Query {
    Query(path: path(collection)).with(filter: .field(field("n"), .equal, number.value))
  }

  @Test("targets of a stream that are decided on again end by their own effort alone, not by that of all")
  func targets() async throws {
    try await setRoom()
    var listener = try listener()
    for id in 1...60 {
      #expect(try await !listener.add(query("dear", id), id: TargetID(id)).contains { $0.hasPrefix("remove") })
    }
    #expect(try await !listener.refresh().contains { $0.hasPrefix("remove") })
    try await fixture.storage.set("rooms/r", ["members": .array([.string("alice")])])
    #expect(try await listener.catchUp().count { $0.hasPrefix("remove") } == 60)
  }

  @Test("efforts of a step share what was decoded and the turns of others, and each has its own bound")
  func sharedEfforts() async throws {
    let first = RuleEffort()
    #expect(first.spend(RuleEffort.maximum) && !first.spend(1))
    let second = first.another()
    #expect(second.takeTurn() && !second.takeTurn() && !first.takeTurn())
    #expect(second.spend(RuleEffort.maximum) && !second.spend(1))
    #expect(first.takeTurn())
    let document = Document.found(
      key("c/a"), version: SnapshotVersion(microseconds: 1),
      fields: EncodedFields(["text": .string(String(repeating: "x", count: 1_000))]))
    let cost = try first.fields(of: document).effort
    #expect(try second.fields(of: document).effort < cost / 8)
  }

  @Test("a document that many targets look up is decoded once for a step")
  func decoding() async throws {
    try await setRoom()
    var listener = try listener()
    for id in 1...200 { _ = try await listener.add(query("light", id), id: TargetID(id)) }
    #expect(try await !listener.refresh().contains { $0.hasPrefix("remove") })
    try await fixture.storage.set("rooms/r", ["members": .array([.string("alice")])])
    #expect(try await listener.catchUp().count { $0.hasPrefix("remove") } == 200)
  }

  /// The documents that a stream has sent with their contents, and those that it has only named.
  private final class Sent: Sendable {
    private let keys = Mutex<(found: Set<DocumentKey>, named: Set<DocumentKey>)>(([], []))

    var counts: (found: Int, named: Int) { keys.withLock { ($0.found.count, $0.named.count) } }

    func take(_ messages: [ListenMessage]) throws {
      for response in try messages.flatMap({ try $0.decoded }) {
        guard case .documentChange(let change) = response else { continue }
        keys.withLock { keys in
          if change.document?.isFound == true {
            _ = keys.found.insert(change.key)
          } else {
            _ = keys.named.insert(change.key)
          }
        }
      }
    }

    func forget() { keys.withLock { $0 = ([], []) } }
  }

  @Test("of documents that leave a result together, those beyond the effort are named and not sent")
  func leaving() async throws {
    try await setRoom()
    let keys = (0..<60).map { key("notes/\($0)") }
    for key in keys { try await fixture.storage.commit(.set(key, ["n": 1.value])) }
    let sent = Sent()
    var session = ListenSession(
      database: fixture.session(.named("alice"), try fixture.access(Self.rules)),
      subscriber: fixture.storage.storage.feed.subscribe {}
    ) { try sent.take($0) }
    let request = TargetRequest(
      targetID: 2, target: query("notes", 1).target, purpose: .listen, resumeToken: [], readTime: nil,
      expectedCount: nil)
    try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    #expect(sent.counts == (60, 0))
    for (count, number) in [(60, 2), (10, 3)] {
      if number == 3 {
        for key in keys { try await fixture.storage.commit(.set(key, ["n": 1.value])) }
        try await session.catchUp()
      }
      sent.forget()
      let writes = keys.prefix(count).map { Mutation.set($0, ["n": number.value]) }
      _ = try await fixture.storage.storage.commit(CommitRequest(mutations: writes))
      try await session.catchUp()
      let (found, named) = sent.counts
      #expect(found + named == count)
      // The next step has its own effort.
      #expect(count == 60 ? (1...50).contains(named) : named == 0, "\(found) found, \(named) named")
    }
  }

  // MARK: - On event loops

  /// Notes on which threads it is asked.
  private final class RecordingGuard: AccessGuard {
    private let rules: AccessRules
    private let kinds = Mutex<(ofWrites: Set<Bool>, ofReads: Set<Bool>)>(([], []))

    init(_ rules: AccessRules) { self.rules = rules }

    /// True for decisions on an event loop, false for others.
    var places: (ofWrites: Set<Bool>, ofReads: Set<Bool>) { kinds.withLock { $0 } }
    var release: Int { rules.release }

    func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
      let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
      kinds.withLock { kinds in
        switch access {
        case .write: _ = kinds.ofWrites.insert(isOnLoop)
        default: _ = kinds.ofReads.insert(isOnLoop)
        }
      }
      return try rules.check(access, by: caller, in: database)
    }

    func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError) {
      try rules.checkOpening(database, by: caller)
    }

    func checkListing(by caller: Caller) throws(StatusError) { try rules.checkListing(by: caller) }
    func tellsCallersApart(in database: DatabaseID) -> Bool { rules.tellsCallersApart(in: database) }
  }

  @Test("what a brief commit tells of former contents is not decided on its event loop")
  func results() async throws {
    let guarding = RecordingGuard(try fixture.access("match /notes/{id} { allow read, write: if true; }"))
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
    #expect(guarding.places.ofWrites == [true])
    #expect(guarding.places.ofReads == [false])
    try await group.shutdownGracefully()
  }
}
