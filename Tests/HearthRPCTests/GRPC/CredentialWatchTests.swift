import HearthModel
import NIOEmbedded
import Synchronization
import Testing

@testable import HearthRPC

@Suite("Credentials of calls in progress", .timeLimit(.minutes(1)))
struct CredentialWatchTests {
  /// Accepts everything, or nothing any more.
  private struct Authenticator: CallAuthenticator {
    var isWithdrawn = false

    func known(_ metadata: CallMetadata) -> KnownCaller { .unknown }

    func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity {
      guard !isWithdrawn else { throw CallStatus(.unauthenticated, "withdrawn") }
      return CallIdentity(0, expiry: .now)
    }
  }

  private func call(expiry: ContinuousClock.Instant?) -> ServerCall {
    let call = ServerCall(
      number: 1, method: .answered, metadata: CallMetadata(), transcoder: nil, load: ServerLoad(limits: ServerLimits()),
      outlet: CallOutbox(eventLoop: EmbeddedEventLoop()), share: ConnectionShare())
    call.identify(CallIdentity(0, expiry: expiry))
    return call
  }

  /// Waits for the end of a call that gets no requests.
  private func end(of call: ServerCall) async -> CallStatus? {
    do {
      _ = try await call.nextInput()
      return nil
    } catch {
      return error as? CallStatus
    }
  }

  @Test("that expire end their calls, also after all calls before have ended, and no call that has ended before them")
  func expiry() async {
    let watch = CredentialWatch(Authenticator(), checkedEvery: .milliseconds(10))
    for _ in 0..<3 {
      let (watched, removed) = (call(expiry: .now + .milliseconds(20)), call(expiry: .now + .milliseconds(10)))
      #expect(watch.add(watched))
      #expect(watch.add(removed))
      watch.remove(removed)
      #expect(await end(of: watched)?.code == .unauthenticated)
      #expect(removed.state.withLock { !$0.isOver })
      watch.remove(watched)
    }
  }

  @Test("that are withdrawn end their calls, and those without an end are not watched")
  func withdrawal() async {
    let watch = CredentialWatch(Authenticator(isWithdrawn: true), checkedEvery: .milliseconds(10))
    #expect(!watch.add(call(expiry: nil)))
    let watched = call(expiry: .now + .seconds(600))
    #expect(watch.add(watched))
    #expect(await end(of: watched)?.message == "withdrawn")
  }
}
