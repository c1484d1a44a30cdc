import HearthWire
import RawHTTP2
import Synchronization

/// A client that does what applications do, during the attacks, and notes how long each step takes.
final class HonestClient: Sendable {
  enum Step: String, CaseIterable { case get, query, commit, listen }

  struct Latencies {
    var worst: [Step: Duration] = [:]
    /// The largest processor time that the server has used during one step.
    var worstWork = Duration.zero
    var failures: [String] = []

    var worstTime: Duration { worst.values.max() ?? .zero }

    fileprivate mutating func note(_ step: Step, _ time: Duration, _ work: Duration) {
      worst[step] = max(worst[step] ?? .zero, time)
      worstWork = max(worstWork, work)
    }
  }

  static let collection = "honest"

  private struct State {
    var latencies = Latencies()
    /// The present step, when it began, and the processor time of the server then.
    var present: (step: Step, start: ContinuousClock.Instant, work: Duration)?
  }

  private let client: CallClient
  private let listener: UInt32
  private let figures: ProcessFigures
  private let state = Mutex(State())

  init(of server: ServerProcess) async throws {
    figures = server.figures
    client = try await CallClient(port: server.port)
    try await client.answers(
      to: .commit((0..<20).map { try .set("\(Self.collection)/\($0)", ["n": .integer($0)]) }))
    listener = try await client.start(.listen(.of(Self.collection)))
    let listener = listener
    try await client.http.wait(for: "the first snapshot") { ($0.messageBytes[listener] ?? 0) > 0 }
  }

  func close() { client.close() }

  /// The worst since ``begin()``, also of the present step.
  var latencies: Latencies {
    state.withLock { state in
      var latencies = state.latencies
      if let (step, start, work) = state.present {
        latencies.note(step, ContinuousClock.now - start, figures.processorTime - work)
      }
      return latencies
    }
  }

  func begin() {
    state.withLock { $0.latencies = Latencies() }
  }

  /// Goes on until `isOver`, with at least one round.
  func run(until isOver: @Sendable () -> Bool) async {
    repeat {
      for step in Step.allCases {
        state.withLock { $0.present = (step, ContinuousClock.now, figures.processorTime) }
        var failure: String?
        do {
          try await take(step)
        } catch {
          failure = "\(step): \(error)"
        }
        state.withLock { state in
          if let (step, start, work) = state.present {
            state.latencies.note(step, ContinuousClock.now - start, figures.processorTime - work)
          }
          state.present = nil
          if let failure { state.latencies.failures.append(failure) }
        }
      }
      try? await Task.sleep(for: .milliseconds(10))
    } while !isOver() && latencies.failures.isEmpty
  }

  private func take(_ step: Step) async throws {
    switch step {
    case .get: try await client.answers(to: .get("\(Self.collection)/1"), seconds: 30)
    case .query: try await client.answers(to: .query(.of(Self.collection)), seconds: 30)
    case .commit: try await commit("beside/1")
    case .listen:
      // From the start of a commit to the listener's news of it.
      let listener = listener
      let before = client.http.received.messageBytes[listener] ?? 0
      try await commit("\(Self.collection)/2")
      try await client.http.wait(for: "the news of a commit", seconds: 30) {
        ($0.messageBytes[listener] ?? 0) > before || $0.statuses[listener] != nil
      }
    }
  }

  private func commit(_ path: String) async throws {
    let value = Int.random(in: 0..<1_000_000)
    try await client.answers(to: .commit([.set(path, ["n": .integer(value)])]), seconds: 30)
  }
}
