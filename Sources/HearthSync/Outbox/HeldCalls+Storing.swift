internal import HearthCache
internal import HearthModel

/// Storing held writes, and the reasons why some keep waiting.
extension HeldCalls {
  enum Action {
    case emit(SyncAction)
    /// An observer of the outbox may see a difference.
    case outboxChanges
    /// The write is in the outbox: its caller waits for the answer.
    case await(WriteID, BatchID, BatchIdentity?)
    /// Store the writes later.
    case storeLater
    /// Begin the listeners later.
    case beginLater
  }

  // MARK: - Writes

  /// Stores writes of one user with one commit.
  ///
  /// - Parameter keepsFormer: True if the documents before the writes are wanted.
  func store(
    _ writes: [LocalWrite], of owner: String?, keepsFormer: Bool, in localStore: LocalStore
  ) throws -> [LocalStore.StoredWrite] {
    try localStore.write(
      many: writes, of: .user(owner), keepsFormer: writes.count > 1 && keepsFormer)
  }

  /// Keeps writes whose storing failed for a reason that will go away.
  ///
  /// - Parameters:
  ///   - owner: The user who is signed in.
  ///   - attempted: The number of them that took part in the attempt, from the first one on.
  /// - Returns: Nil if the error is one of the writes themselves.
  mutating func keep(
    _ writes: [LocalWrite], of owner: String?, attempted: Int, after error: any Error, now: Duration,
    in localStore: LocalStore
  ) -> [Action]? {
    noteVainWait(after: error, now: now, in: localStore)
    let isBusy = localStore.isHeldByOther(error)
    guard isBusy || localStore.isBeingReplaced else { return nil }
    hold(writes, of: owner, damagedCount: isBusy ? 0 : attempted, seen: localStore.outbox.seen)
    let reason = isBusy ? "for another process" : "until the cache is opened anew"
    let actions = [Action.emit(.log(.notice, "Writes wait \(reason): \(error)")), .outboxChanges]
    return isBusy ? actions + [.storeLater] : actions
  }

  /// Looks up the writes that may be in the file, and removes those that are there or were sent from there by another client: they are saved
  /// then, and their callers wait for the answers, or get the outcome.
  ///
  /// - Returns: The error if the file cannot be read. Then none of them may be stored: it could be sent twice.
  mutating func findStoredWrites(in localStore: LocalStore) -> (actions: [Action], failure: (any Error)?) {
    let identities = identitiesToLookUp
    guard !identities.isEmpty else { return ([], nil) }
    let fates: [BatchIdentity: LocalStore.WriteFate]
    do {
      fates = try localStore.outbox.fates(of: identities)
    } catch {
      let lost = localStore.isBeingReplaced ? lookUpFailed() : []
      let actions = lost.flatMap { id -> [Action] in
        [
          .emit(.log(.error, "It is not known whether a write was saved: \(error)")),
          .emit(.writeNotSaved(id, .outcomeUnknown)),
        ]
      }
      return (actions, error)
    }
    return (lookedUp(fates).flatMap(Self.actions(for:)) + [.outboxChanges], nil)
  }

  private static func actions(for found: HeldWrite) -> [Action] {
    let write = found.write
    var actions: [Action] = []
    if case .pending(let batchID) = found.fate { actions.append(.await(write.id, batchID, write.identity)) }
    if write.keepsOutcome { actions.append(.emit(.writeSaved(write.id))) }
    if case .ended(let outcome) = found.fate { actions.append(.emit(.completeWrite(write.id, outcome.error))) }
    return actions
  }

  /// The next group could not be stored.
  mutating func groupFailed(_ error: any Error, now: Duration, in localStore: LocalStore) -> Step {
    noteVainWait(after: error, now: now, in: localStore)
    if localStore.isHeldByOther(error) || localStore.ending != nil { return groupFailed(.fileIsBusy) }
    return groupFailed(localStore.isBeingReplaced ? .fileIsReplaced : .write)
  }

  /// Takes note of an attempt that has waited for the file in vain, if that is what the error says.
  mutating func noteVainWait(after error: any Error, now: Duration, in localStore: LocalStore) {
    if localStore.isHeldByOther(error) { noteVainWait(now: now, busyTimeout: localStore.busyTimeout) }
  }

  /// Ends a write that no file takes.
  static func failed(_ write: LocalWrite, _ error: any Error) -> [SyncAction] {
    // In the log too, because a write may have no completion.
    [
      .log(.error, "A write was not saved: \(error)"),
      .writeNotSaved(write.id, .storage("Failed to persist write", error)),
    ]
  }

  // MARK: - Listeners

  /// Ends a listener that could not begin, or lets it wait for the process that holds the file.
  ///
  /// A read that is made once fails: its caller can decide what to do instead.
  mutating func listenFailed(
    _ listen: HeldListen, _ error: any Error, now: Duration, in localStore: LocalStore
  ) -> [Action] {
    noteVainWait(after: error, now: now, in: localStore)
    guard localStore.isHeldByOther(error), !listen.options.isOneTimeRead else {
      return [.emit(.raiseError(listen.id, .listenFailed(error)))]
    }
    return [.emit(.log(.notice, "Listeners wait for another process: \(error)"))] + wait(listen)
  }

  /// Lets a listener wait. What it waits for was tried in this event, or is tried by the timer.
  mutating func wait(_ listen: HeldListen) -> [Action] {
    hold(listen)
    return [.beginLater]
  }
}
