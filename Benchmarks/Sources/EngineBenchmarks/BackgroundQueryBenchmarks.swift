internal import BenchmarkKit
internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync
internal import Synchronization

/// The effect of a big query on everything else. Wall time is what counts here; processor time is that of all threads.
enum BackgroundQueryBenchmarks {
  static let all = [
    latency(
      "scan", "while range + order + limit 25 scans all documents", goal: 3, parts: 2,
      disturbance: { .read(try SampleDocuments($0).range()) }),
    latency(
      "listen", "while a listen to all documents starts", goal: 3, parts: 2,
      disturbance: { _ in .listen(SampleDocuments.everything) }),
    latency(
      "on-loop", "while the same scan runs on the loop", goal: nil, parts: nil,
      disturbance: { .read(try SampleDocuments($0).range()) }),
    scan("all", "all documents", { SampleDocuments.everything }, parts: 1),
    scan("all", "all documents", { SampleDocuments.everything }, parts: 2),
    scan("hits", "10 hits", { try SampleDocuments.equality() }, parts: 1),
    scan("hits", "10 hits", { try SampleDocuments.equality() }, parts: 2),
  ]

  fileprivate enum Disturbance {
    case read(Query)
    case listen(Query)
  }

  private static let writeCount = 100

  private static func latency(
    _ name: String, _ what: String, goal: Double?, parts: Int?,
    disturbance: @escaping @Sendable (Int) throws -> Disturbance
  ) -> Benchmark {
    Benchmark(
      "background.write-\(name)", group: "Background queries", title: "one durable write after the other, \(what)",
      unit: .item, sizes: [100_000], goals: goal.map { [100_000: .init(wallTimesFloor: $0)] } ?? [:]
    ) { session in
      let samples = SampleDocuments(session.size)
      let disturbance = try disturbance(session.size)
      let limits = parts.map { BackgroundQueryLimits(partsPerScan: $0) }
      func makeClient() throws -> LoopClient { LoopClient(try session.openCopyOfCache(), limits) }
      func write(_ client: LoopClient) throws {
        for number in 0..<writeCount { client.write(try samples.patch(number)) }
      }
      let client = try makeClient()
      try session.measure(
        items: writeCount, setUp: { client.repeatedly(disturbance.event) },
        run: { _, _ in try write(client) }, tearDown: { $0.stop() })
      client.close()
      let quiet = try makeClient()
      try session.floor(
        "the same writes while nothing else happens", items: writeCount, setUp: {}, run: { try write(quiet) })
      quiet.close()
    }
  }

  private static func scan(_ name: String, _ what: String, _ query: @escaping @Sendable () throws -> Query, parts: Int)
    -> Benchmark
  {
    Benchmark(
      "background.\(name)-\(parts)", group: "Background queries",
      title: "query that returns \(what), on \(parts == 1 ? "one connection" : "\(parts) connections")",
      sizes: [100_000]
    ) { session in
      let client = LoopClient(try session.openCopyOfCache(), BackgroundQueryLimits(partsPerScan: parts))
      let query = try query()
      try session.measure { client.read(query) }
      client.close()
    }
  }
}

extension BackgroundQueryBenchmarks.Disturbance {
  /// The event that begins it, under a number that has not been used.
  fileprivate func event(_ number: Int) -> SyncEvent {
    switch self {
    case .read(let query): .request(RequestID(rawValue: number), .readQuery(query))
    case .listen(let query): .listen(ListenerID(rawValue: number), query, ListenOptions())
    }
  }
}

/// An engine on a loop of its own, as a client has it: events from any thread are handled one after the other, and big queries
/// run on other threads.
// @unchecked: what is mutable is used on the loop's serial queue only.
final class LoopClient: @unchecked Sendable {
  private let loop = DispatchQueue(label: "loop")
  private let queries = DispatchQueue(label: "queries", attributes: .concurrent)
  private let cache: Cache
  private let engine: SyncEngine
  private var lastNumber = 0
  /// By write, request and listener.
  private var waiting: [Int: @Sendable () -> Void] = [:]

  init(_ cache: Cache, _ backgroundQueryLimits: BackgroundQueryLimits?) {
    self.cache = cache
    engine = SyncEngine(
      localStore: cache.store,
      configuration: SyncConfiguration(backgroundQueryLimits: backgroundQueryLimits, jitter: { 0 }))
  }

  func close() { loop.sync { cache.close() } }

  /// Waits until a write is durable and shown.
  func write(_ mutation: Mutation) {
    loop.sync {
      lastNumber += 1
      handle(
        .writes([
          LocalWrite(
            id: WriteID(rawValue: lastNumber), mutations: [mutation],
            localWriteTime: Timestamp(seconds: 1_750_000_000, nanoseconds: 0), identity: nil)
        ]))
    }
  }

  func read(_ query: Query) {
    let done = DispatchSemaphore(value: 0)
    post({ .request(RequestID(rawValue: $0), .readQuery(query)) }, then: { done.signal() })
    done.wait()
  }

  /// Lets an operation begin again whenever it has ended.
  func repeatedly(_ event: @escaping @Sendable (Int) -> SyncEvent) -> Repetition {
    let repetition = Repetition()
    again(event, repetition)
    return repetition
  }

  private func again(_ event: @escaping @Sendable (Int) -> SyncEvent, _ repetition: Repetition) {
    post(event) { [self] in
      if repetition.goesOn() { again(event, repetition) }
    }
  }

  /// Stops to begin an operation again.
  final class Repetition: Sendable {
    private let isStopping = Mutex(false)
    private let ended = DispatchSemaphore(value: 0)

    func stop() {
      isStopping.withLock { $0 = true }
      ended.wait()
    }

    fileprivate func goesOn() -> Bool {
      if isStopping.withLock({ $0 }) {
        ended.signal()
        return false
      }
      return true
    }
  }

  // MARK: - The loop

  private func post(_ event: @escaping @Sendable (Int) -> SyncEvent, then completion: @escaping @Sendable () -> Void) {
    loop.async { [self] in
      lastNumber += 1
      waiting[lastNumber] = completion
      handle(event(lastNumber))
    }
  }

  private func handle(_ event: SyncEvent) {
    for action in engine.handle(event, now: .zero) {
      switch action {
      case .answer(let id, .snapshot): waiting.removeValue(forKey: id.rawValue)?()
      case .raiseSnapshot(let id, _):
        guard let completion = waiting.removeValue(forKey: id.rawValue) else { continue }
        loop.async { [self] in
          handle(.unlisten(id))
          completion()
        }
      case .runBackgroundQuery(let query):
        queries.async { [self] in
          let result = query.run { DispatchQueue.concurrentPerform(iterations: $0, execute: $1) }
          loop.async { [self] in handle(.backgroundQueryEnded(query.id, result)) }
        }
      default: break
      }
    }
  }
}

extension SampleDocuments {
  /// A small change of one of the documents.
  fileprivate func patch(_ number: Int) throws -> Mutation {
    let field = try FieldPath(parsingUserFormat: "price")
    return .patch(
      try key(number &* 6_151 % count), ["price": .integer(Int64(number))], mask: FieldMask([field]))
  }
}
