internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore
internal import HearthSync
internal import Synchronization

/// The life cycle of a client: opens its cache, waits for a folder in use, suspends, reopens a damaged cache, and ends.
///
/// While the cache is open, a ``RunningClient`` takes everything else. Confined to the runtime's queue.
///
/// | state | start | calls | stop |
/// |---|---|---|---|
/// | idle | opens the cache (or, where asked for, one in memory in its place): running, waiting, locked or failed | cannot come before start | stopped |
/// | waiting | - | wait in order while another process or client has the folder or the file (`FolderWait`): running, or locked | tries the folder a last time if writes wait: as running, or stopped |
/// | running | - | go to the running client | closes everything: stopped |
/// | reopening | - | wait in order while another process or client has the damaged file open, at most `FolderWait.limit`. After that, or where the disk does not let it be opened, writes go on waiting and other calls try once: running, or report the error | tries the folder a last time: as running, or stopped |
/// | suspended | - | wait in order, like messages of streams and timers: running, or locked if another process took the folder | resumes, and goes on from there |
/// | yielding, while another process wants the cache for itself | - | as suspended, and after `FolderWait.limit` as waiting for the file: running if that fails, otherwise failed | resumes, and goes on from there |
/// | locked: the folder or the file is in use, or its disk does not let it be opened | - | try to open the folder once: running, or report the error; waiting, if others were asked to give the folder back | stopped |
/// | failed, also after another process has taken the cache over | - | report the error; nothing on disk changes | stopped |
/// | stopped; for up to a second with the client that hears its last answers | - | end with `cancelled`; listeners on a queue are silent | completes when everything is closed |
final class ClientLoop {
  enum Message: Sendable {
    case start
    /// The pause before another attempt to open a folder that was in use is over.
    case openAgain
    /// The process is about to be suspended, and must then hold no lock.
    case suspend(done: @Sendable () -> Void)
    /// The process was resumed.
    case resume
    /// With an error if there are writes that could not be stored.
    case stop(@Sendable (NSError?) -> Void)
    case call(ClientCall)
    /// A message from the streams, timers and queries of a running client. They end with it, and its successor ignores their later
    /// messages.
    case fromClient(number: Int, RunningClient.Message)
  }

  private enum State {
    case idle(ClientConfiguration)
    case running(RunningClient)
    case waiting(FolderWait)
    /// The cache of a running client is damaged, and others still have its folder. The client tries the folder until it is free or the
    /// client is stopped. With the error that calls get after the time of waiting.
    case reopening(FolderWait, RunningClient.Remainder, NSError?)
    case suspended(RunningClient, FolderWait)
    case yielding(RunningClient, FolderWait)
    case locked(FolderWait, NSError)
    case failed(NSError)
    /// With the queue of the completions of all calls that end the client. It is suspended until everything is closed. And with the client
    /// while it hears the answers to what it has sent.
    case stopped(DispatchQueue, RunningClient? = nil)
  }

  private let queue: DispatchQueue
  /// The time by which repairs are counted.
  private let now: () -> ContinuousClock.Instant
  private var state: State
  private var choices = ClientChoices()
  private var pause: Duration?
  /// True while an ``Message/openAgain`` that was asked for has not come.
  private var isAttemptPlanned = false
  /// It ends with its client.
  private var suspensionWatch: AnyObject?
  /// The number of the present client: one for each successful opening of the cache.
  private var clientCount = 0
  private let lostWrites = LostWrites()
  /// True once the client is being stopped. It is then not suspended for another process, which gets the folder soon in any case.
  private var isStopping = false
  /// The time until which the cache is not given back, because giving it back did not help.
  private var restsUntil = ContinuousClock.now
  private var repairs = RepairLimit()

  /// - Parameters:
  ///   - queue: The serial queue on which everything of the client runs.
  ///   - now: The time by which repairs of the cache are counted.
  init(
    _ configuration: ClientConfiguration, on queue: DispatchQueue,
    now: @escaping () -> ContinuousClock.Instant = { .now }
  ) {
    self.queue = queue
    self.now = now
    state = .idle(configuration)
  }

  init(failing error: NSError, on queue: DispatchQueue) {
    self.queue = queue
    now = { .now }
    state = .failed(error)
  }

