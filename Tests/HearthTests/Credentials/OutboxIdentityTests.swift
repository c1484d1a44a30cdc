import Foundation
import Logging
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

@testable import Hearth
@testable import HearthRPC
@testable import HearthServer

/// A write is sent with the identity that made it, and with no other one.
@Suite("Outboxes of identities", .timeLimit(.minutes(2)))
struct OutboxIdentityTests {
  private let cache: SharedCache

  init() throws {
    cache = try SharedCache()
  }

  private struct Identity {
    var id: String
    var credentials: (any FirestoreCredentials)?
    /// The header of its write streams.
    var authorization: String?
    var inWords: String
  }

  private final class Tokens: FirestoreCredentials {
    let outboxName: String
    private let token: String

    init(_ name: String, _ token: String) { (outboxName, self.token) = (name, token) }

    func accessToken(forcingRefresh: Bool) async -> String? { token }
  }

  private final class UnnamedTokens: FirestoreCredentials {
    func accessToken(forcingRefresh: Bool) async -> String? { token("d") }
  }

  private static func identities() throws -> [Identity] {
    let users = IDTokenCredentials(userID: "alice") { _ in IDToken(token("a"), userID: "alice") }
    return [
      Identity(id: "none", inWords: "(signed out)"),
      Identity(id: "user", credentials: users, authorization: "Bearer " + token("a"), inWords: "alice"),
      Identity(id: "owner", credentials: .emulatorOwner, authorization: "Bearer owner", inWords: "(emulator owner)"),
      Identity(
        id: "account", credentials: try ServiceAccountCredentials(json: TestServiceAccount.file()),
        // To a backend without TLS.
        authorization: "Bearer owner", inWords: "(service account \(TestServiceAccount.email))"),
      Identity(
        id: "first", credentials: Tokens("first", token("b")), authorization: "Bearer " + token("b"),
        inWords: "(credentials first)"),
      Identity(
        id: "second", credentials: Tokens("second", token("c")), authorization: "Bearer " + token("c"),
        inWords: "(credentials second)"),
      Identity(
        id: "unnamed", credentials: UnnamedTokens(), authorization: "Bearer " + token("d"),
        inWords: "(credentials UnnamedTokens)"),
    ]
  }

  private func client(_ identity: Identity, host: String = "127.0.0.1:1") throws -> Firestore {
    let firestore = try TestFirestore(
      name: try cache.name(), cache: PersistentCacheSettings(directory: cache.directory), host: host
    ).firestore
    let settings = firestore.settings
    settings.credentials = identity.credentials
    firestore.settings = settings
    return firestore
  }

  @Test("programs that run one after the other with different identities see and send their own writes only")
  func oneAfterTheOther() async throws {
    let identities = try Self.identities()
    let recorder = WriteRecorder()
    try await recorder.run { host in
      for identity in identities {
        let firestore = try client(identity, host: host)
        try await firestore.disableNetwork()
        firestore.document("notes/\(identity.id)").setData([:], completion: nil)
        #expect(try await firestore.pendingWrites().count == 1)
        try await firestore.terminate()
      }
      for identity in identities {
        let firestore = try client(identity, host: host)
        try await firestore.disableNetwork()
        #expect(try await firestore.collection("notes").getDocuments(source: .cache).ids == [identity.id])
        var snapshots = firestore.outbox.snapshots.makeAsyncIterator()
        let snapshot = try #require(try await snapshots.next())
        #expect(snapshot.owner == identity.inWords && snapshot.writes.count == 1)
        try await firestore.terminate()
      }
      for identity in identities {
        let firestore = try client(identity, host: host)
        try await firestore.waitForPendingWrites()
        try await firestore.terminate()
      }
    }
    #expect(recorder.writes.map(\.authorization) == identities.map(\.authorization))
    for (write, identity) in zip(recorder.writes, identities) {
      #expect(identities.filter { write.contains("notes/\($0.id)") }.map(\.id) == [identity.id])
    }
  }

  @Test("of two programs at a time, the one with the connection leaves the other's writes to that one")
  func atOnce() async throws {
    let identities = try Self.identities().filter { ["none", "owner"].contains($0.id) }
    let recorder = WriteRecorder()
    try await recorder.run { host in
      let nobody = try client(identities[0], host: host)
      try await nobody.document("notes/none").setData([:])
      let owner = try client(identities[1], host: host)
      try await owner.document("notes/owner").setData([:])
      #expect(try await nobody.pendingWrites().isEmpty)
      try await nobody.terminate()
      try await owner.terminate()
    }
    #expect(recorder.writes.map(\.authorization) == [nil, "Bearer owner"])
    #expect(recorder.writes.last?.contains("notes/owner") == true)
  }
}

/// An unsigned token, in the form that emulators accept.
private func token(_ name: String) -> String {
  let claims = Data("{\"sub\":\"\(name)\"}".utf8).base64EncodedString().filter { $0 != "=" }
  return "eyJhbGciOiJub25lIn0.\(claims)."
}

/// The embedded server, which notes with which credentials each write comes.
private final class WriteRecorder: CallInterceptor {
  struct Write {
    var authorization: String?
    var bytes: [UInt8]

    func contains(_ document: String) -> Bool {
      String(decoding: bytes, as: UTF8.self).contains("documents/" + document)
    }
  }

  private let seen = Mutex<[Write]>([])
  var writes: [Write] { seen.withLock { $0 } }

  func run(_ body: (_ host: String) async throws -> Void) async throws {
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    ) {
      $0.interceptor = self
    }
    let result: Result<Void, any Error>
    do { result = .success(try await body("127.0.0.1:\(server.port)")) } catch { result = .failure(error) }
    await server.shutdown()
    try result.get()
  }

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    guard call.method == "Write" else { return nil }
    return Tap(recorder: self, authorization: call.metadata["authorization"].first)
  }

  private struct Tap: CallTap {
    let recorder: WriteRecorder
    let authorization: String?

    func request(_ message: any Message) async throws -> Bool {
      let bytes: [UInt8] = try message.serializedBytes()
      // Handshakes and goodbyes write nothing.
      if String(decoding: bytes, as: UTF8.self).contains("/documents/") {
        recorder.seen.withLock { $0.append(Write(authorization: authorization, bytes: bytes)) }
      }
      return true
    }

    func response(_ message: any Message) async -> any Message { message }
    func ended() {}
  }
}
