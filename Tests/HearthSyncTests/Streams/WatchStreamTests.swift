import HearthModel
import Testing

@testable import HearthSync

@Suite("Watch stream")
struct WatchStreamTests {
  private let ids = StreamNumbers()

  private func stream() -> WatchStream {
    WatchStream(configuration: SyncConfiguration(jitter: { 0 }))
  }

  private func start(_ stream: inout WatchStream, at now: Duration = .zero) -> [SyncAction] {
    stream.start(now: now, jitter: { 0 }, nextID: ids.next)
  }

  @Test("start opens")
  func start() {
    var stream = stream()
    #expect(start(&stream) == [.openWatchStream(1)])
    #expect(stream.isStarted && !stream.isOpen)
    #expect(stream.opened(1, now: .zero) == true)
    #expect(stream.isOpen)
  }

  #if !DEBUG
    @Test("start opens once")
    func secondStart() {
      var stream = stream()
      _ = start(&stream)
      #expect(start(&stream) == [])
      _ = stream.opened(1, now: .zero)
      #expect(start(&stream) == [])
    }
  #elseif os(macOS) || os(Linux)
    @Test("a second start is an error of the owner, in every state")
    func secondStart() async {
      await #expect(processExitsWith: .failure) {
        var stream = WatchStream(configuration: SyncConfiguration(jitter: { 0 }))
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 1 })
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 2 })
      }
      await #expect(processExitsWith: .failure) {
        var stream = WatchStream(configuration: SyncConfiguration(jitter: { 0 }))
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 1 })
        _ = stream.opened(1, now: .zero)
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 2 })
      }
      await #expect(processExitsWith: .failure) {
        var stream = WatchStream(configuration: SyncConfiguration(jitter: { 0 }))
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 1 })
        _ = stream.closed(1, error: error(.unavailable), now: .zero)
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 2 })
        _ = stream.start(now: .zero, jitter: { 0 }, nextID: { 2 })
      }
    }
  #endif

  @Test("requests go out only while the stream is open")
  func sending() {
    var stream = stream()
    #expect(stream.send(.removeTarget(2)) == [])
    _ = start(&stream)
    #expect(stream.send(.removeTarget(2)) == [])
    _ = stream.opened(1, now: .zero)
    #expect(stream.send(.removeTarget(2)) == [.sendWatch(1, .removeTarget(2))])
  }

  @Test("after a failure the next start pauses, ever longer, and any message shortens the next pause")
  func backoff() {
    var stream = stream()
    _ = start(&stream)
    #expect(stream.closed(1, error: error(.unavailable), now: .zero) == [])
    #expect(!stream.isStarted)
    #expect(start(&stream) == [.startTimer(.listenStreamConnectionBackoff, after: .zero)])
    #expect(stream.isStarted)
    #expect(stream.backoffTimerFired(now: .zero, nextID: ids.next) == [.openWatchStream(2)])
    _ = stream.closed(2, error: error(.unavailable), now: .zero)
    #expect(start(&stream) == [.startTimer(.listenStreamConnectionBackoff, after: .seconds(1))])
    #expect(stream.backoffTimerFired(now: .seconds(1), nextID: ids.next) == [.openWatchStream(3)])
    _ = stream.opened(3, now: .seconds(1))
    #expect(stream.messageReceived(3) == true)
    _ = stream.closed(3, error: nil, now: .seconds(1))
    // A message alone proves little.
    #expect(start(&stream, at: .seconds(1)) == [.startTimer(.listenStreamConnectionBackoff, after: .seconds(1.5))])
    _ = stream.backoffTimerFired(now: .seconds(3), nextID: ids.next)
    _ = stream.opened(4, now: .seconds(3))
    stream.snapshotReceived()
    _ = stream.closed(4, error: nil, now: .seconds(3))
    #expect(start(&stream, at: .seconds(3)) == [.startTimer(.listenStreamConnectionBackoff, after: .zero)])
  }

  @Test("an overloaded backend gets the longest pause")
  func resourceExhausted() {
    var stream = stream()
    _ = start(&stream)
    _ = stream.closed(1, error: error(.resourceExhausted), now: .zero)
    #expect(start(&stream) == [.startTimer(.listenStreamConnectionBackoff, after: .seconds(60))])
  }

  @Test("an inhibited pause is left out")
  func inhibit() {
    var stream = stream()
    _ = start(&stream)
    _ = stream.closed(1, error: error(.resourceExhausted), now: .zero)
    stream.inhibitBackoff()
    #expect(start(&stream) == [.openWatchStream(2)])
  }

  @Test("refused credentials are renewed, unless the stream had been open for ten seconds")
  func unauthenticated() {
    var stream = stream()
    _ = start(&stream)
    #expect(stream.closed(1, error: error(.unauthenticated), now: .zero) == [.invalidateCredentials])
    _ = start(&stream)
    _ = stream.backoffTimerFired(now: .zero, nextID: ids.next)
    _ = stream.opened(2, now: .seconds(1))
    #expect(stream.closed(2, error: error(.unauthenticated), now: .seconds(10)) == [.invalidateCredentials])
    _ = start(&stream, at: .seconds(10))
    _ = stream.backoffTimerFired(now: .seconds(10), nextID: ids.next)
    _ = stream.opened(3, now: .seconds(10))
    #expect(stream.closed(3, error: error(.unauthenticated), now: .seconds(20)) == [])
  }

  @Test("an unused stream is closed after a minute, a request keeps it open")
  func idle() {
    var stream = stream()
    #expect(stream.markIdle() == [])
    _ = start(&stream)
    _ = stream.opened(1, now: .zero)
    #expect(stream.idleTimerFired() == nil)
    #expect(stream.markIdle() == [.startTimer(.listenStreamIdle, after: .seconds(60))])
    #expect(stream.markIdle() == [])
    #expect(stream.send(.removeTarget(2)) == [.cancelTimer(.listenStreamIdle), .sendWatch(1, .removeTarget(2))])
    #expect(stream.idleTimerFired() == nil)
    _ = stream.markIdle()
    #expect(stream.idleTimerFired() == [.cancelTimer(.listenStreamIdle), .closeWatchStream(1)])
    #expect(!stream.isStarted)
  }

  @Test("stopping ends every state and leaves nothing running")
  func stop() {
    var stream = stream()
    #expect(stream.stop() == [])
    _ = start(&stream)
    #expect(stream.stop() == [.closeWatchStream(1)])
    _ = start(&stream)
    _ = stream.closed(2, error: error(.unavailable), now: .zero)
    _ = start(&stream)
    #expect(stream.stop() == [.cancelTimer(.listenStreamConnectionBackoff)])
    #expect(stream.backoffTimerFired(now: .zero, nextID: ids.next) == [])
    #expect(!stream.isStarted)
  }

  @Test("events of a stream that is gone are ignored")
  func lateEvents() {
    var stream = stream()
    _ = start(&stream)
    _ = stream.stop()
    _ = start(&stream)
    #expect(stream.opened(1, now: .zero) == false)
    #expect(stream.opened(2, now: .zero) == true)
    #expect(stream.opened(2, now: .zero) == false)
    #expect(stream.messageReceived(1) == false)
    #expect(stream.closed(1, error: error(.unavailable), now: .zero) == nil)
    #expect(stream.isOpen)
    #expect(stream.backoffTimerFired(now: .zero, nextID: ids.next) == [])
  }
}