  /// - Parameter post: Puts a message into the mailbox, from any thread.
  func handle(_ messages: [Message], post: @escaping @Sendable (Message) -> Void) {
    queue.assertIsCurrent()
    var remaining = messages[...]
    while var message = remaining.popFirst() {
      // Writes that wait together share one durable commit.
      if case .call(.writes(var writes)) = message {
        while case .call(.writes(let next))? = remaining.first {
          writes += next
          remaining.removeFirst()
        }
        message = .call(.writes(writes))
      }
      if isHeld(message, post: post) { continue }
      // Noted after the switch: the choices before a call must not contain it.
      defer { if case .call(let call) = message { choices.note(call) } }
      switch message {
      case .start:
        start(post: post)
      case .openAgain:
        openAgain(post: post)
      case .suspend(let done):
        suspend()
        done()
      case .resume:
        resume(post: post)
      case .stop(let completion):
        stop(completion, post: post)
      case .call(let call):
        handle(call)
      case .fromClient(let number, let message):
        if number == clientCount { handle(message) }
      }
      giveWayIfNeeded()
      reopenIfNeeded(post: post)
    }
  }

  /// True while a client that was stopped hears the answers to what it has sent.
  var awaitsAnswers: Bool {
    if case .stopped(_, _?) = state { true } else { false }
  }

  private func handle(_ message: RunningClient.Message) {
    switch state {
    case .running(let client):
      client.handle(message)
    case .stopped(let endings, let client?):
      client.handle(message)
      forgetEnded(client, endings)
    case .idle, .waiting, .reopening, .suspended, .yielding, .locked, .failed, .stopped(_, nil):
      break
    }
  }

  private func forgetEnded(_ client: RunningClient, _ endings: DispatchQueue) {
    guard client.isEnded else { return }
    suspensionWatch = nil
    state = .stopped(endings)
  }

  /// Ends a client that must not use the cache any more, and gives the cache back for a while if another process wants it.
  private func giveWayIfNeeded() {
    guard case .running(let client) = state else { return }
    if let error = client.endingError {
      HearthLog.error("\(error.localizedDescription)")
      client.giveWay(error)
      choices.endListeners()
      state = .failed(error)
    } else if !isStopping, restsUntil <= .now, client.takeRequestToYield() {
      HearthLog.log(.notice, "Another process wants the cache for itself. This one releases it.")
      client.suspend()
      let wait = FolderWait(client.configuration)
      state = .yielding(client, wait)
      planAttempt(after: wait.nextPause() ?? FolderWait.pauseAfterLimit)
    }
  }

  /// Continues with a cache that was given back, if the other process has given up, or ends.
  ///
  /// - Parameter wait: For as long as the other process may try; nil to come back now.
  private func comeBack(within wait: FolderWait?, post: @escaping @Sendable (Message) -> Void) {
    guard case .yielding(let client, let held) = state else { return }
    // Before the folder is tried: a process that fails gives it back first, and then withdraws its request.
    let isWanted = client.isCacheWanted
    if isWanted, let pause = wait?.nextPause() {
      planAttempt(after: pause)
      return
    }
    do {
      guard try client.resume() else {
        if held.followsSuspension { throw RunningClient.folderWasUsed }
        throw RunningClient.cacheWasTaken
      }
      state = .running(client)
      restsUntil = .now + held.restAfterYielding
      watchForSuspension(post: post)
      HearthLog.log(.notice, "No other process had the cache for itself. This one uses it again.")
    } catch {
      if let wait, FolderWait.isWorthwhile(after: error), isWanted || client.isFolderUnchanged {
        // The other process has the folder for itself, and may still fail, or recovers the file.
        return planAttempt(after: wait.nextPause() ?? wait.endTime(after: error))
      }
      endAfterYielding(client, held, error)
    }
    reopenIfNeeded(post: post)
    handle(held.takeHeld(), post: post)
  }

  /// Ends a client that cannot go on with a cache that it had given back.
  private func endAfterYielding(_ client: RunningClient, _ held: FolderWait, _ cause: any Error) {
    // If the folder is in use, or was, the other process has got what it wanted.
    let isFailure = held.followsSuspension || FolderWait.mayPass(cause) && !FolderWait.isWorthwhile(after: cause)
    let isMigrated = (cause as? StoreError)?.kind == .newerSchema
    let error = isFailure || isMigrated ? NSError.firestore(opening: cause) : RunningClient.cacheWasTaken
    HearthLog.error("\(error.localizedDescription)")
    client.end(error)
    if isFailure {
      state = .locked(held, error)
    } else {
      choices.endListeners()
      state = .failed(error)
    }
  }

