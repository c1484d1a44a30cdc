#if PostgreSQL
  internal import Synchronization

  /// The work of a listener's thread: it opens sessions, one after another, and reports what they hear.
  final class ListenerLoop: Sendable {
    private struct State {
      var isStopped = false
      var hasEnded = false
      var waiters: [@Sendable () -> Void] = []
    }

    private let configuration: PostgresConfiguration
    private let label: String
    private let statements: [PostgresStatement]
    private let silence: Duration
    private let wake: WakePipe
    private let onEvent: @Sendable (PostgresListener.Event) -> Void
    private let state = Mutex(State())

    /// The longest time for each step but the wait for notifications.
    private static let patience: Duration = .seconds(5)

    init(
      _ configuration: PostgresConfiguration, label: String, channels: [String], silence: Duration, wake: WakePipe,
      onEvent: @escaping @Sendable (PostgresListener.Event) -> Void
    ) {
      self.configuration = configuration
      self.label = label
      self.silence = silence
      self.wake = wake
      self.onEvent = onEvent
      statements = channels.map { channel in
        PostgresStatement("listen", "LISTEN \"\(channel.replacing("\"", with: "\"\""))\"")
      }
    }

    func stop() {
      state.withLock { $0.isStopped = true }
      wake.signal()
    }

    /// Calls `body` when the loop has ended, at once if it has.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiters.append(body) }
        return state.hasEnded
      }
      if hasEnded { body() }
    }

    private var isStopped: Bool { state.withLock(\.isStopped) }

    func run() {
      var failures = 0
      var isLossReported = false
      while !isStopped {
        do {
          try listen {
            failures = 0
            isLossReported = false
          }
        } catch {
          failures += 1
          if !isLossReported { report(.disconnected(error)) }
          isLossReported = true
          wake.wait(until: .now + OpeningPause.pause(after: failures, .random(in: 0...1)))
        }
      }
      let waiters = state.withLock { state in
        state.hasEnded = true
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter() }
    }

    /// Listens with one session until it is lost or the loop is stopped.
    ///
    /// - Parameter started: Called when the session hears the channels.
    private func listen(_ started: () -> Void) throws(PostgresError) {
      var settings = PostgresSessionSettings()
      settings.forcesPlans = false
      let session = try PostgresSession.open(
        configuration, settings: settings, label: label, deadline: .now + Self.patience)
      _ = try session.run(statements.map { $0.call() }, deadline: .now + Self.patience)
      started()
      report(.listening)
      while !isStopped {
        let end = ContinuousClock.now + silence
        let heard = try session.notifications(until: end, wake: wake.reading)
        for (channel, payload) in heard { report(.notification(channel: channel, payload: payload)) }
        if heard.isEmpty, !isStopped, end <= .now {
          _ = try session.run(Self.question.call(), deadline: .now + Self.patience)
        }
      }
    }

    private static let question = PostgresStatement("are you there", "SELECT 1")

    private func report(_ event: PostgresListener.Event) {
      if !isStopped { onEvent(event) }
    }
  }
#endif
