import Foundation
import GRPCCore
import JWTKit
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// The check that a backend for service accounts makes at every call: signature, audience, issuer and time.
private final class TokenCheck: Sendable {
  struct Claims: JWTPayload {
    var iss: String
    var aud: String
    var iat: Int
    var exp: Int

    func verify(using algorithm: some JWTAlgorithm) {}
  }

  private struct State {
    var accepted: [String] = []
    var refusals = 0
  }

  let clock = HandClock()
  private let keys = JWTKeyCollection()
  private let state = Mutex(State())

  init() async throws {
    await keys.add(rsa: try Insecure.RSA.PublicKey(pem: TestServiceAccount.publicKey), digestAlgorithm: .sha256)
  }

  /// The tokens that were good, each once, in the order of their first use.
  var accepted: [String] { state.withLock { $0.accepted } }
  var refusals: Int { state.withLock { $0.refusals } }

  func check(_ authorization: String?) async throws {
    do {
      let header = try #require(authorization)
      try #require(header.hasPrefix("Bearer "))
      let token = String(header.dropFirst("Bearer ".count))
      let claims = try await keys.verify(token, as: Claims.self)
      let now = Int(clock.now().timeIntervalSince1970)
      try #require(claims.aud == "https://firestore.googleapis.com/" && claims.iss == TestServiceAccount.email)
      guard claims.iat <= now, now < claims.exp else {
        state.withLock { $0.refusals += 1 }
        throw RPCError(code: .unauthenticated, message: "Token \(token) has expired.")
      }
      state.withLock { if !$0.accepted.contains(token) { $0.accepted.append(token) } }
    } catch let error as RPCError {
      throw error
    } catch {
      throw RPCError(code: .unauthenticated, message: "\(error)")
    }
  }
}

