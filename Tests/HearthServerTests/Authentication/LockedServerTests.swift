import Foundation
import GRPCCore
import HearthModel
import HearthWire
import NIOCore
import RawHTTP2
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// Takes the text behind `Bearer` for the name of the caller: `owner`, or that of a user.
struct NamedCallers: CallAuthenticator {
  /// When tokens expire.
  var expiry: ContinuousClock.Instant?
  /// True if no caller is known without waiting.
  var takesTime = false
  /// The names of callers whose credentials are not accepted, and of those whose credentials cannot be checked now.
  var withdrawn = Withdrawn()

  final class Withdrawn: Sendable {
    let names = Mutex<(refused: Set<String>, unknown: Set<String>)>(([], []))
  }

  func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller {
    guard let header = metadata["authorization"].first else { return .identity(CallIdentity(Caller.nobody)) }
    guard header.hasPrefix("Bearer ") else { throw CallStatus(.unauthenticated, "no bearer") }
    return takesTime ? .unknown : .identity(identity(String(header.dropFirst(7))))
  }

  func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity {
    await Task.yield()
    let name = String((metadata["authorization"].first ?? "").dropFirst(7))
    let (isRefused, isUnknown) = withdrawn.names.withLock { ($0.refused.contains(name), $0.unknown.contains(name)) }
    guard name != "bad", !isRefused else { throw CallStatus(.unauthenticated, "bad token") }
    guard !isUnknown else { throw CallStatus(.unavailable, "no keys") }
    return identity(name)
  }

  private func identity(_ name: String) -> CallIdentity {
    CallIdentity(name == "owner" ? Caller.owner : .named(name), expiry: expiry)
  }
}

extension Caller {
  static func named(_ name: String) -> Caller { .user(User(issuer: "tests", id: name, claims: [:])) }
}

@Suite("A server that tells callers apart", .timeLimit(.minutes(2)))
struct LockedServerTests {
  private typealias Frame = RawHTTP2Client.Frame

  private func withServer<R: Sendable>(
    _ callers: NamedCallers = NamedCallers(), _ rules: AccessRules = AccessRules(),
    _ body: (EmbeddedServer) async throws -> R
  ) async throws -> R {
    try await ServerFixture.withServerAlone({ $0.callers = .locked(callers, rules) }, body)
  }

  @Test("lets nobody but the owner do anything, in any call", arguments: [nil, "user"])
  func everyCall(token: String?) async throws {
    try await withServer { server in
      try await RawHTTP2Client.withConnection(to: server) { client in
        for (method, status) in try await EveryCall.statuses(of: client, authorization: token.map { "Bearer \($0)" }) {
          #expect(status == (method == "ExecutePipeline" ? "12" : "7"), "\(method)")
        }
      }
      let databases = try await server.databaseNames()
      #expect(databases.isEmpty, "something was written")
    }
  }

