import Foundation
import Synchronization
import Testing

@testable import Hearth

/// The order and the deadlines of read policies, on two sources that the test answers.
@Suite("The order of a read policy's sources", .timeLimit(.minutes(1)))
struct PolicyReadTests {
  private typealias Read = PolicyRead<String>

  /// The cache with a fixed answer, and a backend that answers when the test says so.
  private final class Sources: Sendable {
    struct State {
      var cached: Result<Read.CachedAnswer?, NSError>
      var backendCalls = 0
      var cacheReads = 0
      var removals = 0
      var abandonments = 0
      var waiting: Read.Completion<Read.BackendAnswer>?
    }

    let state: Mutex<State>
    let asked = Recorder<Void>()
    let clock = ManualClock()

    init(_ cached: Result<Read.CachedAnswer?, NSError>) {
      state = Mutex(State(cached: cached))
    }

    convenience init(_ answer: String?, hasContent: Bool = true, isComplete: Bool = true) {
      self.init(.success(answer.map { .init(answer: $0, hasContent: hasContent, isComplete: isComplete) }))
    }

    var read: Read {
      Read(
        subject: "document a/b",
        readCache: { completion in
          completion(
            self.state.withLock {
              $0.cacheReads += 1
              return $0.cached
            })
        },
        askBackend: { completion in
          self.state.withLock {
            $0.backendCalls += 1
            $0.waiting = completion
          }
          self.asked.record(())
          return ListenerHandle(
            onRemove: { self.state.withLock { $0.removals += 1 } },
            onAbandon: { self.state.withLock { $0.abandonments += 1 } })
        })
    }

    func answer(_ answer: Result<Read.BackendAnswer, NSError>) {
      state.withLock { $0.waiting }?(answer)
    }

    /// Reads while the backend answers as soon as it is asked.
    func read(_ policy: ReadPolicy, backend: Result<Read.BackendAnswer, NSError>) async throws -> String {
      let read = read
      async let result = read.answer(policy, clock: clock)
      let answering = Task {
        try await asked.next()
        answer(backend)
      }
      defer { answering.cancel() }
      return try await result
    }

    var backendCalls: Int { state.withLock { $0.backendCalls } }
  }

