import Foundation
import HearthModel
import NIOCore
import RawHTTP2
import Synchronization
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("The senders of calls, which take turns", .timeLimit(.minutes(2)))
struct CallSenderTests {
  private static let alice = Caller.user(Caller.User(issuer: "i", id: "alice", claims: [:]))

  @Test("a user is one sender wherever her calls come from, and callers without a token are as many as the places")
  func senders() {
    let (home, office) = (CallOrigin(), CallOrigin())
    #expect(Self.alice.sender(from: home) == Self.alice.sender(from: office))
    #expect(Caller.nobody.sender(from: home) == Caller.nobody.sender(from: home))
    let all = [
      Caller.nobody.sender(from: home), Caller.nobody.sender(from: office), Caller.nobody.sender(from: nil),
      Self.alice.sender(from: home), Caller.owner.sender(from: home),
    ]
    #expect(Set(all).count == all.count && Caller.owner.sender(from: home) == "")
  }

  @Test("a commit is of the sender whose call it belongs to, in a transaction and outside")
  func commits() async throws {
    let fixture = try StorageFixture()
    let senders = Mutex<[String]>([])
    let observed = ObservedStorage(
      fixture.storage, beforeCommit: { request in senders.withLock { $0.append(request.sender) } })
    let session = HostedDatabase(id: ServerFixture.database, storage: observed, clock: fixture.clock.clock).session
    for sender in ["alice", "bob"] {
      try await CallSender.$current.withValue(sender) {
        _ = try await session.commit(CommitRequest(mutations: [.set(key("c/a"), [:])]))
        let transaction = try await session.beginTransaction(.optimistic)
        _ = try await session.commit([.set(key("c/a"), [:])], endingTransaction: transaction)
      }
    }
    #expect(senders.withLock { $0 } == ["alice", "alice", "bob", "bob"])
  }

  /// Identifies every caller as the same one.
  private struct OneCaller: CallAuthenticator {
    let caller: Caller

    func known(_ metadata: CallMetadata) -> KnownCaller { .identity(CallIdentity(caller)) }
    func identify(_ metadata: CallMetadata) -> CallIdentity { CallIdentity(caller) }
  }

  /// Databases that are out of reach, and keep the senders that ask for them.
  private final class AskedDatabases: Databases {
    private let unreachable = UnreachableDatabases(knowsNames: false)
    private let asked = Mutex<[String]>([])

    var senders: [String] { asked.withLock { $0 } }
    var limits: DatabaseLimits { unreachable.limits }

    func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
      asked.withLock { $0.append(CallSender.current) }
      return try await unreachable.database(id)
    }

    func names() async throws(StatusError) -> [DatabaseID] { try await unreachable.names() }
    func declare(_ indexes: IndexFile.Contents) async {}
    func use() -> DatabasesUse { unreachable.use() }
    func tend() async {}
    func close() async {}
  }

  @Test("each kind of call asks for its database as its caller", arguments: [Self.alice, .nobody, .owner])
  func calls(_ caller: Caller) async throws {
    let databases = AskedDatabases()
    let service = FirestoreService(sessions: Sessions(databases: databases))
    let server = CallServer(
      services: [FirestoreService.name: service.methods], limits: ServerLimits(),
      authenticator: OneCaller(caller: caller), interceptor: nil, logger: ServerFixture.quietLogger)
    let listening = try await CallListener(
      server: server, connections: OpenConnections(), refusals: 1, prepare: nil
    ).listen(host: "127.0.0.1", port: 0)
    let port = try #require(listening.localAddress?.port)
    let calls = try await RawHTTP2Client.withConnection(toPort: port) { try await EveryCall.statuses(of: $0).count }
    try await listening.close().get()
    // All but the one that is not served.
    #expect(databases.senders.count == calls - 1)
    let expected = caller.boundTo
    #expect(databases.senders.allSatisfy { expected.isEmpty ? $0.isEmpty : $0.hasPrefix(expected) })
  }
}