@Suite("Over TLS", .timeLimit(.minutes(2)))
struct SecureBackendTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try TestAuthority.root.write(to: folder.url.appendingPathComponent("root.pem"), atomically: true, encoding: .utf8)
    try TestAuthority.otherRoot.write(
      to: folder.url.appendingPathComponent("other.pem"), atomically: true, encoding: .utf8)
    try TestServiceAccount.file().write(to: folder.url.appendingPathComponent("account.json"))
  }

  private func client(
    _ server: SecureServer, trusting root: String? = "root.pem",
    _ change: (FirestoreSettings) throws -> Void = { _ in }
  ) throws -> Firestore {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    let firestore = Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
    let settings = FirestoreSettings()
    settings.host = server.host
    settings.cacheSettings = MemoryCacheSettings()
    settings.dispatchQueue = DispatchQueue(label: "test")
    if let root { settings.trustedCertificateFiles = [folder.url.appendingPathComponent(root).path] }
    try change(settings)
    firestore.settings = settings
    return firestore
  }

  private func account(_ clock: HandClock) throws -> ServiceAccountCredentials {
    try ServiceAccountCredentials(
      contentsOfFile: folder.url.appendingPathComponent("account.json").path, now: clock.now)
  }

  /// The error of a read that needs the server.
  private func failure(_ firestore: Firestore) async throws -> NSError {
    let error = await #expect(throws: (any Error).self) {
      _ = try await firestore.document("cities/SF").getDocument(source: .server)
    }
    return try #require(error) as NSError
  }

  @Test("a server whose authority is trusted is read and written")
  func trusted() async throws {
    try await SecureServer.run { server in
      let firestore = try client(server)
      try await firestore.document("cities/SF").setData(["state": "CA"])
      #expect(try await firestore.document("cities/SF").getDocument(source: .server)["state"] as? String == "CA")
      try await firestore.terminate()
    }
  }

  @Test("a certificate of another authority is refused", arguments: ["other.pem", nil])
  func foreignAuthority(root: String?) async throws {
    let calls = Mutex(0)
    try await SecureServer.run(check: { _, _, _ in calls.withLock { $0 += 1 } }) { server in
      let firestore = try client(server, trusting: root) { $0.credentials = try account(HandClock()) }
      #expect(try await failure(firestore).code == FirestoreErrorCode.unavailable.rawValue)
      try await firestore.terminate()
    }
    #expect(calls.withLock { $0 } == 0)
  }

  @Test("a certificate for another host is refused")
  func wrongHost() async throws {
    let calls = Mutex(0)
    try await SecureServer.run(.stranger, check: { _, _, _ in calls.withLock { $0 += 1 } }) { server in
      let firestore = try client(server) { $0.credentials = try account(HandClock()) }
      #expect(try await failure(firestore).code == FirestoreErrorCode.unavailable.rawValue)
      try await firestore.terminate()
    }
    #expect(calls.withLock { $0 } == 0)
  }

  @Test("a certificate that has expired is refused")
  func expiredCertificate() async throws {
    try TestAuthority.pastRoot.write(
      to: folder.url.appendingPathComponent("past.pem"), atomically: true, encoding: .utf8)
    let calls = Mutex(0)
    try await SecureServer.run(.expired, check: { _, _, _ in calls.withLock { $0 += 1 } }) { server in
      let firestore = try client(server, trusting: "past.pem") { $0.credentials = try account(HandClock()) }
      #expect(try await failure(firestore).code == FirestoreErrorCode.unavailable.rawValue)
      try await firestore.terminate()
    }
    #expect(calls.withLock { $0 } == 0)
  }

  @Test("a service account's signed tokens are accepted, and replaced before they end")
  func serviceAccount() async throws {
    let check = try await TokenCheck()
    let clock = HandClock()
    try await SecureServer.run(check: { _, authorization, _ in try await check.check(authorization) }) { server in
      let firestore = try client(server) { $0.credentials = try account(clock) }
      try await firestore.document("cities/SF").setData(["state": "CA"])
      _ = try await firestore.document("cities/SF").getDocument(source: .server)
      #expect(check.accepted.count == 1)
      for each in [clock, check.clock] { each.move(bySeconds: 56 * 60) }
      try await firestore.disableNetwork()
      try await firestore.enableNetwork()
      _ = try await firestore.document("cities/SF").getDocument(source: .server)
      #expect(check.accepted.count == 2)
      #expect(check.refusals == 0)
      try await firestore.terminate()
    }
  }

  @Test("a token that the server calls expired is replaced, and no text ever shows one", .withLogging)
  func expired() async throws {
    CapturedLog.begin()
    let check = try await TokenCheck()
    let clock = HandClock()
    try await SecureServer.run(check: { _, authorization, _ in try await check.check(authorization) }) { server in
      let firestore = try client(server) { $0.credentials = try account(clock) }
      try await firestore.document("cities/SF").setData(["state": "CA"])
      // The server's clock is ahead: what is good for another 50 minutes here is over there.
      try await firestore.disableNetwork()
      clock.move(bySeconds: 600)
      check.clock.move(bySeconds: 3660)
      try await firestore.enableNetwork()
      try await firestore.document("cities/LA").setData(["state": "CA"])
      #expect(check.refusals >= 1)
      #expect(check.accepted.count == 2)

      let count = try await firestore.collection("cities").count.getAggregation(source: .server)
      #expect(count.count == 2)
      for each in [clock, check.clock] { each.move(bySeconds: 600) }
      let error = await #expect(throws: (any Error).self) {
        _ = try await firestore.collection("cities").count.getAggregation(source: .server)
      }
      #expect((error as NSError?)?.code == FirestoreErrorCode.unauthenticated.rawValue)
      let text = "\(try #require(error)) \(try #require(error as NSError?).userInfo)"
      #expect(text.contains("has expired"))
      for token in check.accepted {
        #expect(!text.contains(token))
        #expect(!CapturedLog.contains(token))
      }
      _ = try await firestore.collection("cities").count.getAggregation(source: .server)
      #expect(check.accepted.count == 3)
      try await firestore.terminate()
    }
    #expect(CapturedLog.contains("has expired"))
  }

  @Test("streams that are refused with one token cause one refresh, and open again with the new token")
  func refreshedOnce() async throws {
    let seen = Mutex<Set<String>>([])
    let check: SecureServer.Check = { method, authorization, _ in
      seen.withLock { _ = $0.insert("\(method) \(authorization ?? "-")") }
      guard authorization != "Bearer opaque-token-1" else {
        throw RPCError(code: .unauthenticated, message: "The token has expired.")
      }
    }
    let forced = Mutex<[Bool]>([])
    try await SecureServer.run(check: check) { server in
      let firestore = try client(server) {
        $0.credentials = IDTokenCredentials(userID: "alice") { forcingRefresh in
          let number = forced.withLock { forced in
            forced.append(forcingRefresh)
            return 1 + forced.count { $0 }
          }
          return IDToken("opaque-token-\(number)", userID: "alice")
        }
      }
      let listener = firestore.collection("notes").record(includeMetadataChanges: true)
      try await firestore.document("notes/a").setData([:])
      _ = try await listener.recorder.next { (try? $0.get())?.metadata.isFromCache == false }
      listener.registration.remove()
      try await firestore.terminate()
    }
    #expect(forced.withLock { $0.count { $0 } } == 1)
    let wanted = Set(["Listen", "Write"].flatMap { ["\($0) Bearer opaque-token-1", "\($0) Bearer opaque-token-2"] })
    #expect(seen.withLock { $0 }.isSubset(of: wanted))
    #expect(seen.withLock { $0 }.isSuperset(of: ["Listen Bearer opaque-token-2", "Write Bearer opaque-token-2"]))
  }

  @Test("each user's writes go out with that user's token, and App Check with all of them")
  func users() async throws {
    let seen = Mutex<[String]>([])
    let check: SecureServer.Check = { method, authorization, appCheck in
      seen.withLock { $0.append("\(method) \(authorization ?? "-") \(appCheck ?? "-")") }
    }
    try await SecureServer.run(check: check) { server in
      let present = Mutex<String?>("alice")
      let credentials = IDTokenCredentials(userID: "alice") { _ in
        present.withLock { $0 }.map { IDToken("token-of-\($0)", userID: $0) }
      }
      let firestore = try client(server) {
        $0.credentials = credentials
        $0.appCheck = FirestoreAppCheck { _ in "genuine" }
      }
      try await firestore.document("notes/a").setData(["by": "alice"])
      present.withLock { $0 = "bob" }
      credentials.setUser("bob")
      try await firestore.document("notes/b").setData(["by": "bob"])
      present.withLock { $0 = nil }
      credentials.setUser(nil)
      try await firestore.document("notes/n").setData(["by": "nobody"])
      try await firestore.terminate()
    }
    let writes = seen.withLock { $0.filter { $0.hasPrefix("Write ") } }
    #expect(
      writes == [
        "Write Bearer token-of-alice genuine", "Write Bearer token-of-bob genuine", "Write - genuine",
      ])
  }

  @Test("a call that waits for the former user's token is made neither as that user nor as the next one")
  func userChangesDuringFetch() async throws {
    let seen = Mutex<[String]>([])
    let check: SecureServer.Check = { method, authorization, _ in
      if method == "RunAggregationQuery" { seen.withLock { $0.append(authorization ?? "-") } }
    }
    try await SecureServer.run(check: check) { server in
      let asked = Recorder<Void>()
      let (gate, open) = AsyncStream.makeStream(of: Void.self)
      let isFirst = Mutex(true)
      let credentials = IDTokenCredentials(userID: "alice") { _ in
        let waits = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        guard waits else { return IDToken("token-of-bob", userID: "bob") }
        asked.record(())
        _ = await gate.first { _ in true }
        return IDToken("token-of-alice", userID: "alice")
      }
      let firestore = try client(server) { $0.credentials = credentials }
      let count = firestore.collection("notes").count
      async let former = thrown { _ = try await count.getAggregation(source: .server) }
      try await asked.next()
      credentials.setUser("bob")
      // The new user does not wait for the former one's token.
      _ = try await count.getAggregation(source: .server)
      open.yield()
      #expect(await former?.code == FirestoreErrorCode.aborted.rawValue)
      try await firestore.terminate()
    }
    #expect(seen.withLock { $0 } == ["Bearer token-of-bob"])
  }

  @Test("what one user has read is not committed by another: the transaction starts again")
  func userChangesDuringTransaction() async throws {
    let seen = Mutex<[String]>([])
    let check: SecureServer.Check = { method, authorization, _ in
      guard ["BatchGetDocuments", "Commit"].contains(method) else { return }
      seen.withLock { $0.append("\(method) \(authorization ?? "-")") }
    }
    try await SecureServer.run(check: check) { server in
      let present = Mutex("alice")
      let credentials = IDTokenCredentials(userID: "alice") { _ in
        let user = present.withLock { $0 }
        return IDToken("token-of-\(user)", userID: user)
      }
      let firestore = try client(server) { $0.credentials = credentials }
      let note = firestore.document("notes/a")
      _ = try await firestore.runTransaction { transaction, error in
        do {
          _ = try transaction.getDocument(note)
        } catch let failure as NSError {
          error?.pointee = failure
          return nil
        }
        present.withLock { $0 = "bob" }
        if credentials.userID != "bob" { credentials.setUser("bob") }
        transaction.setData(["by": "whoever reads"], forDocument: note)
        return nil
      }
      try await firestore.terminate()
    }
    #expect(
      seen.withLock { $0 } == [
        "BatchGetDocuments Bearer token-of-alice", "BatchGetDocuments Bearer token-of-bob",
        "Commit Bearer token-of-bob",
      ])
  }

  @Test("two user ids that differ in their bytes only are two users")
  func equivalentIDs() async throws {
    let seen = Mutex<[String]>([])
    let check: SecureServer.Check = { method, authorization, _ in
      if method == "Write" { seen.withLock { $0.append(authorization ?? "-") } }
    }
    let (composed, decomposed) = ("Ren\u{e9}", "Rene\u{301}")
    try await SecureServer.run(check: check) { server in
      let present = Mutex(composed)
      let credentials = IDTokenCredentials(userID: composed) { _ in
        let user = present.withLock { $0 }
        return IDToken("token-\(user.utf8.count)", userID: user)
      }
      let firestore = try client(server) { $0.credentials = credentials }
      try await firestore.disableNetwork()
      firestore.document("notes/a").setData([:], completion: nil)
      present.withLock { $0 = decomposed }
      credentials.setUser(decomposed)
      #expect(credentials.userID?.utf8.count == 6)
      #expect(try await firestore.collection("notes").getDocuments(source: .cache).isEmpty)
      try await firestore.enableNetwork()
      try await firestore.document("notes/b").setData([:])
      try await firestore.terminate()
    }
    #expect(Set(seen.withLock { $0 }) == ["Bearer token-6"])
  }

  @Test("a token of another user swaps the outbox before anything is sent with it")
  func unannouncedUser() async throws {
    let seen = Mutex<[String]>([])
    let check: SecureServer.Check = { method, authorization, _ in
      if method == "Write" { seen.withLock { $0.append(authorization ?? "-") } }
    }
    try await SecureServer.run(check: check) { server in
      let firestore = try client(server) {
        $0.credentials = IDTokenCredentials(userID: "alice") { _ in IDToken("token-of-bob", userID: "bob") }
      }
      firestore.document("notes/a").setData(["by": "alice"], completion: nil)
      let bobs = firestore.collection("notes").record(includeMetadataChanges: true)
      _ = try await bobs.recorder.next { (try? $0.get().count) == 0 }
      try await firestore.document("notes/b").setData(["by": "bob"])
      let stored = try await firestore.collection("notes").getDocuments(source: .server)
      #expect(stored.ids == ["b"])
      bobs.registration.remove()
      try await firestore.terminate()
    }
    #expect(Set(seen.withLock { $0 }) == ["Bearer token-of-bob"])
  }
}