  private func handle(_ call: ClientCall) {
    switch state {
    case .running(let client): client.handle(call)
    case .failed(let error), .locked(_, let error), .reopening(_, _, let error?): refuse(call, error)
    case .idle, .stopped: call.refuse(nil)
    case .waiting, .reopening, .suspended, .yielding:
      assertionFailure("A call comes through while calls wait.")
      call.refuse(nil)
    }
  }

  private func refuse(_ call: ClientCall, _ error: NSError) {
    if case .writes(let writes) = call { lostWrites.add(writes, isEnd: isStopping) }
    call.refuse(error)
  }

  private func start(post: @escaping @Sendable (Message) -> Void) {
    guard case .idle(let configuration) = state else { return }
    open(FolderWait(configuration), post: post)
  }

  private func planAttempt(after pause: Duration) {
    guard !isAttemptPlanned else { return }
    isAttemptPlanned = true
    self.pause = pause
  }

  private func openAgain(post: @escaping @Sendable (Message) -> Void) {
    isAttemptPlanned = false
    switch state {
    case .waiting(let wait): open(wait, post: post)
    case .reopening(let wait, let remainder, let error): reopen(wait, remainder, error, post: post)
    case .yielding(_, let wait): comeBack(within: wait, post: post)
    case .idle, .running, .suspended, .locked, .failed, .stopped: break
    }
  }

  private func open(_ wait: FolderWait, post: @escaping @Sendable (Message) -> Void) {
    let configuration = wait.configuration
    do {
      try run(configuration, post: post)
      configuration.cacheOpened?(nil)
      handle(wait.takeHeld(), post: post)
    } catch {
      if let pause = wait.nextPause(after: error) {
        state = .waiting(wait)
        planAttempt(after: pause)
        return
      }
      let mayPass = FolderWait.mayPass(error)
      // The others may have the folder again.
      configuration.endRequest.withdraw()
      let error = FolderWait.givenUp(error)
      let reported = fail(error)
      if let cacheOpened = configuration.cacheOpened {
        var inMemory = configuration
        inMemory.cache = .memory(.leastRecentlyUsed(sizeBytes: CacheSize.defaultBytes))
        do { try run(inMemory, post: post) } catch { fail(error) }
        cacheOpened(error)
      }
      handle(wait.takeHeld(), post: post)
      if mayPass, case .failed = state { state = .locked(wait, reported) }
    }
  }

  /// Holds messages that must wait for a folder in use, and opens the cache if the folder is free now.
  private func isHeld(_ message: Message, post: @escaping @Sendable (Message) -> Void) -> Bool {
    let needsCache: Bool
    switch message {
    case .start, .openAgain, .suspend, .resume, .stop: return false
    case .call(let call): needsCache = call.needsCache
    case .fromClient: needsCache = false
    }
    switch state {
    case .waiting(let wait), .suspended(_, let wait), .yielding(_, let wait):
      wait.hold(message)
      return true
    case .reopening(let wait, let remainder, let error):
      guard case .call(let call) = message, error == nil || call.isKept else {
        if needsCache, !wait.rests {
          reopen(wait, remainder, error, post: post)
          return holdIfWaiting(message)
        }
        return false
      }
      wait.hold(message)
      return true
    case .locked(let wait, _):
      guard needsCache, !wait.rests else { return false }
      openNow(wait, post: post)
      return holdIfWaiting(message)
    case .idle, .running, .failed, .stopped:
      return false
    }
  }

  /// Holds a message whose attempt to open the cache has led to a state in which messages wait: others were asked for the folder, have asked for
  /// it at once, or the cache turned out to be damaged.
  private func holdIfWaiting(_ message: Message) -> Bool {
    switch state {
    case .waiting(let wait), .suspended(_, let wait), .yielding(_, let wait), .reopening(let wait, _, nil):
      wait.hold(message)
      return true
    case .idle, .running, .reopening, .locked, .failed, .stopped:
      return false
    }
  }

