internal import HearthCache
internal import HearthModel

/// Signs of life between the clients of a cache, which ``PrimaryWatch`` waits for at a secondary one.
extension SyncEngine {
  func follow(_ actions: [PrimaryWatch.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .ask:
        let succeeded = askForSignOfLife()
        follow(membership.primaryWatch.asked(succeeded: succeeded))
      case .countAsOffline: follow(link.setOnlineState(.offline))
      case .showSharedState: showSharedOnlineState()
      }
    }
  }

  /// - Returns: False if the question is not stored, and will not be.
  func askForSignOfLife() -> Bool {
    do {
      try localStore.askForSignOfLife()
      return true
    } catch {
      log(.debug, "The client that has the streams cannot be asked for a sign of life: \(error)")
      // One that is stopped within a transaction keeps the others from asking. It is asked when it goes on.
      guard isHeldByOther(error) else { return false }
      membership.wasNotTold(.question)
      return true
    }
  }

  /// True if a listener with these options must not be shown what the primary client has published before that gives a sign of life.
  func mustHearPrimary(before query: Query, _ options: ListenOptions) -> Bool {
    guard !isPrimary, options.isOneTimeRead, options.source == .default, link.onlineState != .offline,
      views.isAnswered(query)
    else { return false }
    return membership.primaryWatch.mustBeHeard(at: now)
  }

  func primaryWasHeard() {
    guard !isPrimary else { return }
    follow(membership.primaryWatch.primaryHasWritten(at: now, readWaits: views.awaitSignOfLife))
    // What a read would be shown may be behind the notices.
    guard !retries.holds(.synchronizeViews), membership.primaryWatch.wasHeard(at: now) else { return }
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
    guard membership.primaryWatch.timerRuns else { return }
    // It may have written something that this client was not woken for.
    lookForNews()
    follow(membership.primaryWatch.timerFired())
  }

  func giveSignOfLife() {
    do {
      try localStore.giveSignOfLife()
    } catch {
      if leaseIsLost(error) { return }
      membership.wasNotTold(.sign)
      log(.debug, "A sign of life could not be given: \(error)")
    }
  }
}
