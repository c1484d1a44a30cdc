internal import HearthCache
internal import HearthModel

/// Notices between the clients of a cache that do not concern documents: signs of life, which ``PrimaryWatch`` awaits at a secondary
/// client, and the request for an attempt to connect.
extension CacheMembership {
  /// Asks the client that has the streams for a sign of life.
  mutating func ask(in localStore: LocalStore) -> [Action] {
    let (isAsked, actions) = question(in: localStore)
    return actions + primaryWatch.asked(succeeded: isAsked)
  }

  /// - Returns: False if the question is not stored, and will not be.
  private mutating func question(in localStore: LocalStore) -> (isAsked: Bool, actions: [Action]) {
    do {
      try localStore.askForSignOfLife()
      return (true, [])
    } catch {
      let message = "The client that has the streams cannot be asked for a sign of life: \(error)"
      // One that is stopped within a transaction keeps the others from asking. It is asked when it goes on.
      let isHeld = localStore.isHeldByOther(error)
      if isHeld { wasNotTold(.question) }
      return (isHeld, [.emit(.log(.debug, message))])
    }
  }

  /// A notice of the primary client was found.
  ///
  /// - Parameter readWaits: True if a read waits for a sign of life.
  mutating func primaryWasHeard(at now: Duration, readWaits: Bool) -> [Action] {
    isPrimary ? [] : primaryWatch.primaryHasWritten(at: now, readWaits: readWaits) + [.answerReads]
  }

  mutating func giveSignOfLife(in localStore: LocalStore) -> [Action] {
    do {
      try localStore.giveSignOfLife()
      return []
    } catch {
      if CacheError.isLeaseLost(error) { return [.loseLease] }
      wasNotTold(.sign)
      return [.emit(.log(.debug, "A sign of life could not be given: \(error)"))]
    }
  }

  /// Asks the primary client to end its pauses, now or when the process that holds the file has let go of it.
  ///
  /// - Returns: The error if it will not be asked.
  mutating func askForRetry(in localStore: LocalStore) -> (failure: (any Error)?, actions: [SyncAction]) {
    do {
      try localStore.askForRetry()
      return (nil, [])
    } catch {
      guard localStore.isHeldByOther(error) else { return (error, []) }
      wasNotTold(.retry)
      return (nil, [.log(.debug, "The process with the connection will be asked later to try again: \(error)")])
    }
  }

  /// Tells the others what they could not be told before.
  mutating func tellWhatIsOwed(in localStore: LocalStore) -> [Action] {
    takeOwedNotices().flatMap { notice -> [Action] in
      switch notice {
      case .forgottenTurns: forgetFutileTurns(in: localStore).map { .emit($0) }
      case .retry: askForRetry(in: localStore).actions.map { .emit($0) }
      case .sign: giveSignOfLife(in: localStore)
      case .question: question(in: localStore).actions
      }
    }
  }

  /// True if a listener with these options must not be shown what the primary client has published before that gives a sign of life.
  ///
  /// - Parameter isAnswered: True if the query's view agrees with the backend, as far as that was published.
  func mustHearPrimary(
    _ options: ListenOptions, isOffline: Bool, isAnswered: @autoclosure () -> Bool, at now: Duration
  ) -> Bool {
    guard !isPrimary, options.isOneTimeRead, options.source == .default, !isOffline, isAnswered() else { return false }
    return primaryWatch.mustBeHeard(at: now)
  }
}
