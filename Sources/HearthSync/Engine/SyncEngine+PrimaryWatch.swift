internal import HearthCache
internal import HearthModel

/// The knowledge of a secondary client about the life of the primary one, while its views wait for that.
///
/// | event | idle | waiting | heard | asked | silent |
/// |---|---|---|---|---|---|
/// | a view waits for the primary client | waiting | - | - | - | - |
/// | a read waits for a sign of life | asked; waiting if that fails | asked; waiting if that fails | - | - | - |
/// | no view waits | - | idle | idle | idle | - |
/// | the primary client has written something | - | heard | - | heard | idle |
/// | the timer fires | - | asked; idle if that fails | idle | silent | - |
/// | the client becomes the primary one | - | idle | idle | idle | idle |
///
/// The timer `onlineStateTimeout` starts with `waiting` and with `asked`.
enum PrimaryWatch {
  /// Nothing is expected.
  case idle
  /// The timer runs, and the primary client has written nothing since it was started.
  case waiting
  /// The timer runs, and the primary client has written something since it was started.
  case heard
  /// The timer runs; the primary client was asked for a sign of life, and has written nothing since.
  case asked
  /// The primary client has given no sign of life.
  case silent

  var timerRuns: Bool {
    switch self {
    case .waiting, .heard, .asked: true
    case .idle, .silent: false
    }
  }
}

/// A primary client that is stopped keeps the lease and writes nothing. Calls at a secondary client must not wait for it permanently.
/// So a secondary client counts as offline after it has heard nothing for `onlineStateTimeout`, has asked for a sign of life, and has
/// heard nothing for that time again.
///
/// What the primary client has published holds only while it runs. A listener takes it as it is; a read that is made once, if nothing was heard
/// for that long, waits for a sign of life before (``awaitSignOfLife(_:)``), so that it is not answered with an old state as with the backend's.
/// What this client reads first after it was stopped itself is no such sign.
extension SyncEngine {
  /// Ends an event: lets the timer run while a view waits for the primary client.
  func waitForPrimary() {
    guard !isPrimary, primaryWatch != .silent else { return }
    guard link.onlineState != .offline, views.waitForBackend || views.awaitSignOfLife else { return endPrimaryWatch() }
    if primaryWatch == .idle { expectPrimary(.waiting) }
  }

  /// True if a listener with these options must not be shown what the primary client has published before that gives a sign of life.
  func mustHearPrimary(before query: Query, _ options: ListenOptions) -> Bool {
    guard !isPrimary, options.isOneTimeRead, options.source == .default, link.onlineState != .offline,
      views.isAnswered(query)
    else { return false }
    return primaryHeard.map { now - $0 >= configuration.onlineStateTimeout } ?? true
  }

  /// Asks for a sign of life on behalf of a read that has raised nothing yet, unless that was done before.
  func awaitSignOfLife(_ listener: ListenerID) {
    views.awaitSignOfLife(listener)
    switch primaryWatch {
    case .idle, .waiting: askPrimary()
    case .heard, .asked, .silent: break
    }
  }

  private func expectPrimary(_ state: PrimaryWatch) {
    primaryWatch = state
    emit(.startTimer(.onlineStateTimeout, after: configuration.onlineStateTimeout))
  }

  func endPrimaryWatch() {
    if primaryWatch.timerRuns { emit(.cancelTimer(.onlineStateTimeout)) }
    primaryWatch = .idle
  }

  func primaryWasHeard() {
    guard !isPrimary else { return }
    switch primaryWatch {
    case .idle, .heard: break
    case .waiting, .asked: primaryWatch = .heard
    case .silent:
      primaryWatch = .idle
      showSharedOnlineState()
    }
    // A client that was stopped reads what was written at any time since it read last. And what a read would be shown may be behind the notices.
    guard now - newsReadAt < configuration.onlineStateTimeout else {
      if views.awaitSignOfLife { askPrimary() }
      return
    }
    if retries.holds(.synchronizeViews) { return }
    primaryHeard = now
    for (listener, _) in views.takeReadsAwaitingSignOfLife() {
      follow(views.endWait(of: listener, isAnswered: true))
    }
  }

  /// Lets the reads that wait for a sign of life of another client be answered by the backend: this client has the connection now.
  func askBackendForWaitingReads() {
    for (listener, target) in views.takeReadsAwaitingSignOfLife() {
      if link.canWatch, let known = link.request(for: target) {
        follow(views.readFreshly(listener, known))
      } else {
        follow(views.endWait(of: listener, isAnswered: false))
      }
    }
  }

  func primaryWatchTimerFired() {
    guard primaryWatch.timerRuns else { return }
    // It may have written something that this client was not woken for.
    lookForNews()
    switch primaryWatch {
    case .idle, .silent: break
    case .heard: primaryWatch = .idle
    case .waiting: askPrimary()
    case .asked:
      primaryWatch = .silent
      log(.warning, "The process that has the streams of the cache does not answer. This one counts as offline.")
      follow(link.setOnlineState(.offline))
    }
  }

  private func askPrimary() {
    do {
      try localStore.askForSignOfLife()
      expectPrimary(.asked)
    } catch {
      // One that is stopped within a transaction keeps the others from asking. It is asked when it goes on.
      if isHeldByOther(error) {
        owesSignOfLife = true
        return expectPrimary(.asked)
      }
      primaryWatch = .idle
      log(.debug, "The client that has the streams cannot be asked for a sign of life: \(error)")
    }
  }

  func giveSignOfLife() {
    do {
      try localStore.giveSignOfLife()
    } catch {
      if leaseIsLost(error) { return }
      owesSignOfLife = true
      log(.debug, "A sign of life could not be given: \(error)")
    }
  }

  /// Gives a sign of life, or asks for one, where that could not be stored before.
  func tellOwedSignOfLife() {
    guard owesSignOfLife else { return }
    owesSignOfLife = false
    if isPrimary { return giveSignOfLife() }
    guard primaryWatch == .asked || primaryWatch == .silent else { return }
    do {
      try localStore.askForSignOfLife()
    } catch {
      owesSignOfLife = isHeldByOther(error)
      log(.debug, "The client that has the streams cannot be asked for a sign of life yet: \(error)")
    }
  }
}