  private static let refused = NSError.firestore(.permissionDenied, "refused")

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    await thrown(body).flatMap { FirestoreErrorCode.Code(rawValue: $0.code) }
  }

  @Test("server: the backend's answer, if it comes in time")
  func inTime() async throws {
    let sources = Sources("cached")
    #expect(try await sources.read(.server(within: .seconds(2)), backend: .success(.answer("new"))) == "new")
    #expect(sources.state.withLock { $0.cacheReads + $0.abandonments } == 0)
  }

  @Test("server: the cache's answer when the time is over, and the read goes on without a caller")
  func late() async throws {
    let sources = Sources("cached", hasContent: false, isComplete: false)
    let read = sources.read
    async let result = read.answer(.server(within: .seconds(2)), clock: sources.clock)
    try await sources.asked.next()
    await sources.clock.sleeper()
    sources.clock.advance(by: .milliseconds(1_999))
    #expect(sources.state.withLock { $0.cacheReads + $0.abandonments } == 0)
    sources.clock.advance(by: .milliseconds(1))
    #expect(try await result == "cached")
    #expect(sources.state.withLock { $0.removals } == 0)
    #expect(sources.state.withLock { $0.abandonments } == 1)
    sources.answer(.success(.answer("too late")))
  }

  @Test("server: without time the cache answers, and the backend is asked all the same")
  func noTime() async throws {
    let sources = Sources("cached")
    #expect(try await sources.read.answer(.server(within: .zero), clock: sources.clock) == "cached")
    #expect(try await sources.read.answer(.server(within: .seconds(-1)), clock: sources.clock) == "cached")
    #expect(sources.backendCalls == 2)
  }

  @Test("server: an unreachable backend is not waited for; its errors and the cache's are thrown")
  func failures() async throws {
    #expect(try await Sources("cached").read(.server(within: .seconds(2)), backend: .success(.unreachable)) == "cached")
    let offline = await code {
      _ = try await Sources(nil).read(.server(within: .seconds(2)), backend: .success(.unreachable))
    }
    #expect(offline == .unavailable)
    let late = await thrown { _ = try await Sources(nil).read.answer(.server(within: .zero)) }
    #expect(late?.code == FirestoreErrorCode.deadlineExceeded.rawValue)
    #expect(late?.localizedDescription.contains("document a/b") == true)
    let refused = await code {
      _ = try await Sources("cached").read(.server(within: .seconds(2)), backend: .failure(Self.refused))
    }
    #expect(refused == .permissionDenied)
    let damaged = Sources(.failure(.firestore(.dataLoss, "damaged")))
    #expect(await code { _ = try await damaged.read(.cacheFirst, backend: .success(.answer("new"))) } == .dataLoss)
    #expect(damaged.backendCalls == 0)
  }

  @Test("server: a cancelled task ends the read")
  func cancellation() async throws {
    let sources = Sources("cached")
    let task = Task { try await sources.read.answer(.server(within: .seconds(2)), clock: sources.clock) }
    try await sources.asked.next()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(sources.state.withLock { $0.removals } == 1)
  }

  @Test(
    "cacheFirst: the cache, if there is something in its answer or nothing missing; else the backend; else the cache after all",
    arguments: [(true, false), (false, true), (true, true)])
  func cacheFirst(hasContent: Bool, isComplete: Bool) async throws {
    let useful = Sources("cached", hasContent: hasContent, isComplete: isComplete)
    #expect(try await useful.read.answer(.cacheFirst) == "cached")
    #expect(useful.backendCalls == 0)
    let empty = Sources("empty", hasContent: false, isComplete: false)
    #expect(try await empty.read(.cacheFirst, backend: .success(.answer("new"))) == "new")
    #expect(try await empty.read(.cacheFirst, backend: .success(.unreachable)) == "empty")
    #expect(await code { _ = try await empty.read(.cacheFirst, backend: .failure(Self.refused)) } == .permissionDenied)
    #expect(
      await code { _ = try await Sources(nil).read(.cacheFirst, backend: .success(.unreachable)) } == .unavailable)
  }

  @Test("cacheElseServer: the cache, if nothing is missing; else the backend and nothing else")
  func cacheElseServer() async throws {
    let complete = Sources("cached", hasContent: false, isComplete: true)
    #expect(try await complete.read.answer(.cacheElseServer) == "cached")
    #expect(complete.backendCalls == 0)
    let partial = Sources("partial", hasContent: true, isComplete: false)
    #expect(try await partial.read(.cacheElseServer, backend: .success(.answer("new"))) == "new")
    #expect(
      await code { _ = try await partial.read(.cacheElseServer, backend: .success(.unreachable)) } == .unavailable)
    #expect(
      await code { _ = try await Sources(nil).read(.cacheElseServer, backend: .success(.unreachable)) } == .unavailable)
  }
}

/// A clock that moves when the test says so.
final class ManualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
  }

  private struct Sleeper {
    var deadline: Instant
    var outcome: Outcome<Void>
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleepers: [Sleeper] = []
  }

  private let state = Mutex(State())
  private let slept = Recorder<Void>()

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let outcome = Outcome<Void>()
    let isDue = state.withLock { state in
      if deadline <= state.now { return true }
      state.sleepers.append(Sleeper(deadline: deadline, outcome: outcome))
      return false
    }
    if isDue { return }
    slept.record(())
    try await outcome.value()
  }

  /// Waits until a task sleeps that was not waited for before.
  func sleeper() async {
    _ = try? await slept.next()
  }

  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.deadline <= state.now }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due
    }
    for sleeper in due { sleeper.outcome.resolve(nil) }
  }
}