  private func suspend() {
    if case .stopped(let endings, let client?) = state {
      client.finishStop(isUrgent: true)
      forgetEnded(client, endings)
    }
    guard case .running(let client) = state, case .file = client.configuration.cache else { return }
    client.suspend()
    state = .suspended(client, FolderWait(client.configuration))
  }

  /// Continues after a suspension. If another process had the folder in between, it continues as after a wait that was given up.
  private func resume(post: @escaping @Sendable (Message) -> Void) {
    guard case .suspended(let client, let wait) = state else { return }
    do {
      guard try client.resume() else { throw RunningClient.folderWasUsed }
      state = .running(client)
      watchForSuspension(post: post)
    } catch {
      if !isStopping, FolderWait.isWorthwhile(after: error), client.isFolderUnchanged {
        // Another process recovers the file.
        wait.followsSuspension = true
        state = .yielding(client, wait)
        return planAttempt(after: wait.nextPause() ?? wait.endTime(after: error))
      }
      let error = NSError.firestore(opening: error)
      HearthLog.error("The cache cannot be used any more: \(error.localizedDescription)")
      client.end(error)
      state = .locked(wait, error)
    }
    reopenIfNeeded(post: post)
    handle(wait.takeHeld(), post: post)
  }

  private func watchForSuspension(post: @escaping @Sendable (Message) -> Void) {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      guard case .running(let client) = state, case .file = client.configuration.cache else { return }
      suspensionWatch = SuspensionWatch(suspend: { post(.suspend(done: $0)) }, resume: { post(.resume) })
    #endif
  }

  /// Tries to open a folder that was in use. If other clients were asked for it just now and have not answered yet, the client waits.
  private func openNow(_ wait: FolderWait, post: @escaping @Sendable (Message) -> Void) {
    let began = ContinuousClock.now
    do {
      try run(wait.configuration, post: post)
      handle(choices.messages + choices.listeners, post: post)
    } catch {
      guard FolderWait.isWorthwhile(after: error), wait.configuration.endRequest.isMade else {
        wait.configuration.endRequest.withdraw()
        // While the folder is in use, everything stays as it is: the operation reports the known error.
        if !FolderWait.isWorthwhile(after: error) {
          wait.attemptFailed(after: .now - began)
          let reported = fail(error)
          if FolderWait.mayPass(error) { state = .locked(wait, reported) }
        }
        return
      }
      var configuration = wait.configuration
      // It was called when the first wait was over.
      configuration.cacheOpened = nil
      let again = FolderWait(configuration)
      for message in choices.messages + choices.listeners { again.hold(message) }
      state = .waiting(again)
      planAttempt(after: again.nextPause() ?? FolderWait.pauseAfterLimit)
    }
  }

  /// Returns the pause before ``Message/openAgain`` must be posted, once; nil if no attempt is planned. Called after each round.
  func takePause() -> Duration? {
    defer { pause = nil }
    return pause
  }

  private func run(
    _ configuration: ClientConfiguration, continuing former: RunningClient.Remainder? = nil,
    post: @escaping @Sendable (Message) -> Void
  ) throws {
    let number = clientCount + 1
    let client = try RunningClient(configuration, on: queue, lostWrites, continuing: former) {
      post(.fromClient(number: number, $0))
    }
    clientCount = number
    state = .running(client)
    client.start()
    watchForSuspension(post: post)
  }

  /// Replaces a client whose cache was found damaged beyond repair by one with a reopened cache.
  private func reopenIfNeeded(post: @escaping @Sendable (Message) -> Void) {
    while case .running(let client) = state, let cause = client.reopening {
      HearthLog.error("The cache is reopened: \(cause.reason)")
      let remainder = client.endForReopening(cause)
      let isWorthwhile = !cause.isDamage || repairs.allowsRepair(at: now())
      if let obstacle = remainder.obstacle, !FolderWait.mayPass(obstacle) {
        abandon(remainder, after: obstacle)
      } else if isWorthwhile {
        reopen(FolderWait(client.configuration), remainder, nil, post: post)
      } else {
        abandon(remainder, after: StoreError(kind: .corrupt, message: cause.reason))
      }
    }
  }

