import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Every query with more than five documents is a big one.
@Suite("Runs of queries on the cache")
struct QueryRunsTests {
  private let cache: PartCache
  private let first = ListenerID(rawValue: 1)
  private let second = ListenerID(rawValue: 2)

  init() throws {
    cache = try PartCache(durable: true)
    try cache.write(10...19)
  }

  private func makeRuns(inBackground: Bool = true) -> QueryRuns {
    let limits = inBackground ? BackgroundQueryLimits(documentsOnLoop: 5, partsPerScan: 1) : nil
    return QueryRuns(
      localStore: cache.store, configuration: SyncConfiguration(backgroundQueryLimits: limits, jitter: { 0 }))
  }

  private let count = Aggregation(alias: "n", operation: .count(upTo: nil))

  /// Short forms of actions.
  private func brief(_ actions: [QueryRuns.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .emit(.answer(let id, .snapshot(let snapshot))): "answer \(id.rawValue): \(snapshot.documents.count)"
      case .emit(.answer(let id, .aggregation)): "aggregate \(id.rawValue)"
      case .emit(.requestFailed(let id, let error)): "fail \(id.rawValue): \(error.code)"
      case .emit(.raiseError(let id, let error)): "error \(id.rawValue): \(error.code)"
      case .emit(.runBackgroundQuery(let job)): "run \(job.id.rawValue)"
      case .emit(.cancelBackgroundQuery(let id)): "cancel \(id.rawValue)"
      case .emit(let action): "\(action)"
      case .begin(let id, _, _, let view): "begin \(id.rawValue): " + (view.map { "\($0.documents.count)" } ?? "now")
      case .listenFailed(let listen, _): "listen failed \(listen.id.rawValue)"
      case .release(let target): "release \(target)"
      case .followOthers: "follow others"
      case .considerIndexes: "indexes"
      }
    }
  }

  private func listen(_ id: ListenerID) -> HeldListen {
    HeldListen(id: id, query: rooms, options: ListenOptions())
  }

  private func job(_ actions: [QueryRuns.Action]) throws -> BackgroundQueryJob {
    for case .emit(.runBackgroundQuery(let job)) in actions { return job }
    throw TestFailure("no query runs in the background")
  }

  private func run(_ job: BackgroundQueryJob) -> Result<BackgroundQueryResult, any Error> {
    job.run { count, body in for index in 0..<count { body(index) } }
  }

  @Test("a read of a big query is answered when it has run in the background, every other one at once")
  func reads() throws {
    var runs = makeRuns()
    let small = runs.readQuery(RequestID(rawValue: 1), Query(path: key("rooms/10").path))
    #expect(brief(small) == ["answer 1: 1", "indexes"])
    let big = runs.readQuery(RequestID(rawValue: 2), rooms)
    #expect(brief(big) == ["run 1"])
    let aggregation = runs.readAggregation(RequestID(rawValue: 3), rooms, [count])
    #expect(brief(aggregation) == ["run 2"])
    #expect(
      brief(runs.ended(try job(aggregation).id, run(try job(aggregation)))) == [
        "aggregate 3", "follow others", "indexes",
      ])
    #expect(brief(runs.ended(try job(big).id, run(try job(big)))) == ["answer 2: 10", "follow others", "indexes"])
    var onLoop = makeRuns(inBackground: false)
    #expect(brief(onLoop.readQuery(RequestID(rawValue: 1), rooms)) == ["answer 1: 10", "indexes"])
    #expect(brief(onLoop.readAggregation(RequestID(rawValue: 2), rooms, [count])) == ["aggregate 2", "indexes"])
    runs.assertInvariants { _ in false }
  }

  @Test("a read of a cache that fails is refused")
  func failedRead() throws {
    var runs = makeRuns(inBackground: false)
    cache.fail(with: StoreError(kind: .io, message: "made to fail"))
    #expect(brief(runs.readQuery(RequestID(rawValue: 1), rooms)) == ["fail 1: UNAVAILABLE"])
    cache.fail(with: nil)
  }

  @Test("listeners of one query wait for one run, and begin with what was noted while it ran")
  func listens() throws {
    var runs = makeRuns()
    let started = runs.listen(listen(first), hasView: false)
    #expect(brief(started) == ["run 1"] && brief(runs.listen(listen(second), hasView: false)) == [])
    let target = try #require(runs.targets.first)
    #expect(cache.store.isActive(target) && runs.ownTargets == [target: true])
    #expect(runs.mayShow(key("rooms/30")) && !runs.mayShow(key("halls/1")))
    runs.note([key("rooms/30"): locallyWritten("rooms/30", number(30)), key("halls/1"): locallyWritten("halls/1")])
    let ended = runs.ended(try job(started).id, run(try job(started)))
    #expect(brief(ended) == ["begin 1: 11", "begin 2: 11", "release \(target)", "follow others", "indexes"])
    #expect(!runs.hasBackgroundListen(first) && !runs.hasBackgroundListen(for: target))
  }

  @Test("a result in which documents may be missing is computed again, the third time on the loop")
  func gaps() throws {
    var runs = makeRuns()
    var started = runs.listen(listen(first), hasView: false)
    for attempt in 2...3 {
      runs.noteGap()
      started = runs.ended(try job(started).id, run(try job(started)))
      #expect(brief(started) == ["run \(attempt)", "follow others", "indexes"])
    }
    runs.noteGap()
    let target = try #require(runs.targets.first)
    let ended = runs.ended(try job(started).id, run(try job(started)))
    #expect(brief(ended) == ["begin 1: now", "release \(target)", "follow others", "indexes"])
  }

  @Test("the last listener that leaves, a refusal of the target and a failure end a run")
  func ends() throws {
    var runs = makeRuns()
    let left = runs.listen(listen(first), hasView: false)
    _ = runs.listen(listen(second), hasView: false)
    let target = try #require(runs.targets.first)
    #expect(brief(runs.unlisten(second)) == [])
    #expect(brief(runs.unlisten(first)) == ["cancel 1", "release \(target)"])
    try job(left).close()

    let refused = runs.listen(listen(first), hasView: false)
    #expect(
      runs.reject(target, error(.permissionDenied)) == [
        .cancelBackgroundQuery(BackgroundQueryID(rawValue: 2)), .raiseError(first, error(.permissionDenied)),
      ])
    try job(refused).close()

    let failing = runs.listen(listen(first), hasView: false)
    let failure = StoreError(kind: .io, message: "made to fail")
    let ended = runs.ended(try job(failing).id, .failure(failure))
    #expect(brief(ended) == ["release \(target)", "error 1: UNAVAILABLE", "follow others"])
    try job(failing).close()
    runs.assertInvariants { _ in false }
  }

  @Test("what fails because the process was suspended is run again; another failure ends it")
  func suspension() throws {
    var runs = makeRuns()
    let failure = Result<BackgroundQueryResult, any Error>.failure(StoreError(kind: .unavailable, message: "closed"))
    let started = [
      runs.listen(listen(first), hasView: false), runs.readQuery(RequestID(rawValue: 1), rooms),
      runs.readAggregation(RequestID(rawValue: 2), rooms, [count]),
    ]
    runs.noteSuspension()
    var again: [[QueryRuns.Action]] = []
    for actions in started {
      try job(actions).close()
      again.append(runs.ended(try job(actions).id, failure))
    }
    #expect(
      again.map(brief) == [["run 4", "follow others"], ["run 5", "follow others"], ["run 6", "follow others"]])
    let target = try #require(runs.targets.first)
    #expect(
      brief(runs.ended(try job(again[0]).id, run(try job(again[0])))) == [
        "begin 1: 10", "release \(target)", "follow others", "indexes",
      ])
    #expect(
      brief(runs.ended(try job(again[1]).id, run(try job(again[1])))) == ["answer 1: 10", "follow others", "indexes"])
    try job(again[2]).close()
    #expect(brief(runs.ended(try job(again[2]).id, failure)) == ["fail 2: UNAVAILABLE", "follow others"])
    runs.assertInvariants { _ in false }
  }
}
