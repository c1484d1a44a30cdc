internal import HearthModel
internal import Synchronization

/// Ends calls in progress when the credentials of their callers expire or are no longer accepted.
///
/// Most calls take less than a millisecond. So all share one task, which looks at them from time to time and runs only while there are any: a call
/// costs an entry of a table. It ends at most a second after its credentials have expired.
///
/// Credentials that cannot be checked at the moment count as accepted: the call goes on, as calls with known credentials do.
final class CredentialWatch: Sendable {
  private struct Watched {
    let call: ServerCall
    let expiry: ContinuousClock.Instant
    var nextCheck: ContinuousClock.Instant
  }

  private struct State {
    var calls: [ObjectIdentifier: Watched] = [:]
    var isRunning = false
  }

  private static let longestPause: Duration = .seconds(1)

  private let authenticator: any CallAuthenticator
  private let interval: Duration
  private let state = Mutex(State())

  /// - Parameter interval: The time between two checks of the credentials of a call.
  init(_ authenticator: any CallAuthenticator, checkedEvery interval: Duration) {
    (self.authenticator, self.interval) = (authenticator, interval)
  }

  /// Watches a call whose caller was identified, until it is removed.
  ///
  /// - Returns: False if its credentials do not expire.
  func add(_ call: ServerCall) -> Bool {
    guard let expiry = call.identity?.expiry else { return false }
    let watched = Watched(call: call, expiry: expiry, nextCheck: .now + interval)
    let mustStart = state.withLock { state in
      state.calls[ObjectIdentifier(call)] = watched
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { Task { await run() } }
    return true
  }

  func remove(_ call: ServerCall) {
    state.withLock { _ = $0.calls.removeValue(forKey: ObjectIdentifier(call)) }
  }

  private func run() async {
    repeat {
      try? await Task.sleep(for: min(interval, Self.longestPause))
      look(at: .now)
    } while goesOn()
  }

  /// - Returns: False if no call is left; the next one starts the task again.
  private func goesOn() -> Bool {
    state.withLock { state in
      if state.calls.isEmpty { state.isRunning = false }
      return state.isRunning
    }
  }

  private func look(at now: ContinuousClock.Instant) {
    let (expired, unchecked) = state.withLock { state in
      let expired = state.calls.values.filter { $0.expiry <= now }.map(\.call)
      for call in expired { state.calls[ObjectIdentifier(call)] = nil }
      let unchecked = state.calls.values.filter { $0.nextCheck <= now }.map(\.call)
      for call in unchecked { state.calls[ObjectIdentifier(call)]?.nextCheck = now + interval }
      return (expired, unchecked)
    }
    for call in expired { call.stop(CallStatus(.unauthenticated, "The token of the call has expired.")) }
    // Each by itself: keys may come from elsewhere, and no call waits for those of another one.
    for call in unchecked { Task { [weak call] in await check(call) } }
  }

  private func check(_ call: ServerCall?) async {
    guard let call else { return }
    do throws(CallStatus) {
      _ = try await authenticator.identify(call.metadata)
    } catch {
      if error.code == .unauthenticated { call.stop(error) }
    }
  }
}
