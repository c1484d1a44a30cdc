internal import HearthCache
internal import HearthModel

/// What a secondary client knows of the life of the primary one, while its views wait for that.
struct PrimaryWatch {
  /// True while the timer `onlineStateTimeout` runs for it.
  var isWaiting = false
  /// True if the primary client has written something since the timer was started.
  var hasHeard = false
  /// True if it was asked for a sign of life.
  var hasAsked = false
  /// True if it gave none.
  var isSilent = false
}

/// A primary client that is stopped keeps the lease, and tells nothing. So that calls of a secondary one do not wait for it for ever,
/// that counts as offline when it has heard nothing for the time after which a client without an answer of the backend does, and has
/// asked and heard nothing for that time again.
extension SyncEngine {
  /// Ends an event: lets the timer run while a view waits for the primary client.
  func waitForPrimary() {
    guard !isPrimary else { return }
    let mayWait = !primaryWatch.isSilent && link.onlineState != .offline
    guard mayWait, views.waitForBackend else { return stopWaitingForPrimary() }
    guard !primaryWatch.isWaiting else { return }
    (primaryWatch.isWaiting, primaryWatch.hasHeard) = (true, false)
    emit(.startTimer(.onlineStateTimeout, after: configuration.onlineStateTimeout))
  }

  func stopWaitingForPrimary() {
    if primaryWatch.isWaiting { emit(.cancelTimer(.onlineStateTimeout)) }
    (primaryWatch.isWaiting, primaryWatch.hasAsked) = (false, false)
  }

  func primaryWasHeard() {
    guard !isPrimary else { return }
    (primaryWatch.hasHeard, primaryWatch.hasAsked) = (true, false)
    guard primaryWatch.isSilent else { return }
    primaryWatch.isSilent = false
    showSharedOnlineState()
  }

  func primaryWatchTimerFired() {
    guard primaryWatch.isWaiting else { return }
    primaryWatch.isWaiting = false
    lookForNews()
    guard !isPrimary, !primaryWatch.hasHeard else { return }
    if primaryWatch.hasAsked {
      primaryWatch = PrimaryWatch(isSilent: true)
      log(.warning, "The process that has the streams of the cache does not answer. This one counts as offline.")
      follow(link.setOnlineState(.offline))
      return
    }
    do {
      try localStore.askForSignOfLife()
      primaryWatch.hasAsked = true
    } catch {
      log(.debug, "The client that has the streams cannot be asked for a sign of life: \(error)")
    }
  }

  func giveSignOfLife() {
    do {
      try localStore.giveSignOfLife()
    } catch {
      if !leaseIsLost(error) { log(.debug, "A sign of life could not be given: \(error)") }
    }
  }
}
