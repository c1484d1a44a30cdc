import HearthCache
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthSync

@Suite("Events in any order")
struct EventOrderTests {
  private func engine() throws -> SyncEngine {
    let store = try LocalStore(
      database: try Database(.memory), databaseID: DatabaseID(projectID: "test-project"), garbageCollection: .eager,
      user: nil, newCacheID: "cache")
    return SyncEngine(
      localStore: store, configuration: SyncConfiguration(maxConcurrentLimboResolutions: 2, jitter: { 0 }))
  }

  /// Any event, sensible or not: streams and timers that do not exist, targets never asked for, versions that go back.
  private func event(_ generator: inout SeededGenerator) -> SyncEvent {
    let number = Int.random(in: 1...6, using: &generator)
    let target = TargetID(Int.random(in: -1...8, using: &generator))
    let stream = StreamID(rawValue: Int.random(in: 0...12, using: &generator))
    let path = "rooms/\(Int.random(in: 1...5, using: &generator))"
    let time = Int64.random(in: 0...50, using: &generator)
    let failure = Bool.random(using: &generator) ? error(StatusCode.allCases.randomElement(using: &generator)!) : nil
    let document: Document =
      Bool.random(using: &generator) ? found(path, time, ["n": .integer(time)]) : missing(path, time)
    let query = [
      collection("rooms"), collection("rooms").ordered(by: "n").with(limit: 2),
      collection("rooms").ordered(by: "n", .descending).with(limit: 2, type: .last), collection(path),
    ].randomElement(using: &generator)!
    let states: [WatchTargetChange.State] = [.noChange, .added, .removed, .current, .reset]
    switch Int.random(in: 0..<22, using: &generator) {
    case 0, 1:
      let source: ListenSource = Bool.random(using: &generator) ? .default : .cache
      return .listen(ListenerID(rawValue: number), query, ListenOptions(source: source))
    case 2: return .unlisten(ListenerID(rawValue: number))
    case 3, 4:
      return .writes([
        LocalWrite(
          id: WriteID(rawValue: number), mutations: [.set(key(path), ["n": .integer(time)])],
          localWriteTime: Timestamp(seconds: time, nanoseconds: 0), identity: nil)
      ])
    case 5: return .request(RequestID(rawValue: number), .waitForPendingWrites)
    case 6: return .changeUser(["alice", nil][number % 2])
    case 7:
      return Bool.random(using: &generator)
        ? .request(RequestID(rawValue: number), .disableNetwork) : .connectivityChanged
    case 8, 9: return .request(RequestID(rawValue: number), .enableNetwork)
    case 10: return .watchStreamOpened(stream)
    case 11: return .writeStreamOpened(stream)
    case 12: return .watchStreamClosed(stream, failure)
    case 13: return .writeStreamClosed(stream, failure)
    case 14: return .writeStreamMessage(stream, WriteResponse(streamToken: [1], commitVersion: version(time)))
    case 15: return .timerFired(TimerKind.allCases.randomElement(using: &generator)!)
    case 16:
      return .watchStreamMessage(stream, .existenceFilter(WatchExistenceFilter(targetID: target, count: number - 2)))
    case 17, 18:
      return .watchStreamMessage(
        stream,
        .documentChange(
          WatchDocumentChange(
            key: key(path), updatedTargetIDs: [target], removedTargetIDs: [target + 1],
            document: number == 1 ? nil : document)))
    default:
      return .watchStreamMessage(
        stream,
        .targetChange(
          WatchTargetChange(
            state: states.randomElement(using: &generator)!, targetIDs: number < 3 ? [] : [target],
            resumeToken: number == 4 ? [] : [UInt8(number)], readTime: version(time),
            cause: number == 5 ? failure : nil)))
    }
  }

  @Test("senseless and late events never stop the engine, and equal histories give equal actions", arguments: 0..<30)
  func anyOrder(_ seed: UInt64) throws {
    var histories: [[SyncAction]] = []
    for _ in 0..<2 {
      var generator = SeededGenerator(seed: seed)
      let engine = try engine()
      var actions = engine.handle(.start, now: .zero)
      var opened: [SyncEvent] = []
      for step in 0..<300 {
        // Streams mostly open, so that messages reach something.
        let next = opened.popLast() ?? event(&generator)
        let now = Duration.seconds(step)
        for action in engine.handle(next, now: now) {
          actions.append(action)
          if case .openWatchStream(let id) = action { opened.append(.watchStreamOpened(id)) }
          if case .openWriteStream(let id) = action { opened.append(.writeStreamOpened(id)) }
        }
        #expect(engine.outstandingWriteCount <= 10, "seed \(seed)")
        #expect(engine.activeLimboDocuments.count <= 2, "seed \(seed)")
      }
      actions += engine.handle(.shutdown, now: .seconds(1000))
      histories.append(actions)
    }
    #expect(histories[0] == histories[1], "seed \(seed)")
  }
}
