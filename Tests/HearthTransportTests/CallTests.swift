import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

private let key = try! DocumentKey(parsing: "cities/SF")
private let otherKey = try! DocumentKey(parsing: "cities/LA")

private struct FailingCredentials: CredentialsProvider {
  func token() async throws -> AccessToken? {
    throw StatusError(code: .unauthenticated, message: "signed out")
  }
  func invalidate(_ token: AccessToken?) {}
}

private struct FixedCredentials: CredentialsProvider {
  var value: String
  func token() async -> AccessToken? { AccessToken(value) }
  func invalidate(_ token: AccessToken?) {}
}

/// Credentials that fail some times, and have a token then.
private final class RecoveringCredentials: CredentialsProvider {
  private let error: StatusError
  private let failures: Mutex<Int>

  init(_ error: StatusError, failures: Int) {
    self.error = error
    self.failures = Mutex(failures)
  }

  func token() async throws -> AccessToken? {
    let rest = failures.withLock { failures in
      failures -= 1
      return failures
    }
    guard rest < 0 else { throw error }
    return AccessToken("token")
  }
  func invalidate(_ token: AccessToken?) {}
}

/// A new token after each refusal: token-1, token-2, …
private final class CountingCredentials: CredentialsProvider {
  private let number = Mutex(1)
  func token() async -> AccessToken? { AccessToken("token-\(number.withLock { $0 })") }
  func invalidate(_ token: AccessToken?) { number.withLock { $0 += 1 } }
}

/// A new token for each call: token-1, token-2, … Notes which are invalidated.
private final class NumberedCredentials: CredentialsProvider {
  private let number = Mutex(0)
  let invalidated = Mutex<[AccessToken?]>([])

  func token() async -> AccessToken? {
    let count = number.withLock { number in
      number += 1
      return number
    }
    return AccessToken("token-\(count)")
  }

  func invalidate(_ token: AccessToken?) { invalidated.withLock { $0.append(token) } }
}

/// Credentials whose token comes when a test says so.
private final class GatedCredentials: CredentialsProvider {
  let asked = Signal<Void>()
  private let answer = Signal<AccessToken>()

  func token() async -> AccessToken? {
    asked.send(())
    return await answer.wait()
  }

  func give(_ token: AccessToken) { answer.send(token) }
  func invalidate(_ token: AccessToken?) {}
}

@Suite("Headers and credentials", .timeLimit(.minutes(2)))
struct HeaderTests {
  private func headers(
    _ names: [String], credentials: any CredentialsProvider
  ) async throws -> [String?] {
    let seen = Signal<[String?]>()
    let backend = try await ScriptedBackend.start([
      "Listen": { call in seen.send(names.map { call.header($0) }) }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port, credentials: credentials))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    let headers = await seen.wait()
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
    return try #require(headers)
  }