  @Test("logs a refused call with its caller, at the level debug")
  func log() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger) {
      $0.callers = .locked(NamedCallers())
    }
    let statuses = try? await RawHTTP2Client.withConnection(to: server) { client in
      try await EveryCall.statuses(of: client, authorization: "Bearer ada")
        + EveryCall.statuses(of: client, authorization: nil)
    }
    await server.shutdown()
    #expect(statuses?.isEmpty == false)
    for caller in ["user ada", "nobody"] {
      #expect(
        log.lines.contains { $0.hasPrefix("debug call failed") && $0.contains("caller=\(caller) ") }, "\(log.lines)")
    }
  }

  @Test("lists databases for the owner only")
  func databases() async throws {
    try await withServer { server in
      try await ServerFixture.withClient(of: server) { fixture in
        for (token, code) in [(nil, RPCError.Code.permissionDenied), ("user", .permissionDenied), ("owner", nil)] {
          var caller = fixture
          if let token { caller.metadata = ["authorization": "Bearer \(token)"] }
          let refusal = await failure { try await ListDatabasesTests.list("projects/-", caller) }
          #expect(refusal?.code == code, "\(token ?? "no token")")
        }
      }
    }
  }

  @Test("tells and changes nothing against rules that deny, in any call", arguments: [nil, "user"])
  func everyDeniedCall(token: String?) async throws {
    let rules = AccessRules(try RulesFixture.rules("match /{path=**} { allow read, write: if false; }"))
    try await withServer(NamedCallers(), rules) { server in
      try await ServerFixture.withClient(of: server) { fixture in
        var owner = fixture
        owner.metadata = ["authorization": "Bearer owner"]
        try await owner.set("c/a", ["secret": .string("hidden text")])
        let stored = try await owner.get("c/a")
        try await RawHTTP2Client.withConnection(toPort: server.port, keepsMessages: true) { client in
          let statuses = try await EveryCall.statuses(of: client, authorization: token.map { "Bearer \($0)" })
          for (method, status) in statuses {
            switch method {
            // Each write and each target has an answer of its own.
            case "BatchWrite", "Listen": #expect(status == "0", "\(method)")
            case "ExecutePipeline": #expect(status == "12")
            // Some name a transaction that is not open.
            case "Commit", "Rollback": #expect(status == "7" || status == "3", "\(method)")
            default: #expect(status == "7", "\(method)")
            }
          }
          let answers = client.received.data.values.map { String(buffer: $0) }
          #expect(answers.allSatisfy { !$0.contains("secret") && !$0.contains("hidden text") })
          #expect(answers.count { $0.contains("Missing or insufficient permissions.") } == 2, "BatchWrite and Listen")
        }
        #expect(try await owner.get("c/a") == stored)
        #expect(try await owner.ids(Query(path: ResourcePath(), collectionGroup: "c")) == ["a"])
      }
    }
  }

  @Test("serves the owner, and refuses a token that is none", arguments: [false, true])
  func tokens(takesTime: Bool) async throws {
    try await withServer(NamedCallers(takesTime: takesTime)) { server in
      try await ServerFixture.withClient(of: server) { fixture in
        var owner = fixture
        owner.metadata = ["authorization": "Bearer owner"]
        try await owner.set("c/a", ["n": 1.value])
        for token in takesTime ? ["Basic x", "Bearer bad"] : ["Basic x"] {
          var other = fixture
          other.metadata = ["authorization": "\(token)"]
          let error = await #expect(throws: RPCError.self) { try await other.set("c/a", ["n": 2.value]) }
          #expect(error?.code == .unauthenticated)
        }
        let error = await #expect(throws: RPCError.self) { try await fixture.set("c/a", ["n": 2.value]) }
        #expect(error?.code == .permissionDenied)
      }
    }
  }

  @Test("ends a stream when the token of its caller expires")
  func expiry() async throws {
    try await withServer(NamedCallers(expiry: .now + .milliseconds(300))) { server in
      try await RawHTTP2Client.withConnection(to: server) { client in
        try await client.send([
          Frame.request(1, [":path": "/google.firestore.v1.Firestore/Listen", "authorization": "Bearer owner"]),
          Frame.request(3, [":path": "/google.firestore.v1.Firestore/Write", "authorization": "Bearer owner"]),
        ])
        try await client.wait(for: "the ends") { $0.statuses.count == 2 }
        #expect(client.received.statuses == [1: "16", 3: "16"])
      }
      try await ServerFixture.withClient(of: server) { fixture in
        var owner = fixture
        owner.metadata = ["authorization": "Bearer owner"]
        try await owner.set("c/a", ["n": 1.value])
      }
    }
  }

  @Test("ends a stream when the token of its caller is no longer accepted, and none whose token cannot be checked")
  func withdrawal() async throws {
    let callers = NamedCallers(expiry: .now + .seconds(600))
    try await ServerFixture.withServerAlone({
      $0.callers = .locked(callers, AccessRules())
      $0.limits.credentialsInterval = .milliseconds(50)
    }) { server in
      try await RawHTTP2Client.withConnection(to: server) { client in
        let listen = "/google.firestore.v1.Firestore/Listen"
        try await client.send([
          Frame.request(1, [":path": listen, "authorization": "Bearer a"]),
          Frame.request(3, [":path": listen, "authorization": "Bearer b"]),
          Frame.request(5, [":path": listen]),
        ])
        callers.withdrawn.names.withLock { $0.unknown = ["b"] }
        callers.withdrawn.names.withLock { $0.refused = ["a"] }
        try await client.wait(for: "the end of one") { $0.statuses[1] != nil }
        #expect(client.received.statuses == [1: "16"])
        callers.withdrawn.names.withLock { $0 = (["b"], []) }
        try await client.wait(for: "the end of the other one") { $0.statuses[3] != nil }
        #expect(client.received.statuses == [1: "16", 3: "16"])
      }
    }
  }

  // MARK: - What belongs to a caller

  /// A caller who may do everything, by rules: without them all callers of a server for development are the same.
  private func session(_ fixture: RulesFixture, _ caller: Caller) throws -> Session {
    try fixture.session(caller, "match /{path=**} { allow read, write; }", isDevelopment: true)
  }

  private static let strangers: [Caller] = [.named("b"), .nobody, .owner]

  @Test("a transaction is its caller's", arguments: strangers.indices)
  func transactions(stranger: Int) async throws {
    let fixture = try RulesFixture()
    let own = try session(fixture, .named("a"))
    let other = try session(fixture, Self.strangers[stranger])
    let transaction = try await own.beginTransaction(.optimistic)
    let attempts: [() async throws -> Void] = [
      { _ = try await other.read(.get([key("c/a")]), in: transaction) },
      { _ = try await other.commit([.set(key("c/a"), ["n": 2.value])], endingTransaction: transaction) },
      { try await other.rollback(transaction) },
    ]
    for attempt in attempts {
      let error = await #expect(throws: StatusError.self) { try await attempt() }
      #expect(error?.code == .invalidArgument)
    }
    #expect(fixture.storage.database.registry.use().transactions == 1)
    _ = try await own.commit([.set(key("c/a"), ["n": 1.value])], endingTransaction: transaction)
    #expect(fixture.storage.database.registry.use().transactions == 0)
  }

  @Test("a label is its caller's: another caller's request with the same one is carried out and has its own answer")
  func labels() async throws {
    let fixture = try RulesFixture()
    let mutations = [Mutation.set(key("c/a"), ["n": 1.value])]
    let text = "00000000000000aa-000000000000000000000000000000bb"
    let label = try RequestLabel(parsing: text, mutations: mutations, database: ServerFixture.database)
    let request = CommitRequest(mutations: mutations, label: label)
    var versions: [SnapshotVersion] = []
    for caller in [Caller.named("a"), .named("b"), .nobody, .owner] {
      let session = try session(fixture, caller)
      let first = try await session.commit(request).version
      #expect(try await session.commit(request).version == first)
      versions.append(first)
    }
    #expect(Set(versions).count == versions.count)
    #expect(
      Set(
        [Caller.named("a"), .named("b"), .owner].map { label.bound(to: $0.boundTo, ofMany: $0.standsForMany).client }
      ).count == 3)
  }

  @Test("the clients that a caller names share the room of its answers; those of the owner have one each")
  func sharesOfLabels() throws {
    let labels = try ["aa", "ab"].map {
      try RequestLabel(
        parsing: "00000000000000\($0)-000000000000000000000000000000bb", mutations: [], database: ServerFixture.database
      )
    }
    for (caller, count) in [(Caller.named("a"), 1), (.nobody, 1), (.owner, 2)] {
      let bound = labels.map { $0.bound(to: caller.boundTo, ofMany: caller.standsForMany) }
      #expect(Set(bound.map(\.client)).count == count)
    }
    #expect(Caller.nobody.standsForMany && ![Caller.owner, .named("a")].contains(where: \.standsForMany))
  }

  @Test("a page token is its caller's", arguments: strangers.indices)
  func pageTokens(stranger: Int) throws {
    let fixture = try RulesFixture()
    let own = try session(fixture, .named("a"))
    let other = try session(fixture, Self.strangers[stranger])
    let token = PageToken(lastID: "secret", kind: .documents, of: "c")
    let text = own.text(of: token)
    #expect(try own.pageToken(text, kind: .documents, of: "c")?.lastID == "secret")
    // What the owner reads of a user's token is no id of anything.
    let read = try? other.pageToken(text, kind: .documents, of: "c")
    #expect(read?.lastID != "secret")
    // One that a caller has made up.
    let invented = Data(token.bytes).base64EncodedString()
    #expect(throws: StatusError.self) { try own.pageToken(invented, kind: .documents, of: "c") }
    #expect(try own.pageToken("", kind: .documents, of: "c") == nil)
  }

  @Test("what is sealed for one purpose or caller opens for no other, and not when it was changed")
  func seals() {
    let seal = CallerSeal()
    // The texts of two users must not run into each other.
    let a = Caller.user(Caller.User(issuer: "x", id: "1 y", claims: [:]))
    let b = Caller.user(Caller.User(issuer: "x 1", id: "y", claims: [:]))
    let sealed = seal.seal([1, 2, 3], .transaction, for: a)
    #expect(seal.open(sealed, .transaction, for: a) == [1, 2, 3])
    #expect(seal.open(sealed, .transaction, for: b) == nil)
    #expect(seal.open(sealed, .page, for: a) == nil)
    #expect(CallerSeal().open(sealed, .transaction, for: a) == nil)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(seal.open(changed, .transaction, for: a) == nil)
    }
    #expect(seal.open([], .transaction, for: a) == nil)
  }
}