  /// Reopens a cache for a client whose file was found damaged.
  ///
  /// Others that have the file open hear of the damage and close it: until then its outbox cannot be saved, and whatever the client
  /// has not stored waits with the callers of its writes.
  private func reopen(
    _ wait: FolderWait, _ remainder: RunningClient.Remainder, _ known: NSError?,
    post: @escaping @Sendable (Message) -> Void
  ) {
    let began = ContinuousClock.now
    var remainder = remainder
    do {
      try remainder.removeObstacle()
      try run(wait.configuration, continuing: remainder, post: post)
      // Calls that were refused before may have chosen another user or switched the network.
      handle((known == nil ? [] : choices.messages) + wait.takeHeld(), post: post)
    } catch {
      guard FolderWait.mayPass(error) else {
        abandon(remainder, after: error)
        return handle(wait.takeHeld(), post: post)
      }
      let isWorthwhile = FolderWait.isWorthwhile(after: error)
      if !isWorthwhile { wait.attemptFailed(after: .now - began) }
      let pause = isWorthwhile ? wait.nextPause() ?? FolderWait.pauseAfterLimit : FolderWait.pauseAfterFailure
      planAttempt(after: pause)
      guard known == nil, wait.isOver || !isWorthwhile else {
        state = .reopening(wait, remainder, known)
        return
      }
      let error = NSError.firestore(opening: FolderWait.givenUp(error))
      HearthLog.error("The damaged cache cannot be reopened yet: \(error.localizedDescription)")
      state = .reopening(wait, remainder, error)
      handle(wait.takeHeld(), post: post)
    }
  }

  private func abandon(_ remainder: RunningClient.Remainder, after error: any Error) {
    var remainder = remainder
    remainder.abandon(fail(error), lostWrites)
  }

  @discardableResult
  private func fail(_ error: any Error) -> NSError {
    let error = NSError.firestore(opening: error)
    HearthLog.error("The cache cannot be used: \(error.localizedDescription)")
    state = .failed(error)
    return error
  }

  private func stop(
    _ completion: @escaping @Sendable (NSError?) -> Void, post: @escaping @Sendable (Message) -> Void
  ) {
    isStopping = true
    // The folder may be free now: what waits for it need not be lost.
    if case .waiting(let wait) = state, wait.heldWriteCount > 0 { openAtEnd(wait, post: post) }
    openAgainAtEnd(post: post)
    resume(post: post)
    comeBack(within: nil, post: post)
    choices.endListeners()
    switch state {
    case .stopped(let endings, _):
      endings.async { completion(nil) }
    case .running(let client):
      let endings = Self.makeEndings()
      let unsaved = Mutex<NSError?>(nil)
      endings.suspend()
      endings.async { completion(unsaved.withLock { $0 }) }
      state = .stopped(endings, client)
      client.stop { error in
        unsaved.withLock { $0 = error }
        endings.resume()
      }
      forgetEnded(client, endings)
    case .waiting(let wait):
      state = .stopped(Self.makeEndings())
      wait.configuration.endRequest.withdraw()
      wait.configuration.cacheOpened?(NSError.terminated)
      wait.refuseHeld(lostWrites)
      completion(lostWrites.takeAll())
    case .reopening(let wait, var remainder, _):
      state = .stopped(Self.makeEndings())
      remainder.abandon(.terminated, lostWrites)
      wait.refuseHeld(lostWrites)
      completion(lostWrites.takeAll())
    case .idle, .suspended, .yielding, .locked, .failed:
      if case .locked(let wait, _) = state { wait.configuration.endRequest.withdraw() }
      state = .stopped(Self.makeEndings())
      completion(lostWrites.takeAll())
    }
    if case .stopped(_, nil) = state { suspensionWatch = nil }
  }

  /// Opens the folder before the client ends, if it is free, so that the writes that wait for it are stored.
  private func openAtEnd(_ wait: FolderWait, post: @escaping @Sendable (Message) -> Void) {
    do {
      try run(wait.configuration, post: post)
      wait.configuration.cacheOpened?(nil)
      handle(choices.messages + wait.takeHeld(), post: post)
    } catch {
      HearthLog.log(.notice, "The folder is not free at the end: \(error)")
    }
  }

  /// Tries a last time to reopen a damaged cache, for writes that are not stored.
  private func openAgainAtEnd(post: @escaping @Sendable (Message) -> Void) {
    if case .reopening(let wait, let remainder, let error) = state { reopen(wait, remainder, error, post: post) }
  }

  private static func makeEndings() -> DispatchQueue { DispatchQueue(label: "hearth.endings") }
}
