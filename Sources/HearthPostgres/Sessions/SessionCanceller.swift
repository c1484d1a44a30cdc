#if PostgreSQL
  internal import CPostgres
  internal import Dispatch
  internal import Synchronization

  /// Asks the server to cancel the statement of a session, from any thread.
  ///
  /// The request goes over a connection of its own and names only the session. So it must not arrive during a later statement: the session
  /// begins nothing else before the request has ended.
  final class SessionCanceller: Sendable {
    private struct State {
      /// True if the session's user was cancelled. It stays so until the next user comes.
      var isCancelled = false
      /// True while a pipeline that may be cancelled is on its way.
      var isRunning = false
      /// True if the server was asked to cancel this pipeline.
      var isAsked = false
    }

    private let state = Mutex(State())
    private let request: CancelRequest
    /// Signalled at the end of each request. A pipeline has one at most.
    private let end = DispatchSemaphore(value: 0)

    init(_ request: CancelRequest) {
      self.request = request
    }

    /// The session has another user, whom earlier cancellations do not concern.
    func reset() {
      state.withLock {
        assert(!$0.isRunning, "a session gets another user in the middle of a pipeline")
        $0.isCancelled = false
      }
    }

    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// - Returns: False if the user was cancelled before: then nothing must be sent.
    func begin() -> Bool {
      state.withLock { state in
        state.isRunning = !state.isCancelled
        return state.isRunning
      }
    }

    /// Cancels the pipeline that is on its way, if there is one, and all later ones of this user.
    func cancel() { ask { $0.isCancelled = true } }

    /// Cancels the pipeline that is on its way. The user may send others.
    func cancelPipeline() { ask { _ in } }

    private func ask(_ note: (inout State) -> Void) {
      let isToAsk = state.withLock { state in
        note(&state)
        guard state.isRunning, !state.isAsked else { return false }
        state.isAsked = true
        return true
      }
      if isToAsk { request.send { [end] in end.signal() } }
    }

    /// The pipeline has ended.
    ///
    /// - Parameter grace: The time that a request has to end.
    /// - Returns: False if a request is still on its way: it might cancel what comes next.
    func finish(within grace: Duration) -> Bool {
      let isAsked = state.withLock { state in
        defer {
          state.isRunning = false
          state.isAsked = false
        }
        return state.isAsked
      }
      return !isAsked || end.wait(timeout: .now() + grace.timeInterval) == .success
    }
  }
#endif
