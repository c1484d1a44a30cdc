import HearthModel
import Testing

@testable import HearthSync

@Suite("Write stream")
struct WriteStreamTests {
  private let ids = StreamNumbers()
  private let mutation = Mutation.delete(key("rooms/a"))

  private func stream() -> WriteStream {
    WriteStream(configuration: SyncConfiguration(jitter: { 0 }))
  }

  private func readyStream() -> WriteStream {
    var stream = stream()
    _ = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    _ = stream.opened(1, now: .zero)
    _ = stream.received(WriteResponse(streamToken: [7], knowsBatchLabels: true), on: 1)
    return stream
  }

  @Test("the handshake comes first; batches can be sent once it is answered, with the token of the last answer")
  func handshake() {
    var stream = stream()
    _ = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    #expect(stream.opened(1, now: .zero) == [.sendWrite(1, .handshake)])
    #expect(!stream.isReady)
    #expect(stream.send([mutation], batchLabel: "c/1") == [])
    #expect(stream.received(WriteResponse(streamToken: [7], knowsBatchLabels: true), on: 1) == .handshakeComplete)
    #expect(stream.isReady)
    #expect(
      stream.send([mutation], batchLabel: "c/1")
        == [.sendWrite(1, .writes([mutation], streamToken: [7], batchLabel: "c/1"))])
    #expect(stream.received(WriteResponse(streamToken: [8]), on: 1) == .batchAnswered)
    #expect(
      stream.send([mutation], batchLabel: "c/2")
        == [.sendWrite(1, .writes([mutation], streamToken: [8], batchLabel: "c/2"))])
  }

  @Test("without an announcement batches go out without their labels")
  func unannounced() {
    var stream = stream()
    _ = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    _ = stream.opened(1, now: .zero)
    _ = stream.received(WriteResponse(streamToken: [7]), on: 1)
    let unlabelled = [SyncAction.sendWrite(1, .writes([mutation], streamToken: [7], batchLabel: nil))]
    #expect(stream.send([mutation], batchLabel: "c/1") == unlabelled)
  }

  @Test("an orderly end says goodbye with an empty request, if the handshake was complete")
  func goodbye() {
    var ready = readyStream()
    #expect(
      ready.stop() == [.sendWrite(1, .writes([], streamToken: [7], batchLabel: nil)), .closeWriteStream(1)])
    var opening = stream()
    _ = opening.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    _ = opening.opened(2, now: .zero)
    #expect(opening.stop() == [.closeWriteStream(2)])
  }

  @Test("an unused stream says goodbye after a minute; a batch keeps it")
  func idle() {
    var stream = readyStream()
    #expect(stream.markIdle() == [.startTimer(.writeStreamIdle, after: .seconds(60))])
    #expect(stream.send([mutation], batchLabel: "c/1").first == .cancelTimer(.writeStreamIdle))
    #expect(stream.idleTimerFired() == [])
    _ = stream.markIdle()
    #expect(
      stream.idleTimerFired()
        == [
          .sendWrite(1, .writes([], streamToken: [7], batchLabel: nil)), .cancelTimer(.writeStreamIdle),
          .closeWriteStream(1),
        ])
  }

  @Test(
    "the answer to the handshake does not shorten the next pause, the answer to a batch does",
    arguments: [(false, Duration.seconds(1.5)), (true, .zero)])
  func backoffReset(_ answersBatch: Bool, _ expectedPause: Duration) {
    var stream = stream()
    _ = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    for id in 1...2 {
      _ = stream.closed(StreamID(rawValue: id), error: error(.unavailable), now: .zero)
      _ = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
      _ = stream.backoffTimerFired(now: .zero, nextID: ids.next)
    }
    _ = stream.opened(3, now: .zero)
    _ = stream.received(WriteResponse(streamToken: []), on: 3)
    if answersBatch { _ = stream.received(WriteResponse(streamToken: []), on: 3) }
    _ = stream.closed(3, error: error(.unavailable), now: .zero)
    let actions = stream.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    #expect(actions == [.startTimer(.writeStreamConnectionBackoff, after: expectedPause)])
  }

  @Test("the end of a stream says whether the handshake was complete")
  func closure() {
    var ready = readyStream()
    #expect(ready.closed(1, error: error(.notFound), now: .zero)?.handshakeWasComplete == true)
    #expect(!ready.isReady)
    var opening = stream()
    _ = opening.start(now: .zero, jitter: { 0 }, nextID: ids.next)
    _ = opening.opened(2, now: .zero)
    #expect(opening.closed(2, error: error(.aborted), now: .zero)?.handshakeWasComplete == false)
  }

  @Test("messages and ends of a stream that is gone are ignored")
  func lateEvents() {
    var stream = readyStream()
    #expect(stream.received(WriteResponse(streamToken: []), on: 9) == .stale)
    #expect(stream.closed(9, error: nil, now: .zero) == nil)
    _ = stream.stop()
    #expect(stream.received(WriteResponse(streamToken: []), on: 1) == .stale)
    #expect(stream.closed(1, error: nil, now: .zero) == nil)
    #expect(stream.opened(1, now: .zero) == [])
  }

  @Test(
    "which codes end a write and which are retried",
    arguments: StatusCode.allCases)
  func permanence(_ code: StatusCode) {
    let permanent: Set<StatusCode> = [
      .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition, .outOfRange, .unimplemented,
      .dataLoss,
    ]
    #expect(code.isPermanentForWrites == permanent.contains(code))
  }
}
