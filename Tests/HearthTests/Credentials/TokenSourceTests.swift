import Foundation
import HearthModel
import HearthTransport
import Synchronization
import Testing

@testable import Hearth

/// A provider that counts its calls, notes which of them had to refresh, and answers as a test says.
private final class Provider: Sendable {
  let forced = Mutex<[Bool]>([])
  private let answer: @Sendable (_ call: Int) async throws -> String?

  init(_ answer: @escaping @Sendable (_ call: Int) async throws -> String?) {
    self.answer = answer
  }

  func source(name: String = "ID token", limit: Duration = .seconds(60)) -> TokenSource {
    TokenSource(name: name, limit: limit) { forcingRefresh in
      TokenSource.Fetched(token: try await self.fetch(forcingRefresh).map { AccessToken($0) })
    }
  }

  func fetch(_ forcingRefresh: Bool) async throws -> String? {
    let call = forced.withLock { forced in
      forced.append(forcingRefresh)
      return forced.count
    }
    return try await answer(call)
  }
}

/// Lets callers wait until it is opened.
private final class Gate: Sendable {
  private let outcome = Outcome<Void>()

  func open() { outcome.resolve(.success(())) }

  func wait() async throws { try await outcome.value() }
}

@Suite("Fetching tokens", .timeLimit(.minutes(2)))
struct TokenSourceTests {
  @Test("a refused token is fetched again and again until that works")
  func forcedRefresh() async throws {
    let provider = Provider { call in
      if call == 2 { throw URLError(.notConnectedToInternet) }
      return "token-\(call)"
    }
    let source = provider.source()
    #expect(try await source.token() == AccessToken("token-1"))
    source.invalidate(AccessToken("token-1"))
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error?.code == .unavailable)
    #expect(error?.message.hasPrefix("The ID token cannot be fetched: ") == true)
    #expect(try await source.token() == AccessToken("token-3"))
    #expect(try await source.token() == AccessToken("token-4"))
    #expect(provider.forced.withLock { $0 } == [false, true, true, false])
  }

  @Test("two streams that are refused with one token cause one refresh")
  func refusedTwice() async throws {
    let provider = Provider { "token-\($0)" }
    let source = provider.source()
    let first = try await source.token()
    source.invalidate(first)
    source.invalidate(first)
    #expect(try await source.token() == AccessToken("token-2"))
    source.invalidate(first)
    #expect(try await source.token() == AccessToken("token-3"))
    #expect(provider.forced.withLock { $0 } == [false, true, false])
  }

  @Test("a request without a token that is refused asks for one")
  func refusedWithoutToken() async throws {
    let provider = Provider { _ in nil }
    let source = provider.source()
    #expect(try await source.token() == nil)
    source.invalidate(nil)
    #expect(try await source.token() == nil)
    #expect(provider.forced.withLock { $0 } == [false, true])
  }

  @Test("requests that come together share one fetch, and its failure")
  func shared() async throws {
    let gate = Gate()
    let provider = Provider { call in
      if call == 1 { try await gate.wait() } else { throw URLError(.timedOut) }
      return "token-\(call)"
    }
    let source = provider.source()
    let tokens = try await withThrowingTaskGroup(of: AccessToken?.self) { group in
      for _ in 0..<20 { group.addTask { try await source.token() } }
      while source.waiterCount < 20 { await Task.yield() }
      gate.open()
      return try await group.reduce(into: Set<AccessToken?>()) { $0.insert($1) }
    }
    #expect(tokens == [AccessToken("token-1")])
    #expect(provider.forced.withLock { $0 } == [false])
    await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(source.waiterCount == 0)
  }

  @Test("a request that comes after a refusal does not wait for a fetch that began before it")
  func refusedMeanwhile() async throws {
    let gate = Gate()
    let provider = Provider { call in
      if call == 2 { try await gate.wait() }
      return call == 2 ? "token-1" : "token-\(call)"
    }
    let source = provider.source()
    #expect(try await source.token() == AccessToken("token-1"))
    async let early = source.token()
    while source.waiterCount < 1 { await Task.yield() }
    source.invalidate(AccessToken("token-1"))
    #expect(try await source.token() == AccessToken("token-3"))
    gate.open()
    #expect(try await early == AccessToken("token-1"))
    #expect(provider.forced.withLock { $0 } == [false, false, true])
    source.invalidate(AccessToken("token-1"))
    _ = try await source.token()
    #expect(provider.forced.withLock { $0.last } == false, "the newest token was not the refused one")
  }

  @Test("a fetch goes on while a caller waits for it, and is cancelled when nobody does")
  func cancelled() async throws {
    let ended = Recorder<Bool>()
    let provider = Provider { _ in
      do {
        try await Gate().wait()
      } catch {
        ended.record(error is CancellationError)
      }
      return nil
    }
    let source = provider.source()
    let waiters = (0..<2).map { _ in Task { try await source.token() } }
    while source.waiterCount < 2 { await Task.yield() }
    waiters[0].cancel()
    await #expect(throws: CancellationError.self) { _ = try await waiters[0].value }
    #expect(source.waiterCount == 1)
    #expect(ended.events.isEmpty)
    waiters[1].cancel()
    await #expect(throws: CancellationError.self) { _ = try await waiters[1].value }
    #expect(try await ended.next())
    #expect(provider.forced.withLock { $0.count } == 1)
  }

  @Test("a provider that never answers counts as failed in the end")
  func silentProvider() async throws {
    let gate = Gate()
    let source = Provider { _ in
      _ = await Task { try? await gate.wait() }.value
      return nil
    }.source(limit: .milliseconds(10))
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("nothing came within") == true)
    gate.open()
  }

  @Test("a request for one user does not get another one's token")
  func expectedUser() async throws {
    let users = IDTokenCredentials(userID: "bob") { _ in IDToken("token-of-bob", userID: "bob") }
    let source = TokenSource(name: "ID token") { try await users.fetch(forcingRefresh: $0) }
    for user in ["alice", nil] {
      let error = await #expect(throws: StatusError.self) {
        try await RequestUser.$current.withValue(RequestUser(user)) { _ = try await source.token() }
      }
      #expect(error == StatusError(code: .aborted, message: "The user changed while the request was prepared."))
    }
    let own = try await RequestUser.$current.withValue(RequestUser("bob")) { try await source.token() }
    #expect(own == AccessToken("token-of-bob"))
  }

  @Test("errors of a provider keep their code and lose every token")
  func providerErrors() async throws {
    let source = Provider { call in
      guard call > 1 else { return "opaque-s3cret" }
      throw NSError.firestore(.unauthenticated, "opaque-s3cret and eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln are old.")
    }.source()
    _ = try await source.token()
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error == StatusError(code: .unauthenticated, message: "(hidden) and (hidden) are old."))
  }

  @Test("of a system's error its text is told and not the request that failed")
  func systemErrors() async throws {
    let address = try #require(URL(string: "https://securetoken.example.com/v1/token?refresh_token=r3fresh-s3cret"))
    let source = Provider { _ in
      throw NSError(
        domain: NSURLErrorDomain, code: NSURLErrorTimedOut,
        userInfo: [NSLocalizedDescriptionKey: "It took too long.", NSURLErrorFailingURLErrorKey: address])
    }.source()
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error?.message == "The ID token cannot be fetched: It took too long. (NSURLErrorDomain -1001)")
  }

  @Test(
    "without an App Check token that can be sent, requests are made without one",
    arguments: [nil, "", "line\r\nx-admin: yes", "caf\u{e9}", String(repeating: "x", count: 20_000)])
  func appCheck(answer: String?) async throws {
    #expect(try await AppCheckSource(FirestoreAppCheck { _ in answer }).token() == nil)
  }

  @Test("a failing App Check does not fail requests, and is asked again after a refusal")
  func appCheckFails() async throws {
    let provider = Provider { call in
      if call == 1 { throw URLError(.timedOut) }
      if call == 2 { throw CancellationError() }
      return "genuine-\(call)"
    }
    let source = AppCheckSource(FirestoreAppCheck { try await provider.fetch($0) })
    #expect(try await source.token() == nil)
    #expect(try await source.token() == nil)
    #expect(try await source.token() == AccessToken("genuine-3"))
    source.invalidate(AccessToken("genuine-3"))
    #expect(try await source.token() == AccessToken("genuine-4"))
    #expect(provider.forced.withLock { $0 } == [false, false, false, true])
  }
}