  @Test("every call names the database, the client and, for emulators, the owner")
  func owner() async throws {
    let names = ["google-cloud-resource-prefix", "x-goog-request-params", "x-goog-api-client", "authorization"]
    #expect(
      try await headers(names, credentials: OwnerCredentials()) == [
        "projects/demo/databases/(default)", "database=projects%2Fdemo%2Fdatabases%2F%28default%29",
        "gl-swift/ hearth/", "Bearer owner",
      ])
  }

  @Test("the app's id is sent where there is one")
  func appID() async throws {
    let (sent, headers) = AsyncStream.makeStream(of: String?.self)
    let backend = try await ScriptedBackend.start([
      "Listen": { call in headers.yield(call.header("x-firebase-gmpid")) }
    ])
    for appID in ["1:1234567890:ios:321abc", nil] {
      var wanted = configuration(port: backend.port)
      wanted.googleAppID = appID
      let transport = try FirestoreTransport(wanted)
      let stream = transport.openWatchStream { _ in }
      #expect(await sent.first { _ in true } == appID)
      withExtendedLifetime(stream) {}
      await transport.shutdown()
    }
    await backend.kill()
    var wrong = configuration(port: backend.port)
    wrong.googleAppID = "1:2\r\nx-admin: yes"
    #expect(throws: StatusError.self) { _ = try FirestoreTransport(wrong) }
  }

  @Test("a token that comes late is no silent backend")
  func slowCredentials() async throws {
    let backend = try await ScriptedBackend.start(["Listen": { for try await _ in $0.requests {} }])
    let credentials = GatedCredentials()
    var wanted = configuration(port: backend.port, credentials: credentials)
    wanted.openTimeout = .zero
    let transport = try FirestoreTransport(wanted)
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    _ = await credentials.asked.wait()
    // The time to open, which is none, begins only when there is a token: a later stream with the same time, which has one, is
    // over first.
    var other = configuration(port: backend.port)
    other.openTimeout = .zero
    let otherTransport = try FirestoreTransport(other)
    let otherEvents = EventRecorder<WatchResponse>()
    let otherStream = otherTransport.openWatchStream(onEvent: otherEvents.record)
    _ = await otherEvents.next()
    #expect(events.all.isEmpty)
    credentials.give(AccessToken("late-token"))
    _ = await events.next()
    withExtendedLifetime((stream, otherStream)) {}
    await transport.shutdown()
    await otherTransport.shutdown()
    await backend.kill()
  }

  @Test("a stream that is refused has its own token invalidated, not a newer one")
  func refusedToken() async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": { _ in throw RPCError(code: .unauthenticated, message: "The token has expired.") },
      "Commit": { call in
        for try await _ in call.requests { try await call.send(Google_Firestore_V1_CommitResponse()) }
      },
    ])
    let credentials = NumberedCredentials()
    let transport = try FirestoreTransport(configuration(port: backend.port, credentials: credentials))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    while case .opened = await events.next() {}
    _ = try await transport.commit([])
    transport.invalidateCredentials()
    transport.invalidateCredentials()
    #expect(credentials.invalidated.withLock { $0 } == [AccessToken("token-1")])
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("without credentials nobody is named")
  func nobody() async throws {
    #expect(try await headers(["authorization"], credentials: NoCredentials()) == [nil])
  }

  @Test("credentials that fail end the stream with their error")
  func failingCredentials() async throws {
    let backend = try await ScriptedBackend.start(["Listen": { _ in }])
    let transport = try FirestoreTransport(configuration(port: backend.port, credentials: FailingCredentials()))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(try await events.nextError() == StatusError(code: .unauthenticated, message: "signed out"))
    let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(error == StatusError(code: .unauthenticated, message: "signed out"))
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test(
    "a token that no header can carry is refused, and no text shows it",
    arguments: [
      "secret\r\nx: y", "", "s\u{e9}cret", "secret\n", "secret\u{0}", "se cret", "\u{7f}secret", "secret\u{2028}",
      String(repeating: "secret", count: 200_000),
    ])
  func unusableToken(value: String) async throws {
    let backend = try await ScriptedBackend.start(["Listen": { _ in }])
    let transport = try FirestoreTransport(
      configuration(port: backend.port, credentials: FixedCredentials(value: value)))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    let error = try await events.nextError()
    #expect(error.code == .unauthenticated)
    #expect(!error.message.contains("cret"))
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("App Check has a header of its own")
  func appCheck() async throws {
    let (sent, headers) = AsyncStream.makeStream(of: [String?].self)
    let backend = try await ScriptedBackend.start([
      "Listen": { call in headers.yield([call.header("authorization"), call.header("x-firebase-appcheck")]) }
    ])
    var wanted = configuration(port: backend.port)
    wanted.appCheck = FixedCredentials(value: "genuine")
    let transport = try FirestoreTransport(wanted)
    let stream = transport.openWatchStream { _ in }
    #expect(await sent.first { _ in true } == [nil, "genuine"])
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a call that is refused as unauthenticated gets another token the next time")
  func invalidation() async throws {
    let backend = try await ScriptedBackend.start([
      "Commit": { call in
        guard call.header("authorization") == "Bearer token-2" else {
          throw RPCError(code: .unauthenticated, message: "The token has expired.")
        }
        for try await _ in call.requests { try await call.send(Google_Firestore_V1_CommitResponse()) }
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port, credentials: CountingCredentials()))
    let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(error?.code == .unauthenticated)
    _ = try await transport.commit([])
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a backend that answers that it is unavailable is quoted, and not said to be out of reach")
  func unavailableAnswer() async throws {
    let backend = try await ScriptedBackend.start([
      "Commit": { _ in
        throw RPCError(
          code: .unavailable, message: "The database is out of reach; try again.", metadata: ["details": "1"])
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(error?.message == "The database is out of reach; try again.")
    await backend.kill()
    let lost = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(lost?.code == .unavailable && lost?.message.contains(" is unavailable: ") == true, "\(lost?.message ?? "")")
    await transport.shutdown()
  }

  @Test("a backend that repeats tokens in its messages does not bring them into errors")
  func repeatedTokens() async throws {
    let refuse: Script = { call in
      let seen = "\(call.header("authorization") ?? "") \(call.header("x-firebase-appcheck") ?? "")"
      throw RPCError(code: .permissionDenied, message: "You sent \(seen).")
    }
    let backend = try await ScriptedBackend.start(["Listen": refuse, "Commit": refuse])
    var wanted = configuration(port: backend.port, credentials: FixedCredentials(value: "s3cret-token"))
    wanted.appCheck = FixedCredentials(value: "app-s3cret")
    let transport = try FirestoreTransport(wanted)
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    while let event = await events.next() {
      guard case .closed(let error?) = event else { continue }
      #expect(error == StatusError(code: .permissionDenied, message: "You sent Bearer (hidden) (hidden)."))
      break
    }
    let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(error?.message == "You sent Bearer (hidden) (hidden).")
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a token does not show itself")
  func hiddenToken() {
    let token = AccessToken("secret")
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!"\(token) \(String(reflecting: token)) \(dumped)".contains("secret"))
  }
}

@Suite("Single calls", .timeLimit(.minutes(2)))
struct CallTests {
  private func withBackend(
    _ scripts: [String: Script], _ body: (FirestoreTransport) async throws -> Void
  ) async throws {
    let backend = try await ScriptedBackend.start(scripts)
    let transport = try FirestoreTransport(configuration(port: backend.port))
    try await body(transport)
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a commit sends all writes and gives version and results")
  func commit() async throws {
    let version = SnapshotVersion(microseconds: 12)
    let commit: Script = { call in
      for try await bytes in call.requests {
        let request = try Google_Firestore_V1_CommitRequest(serializedBytes: bytes)
        try await call.send(
          Google_Firestore_V1_CommitResponse.with {
            $0.commitTime = translator.encode(version)
            $0.writeResults = request.writes.map { _ in .init() }
          })
      }
    }
    try await withBackend(["Commit": commit]) { transport in
      let (commitVersion, results) = try await transport.commit([.delete(key), .delete(otherKey)])
      #expect(commitVersion == version)
      #expect(results == [MutationResult(version: version), MutationResult(version: version)])
    }
  }

  @Test("a commit with another number of results is an error of the backend")
  func commitMismatch() async throws {
    try await withBackend(["Commit": { try await $0.send(Google_Firestore_V1_CommitResponse()) }]) { transport in
      let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([.delete(key)]) }
      #expect(error?.code == .internal)
    }
  }

  @Test("a refused commit throws the backend's status")
  func commitRefused() async throws {
    try await withBackend(["Commit": { _ in throw RPCError(code: .aborted, message: "contention") }]) { transport in
      let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([.delete(key)]) }
      #expect(error == StatusError(code: .aborted, message: "contention"))
    }
  }

  @Test("a batch read gives one document for each key, in the order of the keys")
  func batchGet() async throws {
    let readTime = SnapshotVersion(microseconds: 30)
    let answer: Script = { call in
      let found = Document.found(
        otherKey, version: SnapshotVersion(microseconds: 9), fields: EncodedFields(["a": .integer(1)]))
      try await call.send(translator.encodeBatchGetResponse(found, readTime: readTime))
      try await call.send(
        translator.encodeBatchGetResponse(.missing(key, version: readTime), readTime: readTime))
    }
    try await withBackend(["BatchGetDocuments": answer]) { transport in
      let documents = try await transport.batchGetDocuments([key, otherKey, key])
      #expect(documents.map(\.key) == [key, otherKey])
      #expect(documents.map(\.isFound) == [false, true])
      #expect(documents.map(\.readTime) == [readTime, readTime])
    }
  }

  @Test("a batch read that leaves a key out, or answers nonsense, is an error of the backend")
  func batchGetFailures() async throws {
    try await withBackend(["BatchGetDocuments": { _ in }]) { transport in
      let error = await #expect(throws: StatusError.self) { _ = try await transport.batchGetDocuments([key]) }
      #expect(error?.code == .internal)
      #expect(error?.message.contains("cities/SF") == true)
    }
    try await withBackend([
      "BatchGetDocuments": { try await $0.send(Google_Firestore_V1_BatchGetDocumentsResponse()) }
    ]) { transport in
      let error = await #expect(throws: StatusError.self) { _ = try await transport.batchGetDocuments([key]) }
      #expect(error?.code == .internal)
      #expect(error?.message.contains("BatchGetDocumentsResponse.result") == true)
    }
  }

  @Test(
    "a batch read that breaks off is read on at its version, as long as something comes",
    arguments: [RPCError.Code.unavailable, .deadlineExceeded])
  func longBatchGet(code: RPCError.Code) async throws {
    let readTime = SnapshotVersion(microseconds: 30)
    let third = try DocumentKey(parsing: "cities/third")
    let requests = Mutex<[Google_Firestore_V1_BatchGetDocumentsRequest]>([])
    // Each call brings one document of those that it is asked for; the one for the third brings nothing.
    let answer: Script = { call in
      for try await bytes in call.requests {
        let request = try Google_Firestore_V1_BatchGetDocumentsRequest(serializedBytes: bytes)
        let number = requests.withLock { requests in
          requests.append(request)
          return requests.count
        }
        if let name = request.documents.first, !name.hasSuffix("third") {
          try await call.send(
            Google_Firestore_V1_BatchGetDocumentsResponse.with {
              $0.missing = name
              $0.readTime = translator.encode(readTime)
            })
        }
        throw RPCError(code: code, message: "end \(number)")
      }
    }
    try await withBackend(["BatchGetDocuments": answer]) { transport in
      func asked() -> [String] {
        requests.withLock { requests in
          requests.map { $0.documents.map { String($0.split(separator: "/").last ?? "") }.joined(separator: " ") }
        }
      }
      let documents = try await transport.batchGetDocuments([key, otherKey, key])
      #expect(documents.map(\.key) == [key, otherKey])
      #expect(asked() == ["SF LA", "LA"])
      #expect(
        requests.withLock { $0.map(\.consistencySelector) } == [nil, .readTime(translator.encode(readTime))])
      // What is told is the end of the first, not of the attempt to read on.
      let error = await #expect(throws: StatusError.self) { _ = try await transport.batchGetDocuments([key, third]) }
      #expect(error?.message.contains("end 3") == true, "\(error as Any)")
      #expect(asked().suffix(2) == ["SF third", "third"])
    }
  }

  @Test("a batch read is read on at the latest version that it has seen")
  func readOnAtLatestVersion() async throws {
    let third = try DocumentKey(parsing: "cities/third")
    let requests = Mutex<[Google_Firestore_V1_BatchGetDocumentsRequest]>([])
    let answer: Script = { call in
      for try await bytes in call.requests {
        let request = try Google_Firestore_V1_BatchGetDocumentsRequest(serializedBytes: bytes)
        requests.withLock { $0.append(request) }
        for (offset, name) in request.documents.prefix(2).enumerated() {
          try await call.send(
            Google_Firestore_V1_BatchGetDocumentsResponse.with {
              $0.missing = name
              $0.readTime = translator.encode(SnapshotVersion(microseconds: 30 + Int64(offset)))
            })
        }
        if request.documents.count > 1 { throw RPCError(code: .unavailable, message: "broken") }
      }
    }
    try await withBackend(["BatchGetDocuments": answer]) { transport in
      let documents = try await transport.batchGetDocuments([key, otherKey, third])
      #expect(documents.map(\.key) == [key, otherKey, third])
      let latest = translator.encode(SnapshotVersion(microseconds: 31))
      #expect(requests.withLock { $0.map(\.consistencySelector) } == [nil, .readTime(latest)])
    }
  }

  @Test("a batch read ends at its deadline, although documents have come")
  func batchGetDeadline() async throws {
    let release = Signal<Void>()
    let count = Mutex(0)
    let answer: Script = { call in
      for try await bytes in call.requests {
        let request = try Google_Firestore_V1_BatchGetDocumentsRequest(serializedBytes: bytes)
        count.withLock { $0 += 1 }
        if let name = request.documents.first {
          try await call.send(
            Google_Firestore_V1_BatchGetDocumentsResponse.with {
              $0.missing = name
              $0.readTime = translator.encode(SnapshotVersion(microseconds: 30))
            })
        }
        _ = await release.wait()
      }
    }
    try await withBackend(["BatchGetDocuments": answer]) { transport in
      let start = ContinuousClock.now
      let error = await #expect(throws: StatusError.self) {
        _ = try await transport.batchGetDocuments([key, otherKey], until: start + .seconds(1))
      }
      #expect(error?.code == .deadlineExceeded)
      #expect(count.withLock { $0 } <= 1 && ContinuousClock.now - start < .seconds(30))
      let late = await #expect(throws: StatusError.self) {
        _ = try await transport.batchGetDocuments([key], until: start)
      }
      #expect(late?.code == .deadlineExceeded)
      #expect(count.withLock { $0 } <= 1)
      release.send(())
    }
  }

  @Test(
    "an error of the credentials is no refusal of the documents that are looked up",
    arguments: [StatusCode.permissionDenied, .invalidArgument])
  func lookUpWithoutToken(code: StatusCode) async throws {
    let readTime = SnapshotVersion(microseconds: 30)
    let isRefused = Mutex(true)
    let answer: Script = { call in
      let refuses = isRefused.withLock { isRefused in
        defer { isRefused = false }
        return isRefused
      }
      if refuses { throw RPCError(code: .permissionDenied, message: "not yours") }
      try await call.send(translator.encodeBatchGetResponse(.missing(key, version: readTime), readTime: readTime))
    }
    let backend = try await ScriptedBackend.start(["BatchGetDocuments": answer])
    let failure = StatusError(code: code, message: "not now")
    let credentials = RecoveringCredentials(failure, failures: 2)
    let transport = try FirestoreTransport(configuration(port: backend.port, credentials: credentials))
    // Other callers get the error as it is.
    let told = await #expect(throws: StatusError.self) { _ = try await transport.batchGetDocuments([key]) }
    #expect(told == failure)
    let local = await #expect(throws: StatusError.self) { _ = try await transport.readableDocuments([key]) }
    #expect(local == StatusError(code: .unavailable, message: "not now"))
    let refusal = await #expect(throws: StatusError.self) { _ = try await transport.readableDocuments([key]) }
    #expect(refusal?.code == .permissionDenied)
    #expect(try await transport.readableDocuments([key]).get().map(\.key) == [key])
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a call that takes too long is given up")
  func timeout() async throws {
    let release = Signal<Bool>()
    let backend = try await ScriptedBackend.start(["Commit": { _ in _ = await release.wait() }])
    var hasty = configuration(port: backend.port)
    hasty.callTimeout = .milliseconds(300)
    let transport = try FirestoreTransport(hasty)
    let error = await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    #expect(error?.code == .deadlineExceeded)
    release.send(true)
    await transport.shutdown()
    await backend.kill()
  }
}
