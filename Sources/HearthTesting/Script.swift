internal import HearthModel
internal import Synchronization

/// The instructions of a test to its backend, and the requests that the backend has received. May be used from any thread.
final class Script: Sendable {
  /// A failure of the script that a request is to meet.
  struct Refusal {
    fileprivate let failure: Int
    let error: StatusError
  }

  private struct Failure {
    let number: Int
    var requests: BackendRequests
    var error: StatusError
    /// Nil for as often as they come.
    var remaining: Int?
  }

  private struct Hold {
    var requests: BackendRequests
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private struct State {
    var isReachable = true
    var failures: [Failure] = []
    var holds: [Hold] = []
    var delays: [(requests: BackendRequests, duration: Duration)] = []
    var writes: [ReceivedWrite] = []
    /// The labels of the batches that were received.
    var batches: Set<String> = []
    /// Ends the calls that run and whose end is not decided.
    var calls: [Int: @Sendable (StatusError) -> Void] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  static let unreachable = StatusError(code: .unavailable, message: "The scripted backend is offline.")

  // MARK: - What the test says

  func setReachable(_ isReachable: Bool) {
    let calls: [@Sendable (StatusError) -> Void] = state.withLock { state in
      state.isReachable = isReachable
      guard !isReachable else { return [] }
      defer { state.calls = [:] }
      return Array(state.calls.values)
    }
    for end in calls { end(Self.unreachable) }
  }

  func fail(_ requests: BackendRequests, _ error: StatusError, times: Int?) {
    state.withLock { state in
      state.lastNumber += 1
      state.failures.append(
        Failure(number: state.lastNumber, requests: requests, error: error, remaining: times))
    }
  }

  func hold(_ requests: BackendRequests) {
    state.withLock { $0.holds.append(Hold(requests: requests)) }
  }

  func delay(_ requests: BackendRequests, by duration: Duration) {
    state.withLock { $0.delays.append((requests, duration)) }
  }

  func release() {
    let waiting = state.withLock { state in
      defer { state.holds = [] }
      return state.holds.flatMap(\.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }

  func reset() {
    state.withLock { state in
      state.failures = []
      state.delays = []
    }
    release()
    setReachable(true)
  }

  var heldCount: Int { state.withLock { $0.holds.reduce(0) { $0 + $1.waiting.count } } }
  var writes: [ReceivedWrite] { state.withLock { $0.writes } }

  // MARK: - What the calls ask

  /// Notes a call that begins.
  ///
  /// - Throws: If the backend cannot be reached.
  func began(_ end: @escaping @Sendable (StatusError) -> Void) throws(StatusError) -> Int {
    let number: Int? = state.withLock { state in
      guard state.isReachable else { return nil }
      state.lastNumber += 1
      state.calls[state.lastNumber] = end
      return state.lastNumber
    }
    guard let number else { throw Self.unreachable }
    return number
  }

  func ended(_ call: Int) {
    state.withLock { _ = $0.calls.removeValue(forKey: call) }
  }

  /// True if the test wants a request to wait now.
  func waits(_ request: RequestContents) -> Bool {
    state.withLock { state in
      (state.holds.map(\.requests) + state.delays.map(\.requests)).contains { $0.contains(request.kind, request.paths) }
    }
  }

  /// Waits as long as the test wants a request to wait, or until the task is cancelled.
  func wait(for request: RequestContents) async {
    let delay = state.withLock { state in
      state.delays.filter { $0.requests.contains(request.kind, request.paths) }.map(\.duration).max()
    }
    if let delay { try? await Task.sleep(for: delay) }
    await waitWhileHeld(request)
  }

  /// Decides what becomes of a request that has waited long enough.
  ///
  /// - Parameter isLast: True if the call has no other request. The backend then answers it, or the call ends with the error, even if the
  ///   backend cannot be reached from now on.
  /// - Returns: The error that it fails with; nil if the backend gets it.
  /// - Throws: If the call was ended before: the request is not received, and no failure is used up.
  func decide(_ request: RequestContents, of call: Int, isLast: Bool) throws(StatusError) -> Refusal? {
    let (hasEnded, refusal): (Bool, Refusal?) = state.withLock { state in
      guard state.calls[call] != nil else { return (true, nil) }
      if isLast { state.calls[call] = nil }
      let index = state.failures.firstIndex {
        $0.remaining != 0 && $0.requests.contains(request.kind, request.paths)
      }
      guard let index else {
        // A batch that is sent again, because its answer did not arrive, is received once.
        let isNew = request.batch.map { state.batches.insert($0).inserted } ?? true
        if isNew { state.writes += request.writes }
        return (false, nil)
      }
      // The call ends with this error and no other.
      if request.kind == .write { state.calls[call] = nil }
      state.failures[index].remaining = state.failures[index].remaining.map { $0 - 1 }
      return (false, Refusal(failure: state.failures[index].number, error: state.failures[index].error))
    }
    if hasEnded { throw Self.unreachable }
    return refusal
  }

  /// Makes a refusal undone that did not reach its client.
  func takeBack(_ refusal: Refusal) {
    state.withLock { state in
      guard let index = state.failures.firstIndex(where: { $0.number == refusal.failure }) else { return }
      state.failures[index].remaining = state.failures[index].remaining.map { $0 + 1 }
    }
  }

  private func waitWhileHeld(_ request: RequestContents) async {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let goesOn = state.withLock { state in
          // Asked with the lock: a cancellation comes either before, or finds the continuation.
          guard !Task.isCancelled,
            let index = state.holds.firstIndex(where: { $0.requests.contains(request.kind, request.paths) })
          else { return true }
          state.holds[index].waiting[number] = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        for index in state.holds.indices {
          if let found = state.holds[index].waiting.removeValue(forKey: number) { return Optional(found) }
        }
        return nil
      }
      continuation?.resume()
    }
  }
}
