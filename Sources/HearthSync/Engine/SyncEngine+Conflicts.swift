internal import HearthCache
internal import HearthModel

/// Conflicts between waiting writes and what others have written, where the application has set rules.
///
/// A batch with such documents is sent with the versions that it was made for as preconditions. When the backend refuses it, its documents
/// are read, and each that has changed is resolved by its rule, perhaps by the application. The result takes the place of the batch and is
/// sent with the new versions. Until then nothing behind it is sent.
extension SyncEngine {
  // MARK: - Before sending

  /// The batch that waits for the resolution of a conflict; neither it nor those behind it are sent.
  func batchInConflict() -> BatchID? {
    guard let open = conflicts.open else { return nil }
    if LocalStore.isSameUser(open.owner, link.user) { return open.batch.batchID }
    closeConflict()
    return nil
  }

  /// Gives a batch the preconditions that it is sent with.
  ///
  /// Those that are stored with it stay: it may have been sent, and is sent again with what it was sent with, whatever the rules are now and
  /// whatever is left of the documents that it was made for.
  ///
  /// - Returns: Nil if it cannot be sent yet: batches on their way write the same documents, or they have to be compared first.
  func guarded(_ batch: MutationBatch) throws -> MutationBatch? {
    guard batch.keepsBases else { return batch }
    let isRefused = conflicts.refused?.batchID == batch.batchID
    if let guards = batch.guards, !isRefused { return link.isWriting(any: Set(guards.keys)) ? nil : batch }
    let bases = try localStore.bases(of: batch)
    // Only their answers bring the versions that this batch is made for.
    if link.isWriting(any: Set(bases.bases.keys)) { return nil }
    if bases.mustBeCompared || isRefused {
      try compare(batch, bases)
      return nil
    }
    var guarded = batch
    guarded.guards = MutationBatch.guards(of: batch.mutations, madeFor: bases.bases)
    return guarded
  }

  /// Takes a refusal of the backend that may come from the preconditions of a batch.
  ///
  /// - Returns: False if it cannot.
  func takeConflict(_ batch: MutationBatch, _ error: StatusError) -> Bool {
    guard batch.guards?.isEmpty == false, [.failedPrecondition, .alreadyExists, .notFound].contains(error.code) else {
      return false
    }
    conflicts.refused = (batch.batchID, error)
    link.takeBackBatches()
    return true
  }

  private func compare(_ batch: MutationBatch, _ bases: LocalStore.BatchBases) throws {
    // A former process may have sent it, so that the backend's documents may be those that it makes.
    if conflicts.uncertain.isNew(to: link.user) {
      conflicts.uncertain.begin(through: try localStore.lastPendingBatchThatMayBeSent(), of: link.user)
    }
    closeConflict()
    read(
      OpenConflict(
        batch, owner: link.user, bases: bases, mayBeCommitted: conflicts.uncertain.contains(batch.batchID),
        stage: .pausing))
  }

  private func read(_ conflict: OpenConflict) {
    var open = conflict
    let id = LookUpID(rawValue: conflicts.nextID())
    open.stage = .reading(id)
    conflicts.open = open
    conflicts.pauses.attemptBegins(now: now)
    statusWatch.outboxChanges()
    emit(.lookUp(id, open.keysToRead))
  }

  // MARK: - Comparing

  func lookedUp(_ id: LookUpID, _ result: Result<[Document], StatusError>) {
    guard var open = conflicts.open, case .reading(id) = open.stage else { return }
    switch result {
    case .failure(let error) where error.code == .permissionDenied && open.keysToRead.count > open.bases.bases.count:
      // The documents that no rule contains may not be read, so that a lost answer cannot be told.
      open.mayBeCommitted = false
      read(open)
    case .failure(let error) where [.permissionDenied, .invalidArgument].contains(error.code):
      // These documents cannot be read, so the write cannot be sent with what it was made for.
      let refused = conflicts.refused?.batchID == open.batch.batchID ? conflicts.refused?.error : nil
      endConflict(rejecting: open, refused ?? error)
    case .failure(let error):
      log(.debug, "The documents of write \(open.batch.batchID) could not be read from the backend: \(error)")
      open.stage = .pausing
      conflicts.open = open
      let pause = conflicts.pauses.nextDelay(now: now, jitter: configuration.jitter())
      emit(.startTimer(.conflictRetry, after: pause))
    case .success(let documents):
      conflicts.pauses.reset()
      for document in documents { open.remote[document.key] = document }
      resolve(open)
    }
  }

  func conflictTimerFired() {
    guard conflicts.endPause() else { return }
    statusWatch.outboxChanges()
    fillWritePipeline()
  }

  private func resolve(_ conflict: OpenConflict) {
    var open = conflict
    var questions: [ConflictID: DocumentKey] = [:]
    var asked: [SyncAction] = []
    var isContradicted = false
    do {
      if try open.isAtBackend {
        open.takeAll()
        return carryOut(open)
      }
      for (key, base) in open.bases.bases.sorted(by: { $0.key < $1.key }) {
        guard let remote = open.remote[key], !open.adopts(remote, for: key), base.isContradicted(by: remote),
          let policy = configuration.conflictRules.policy(for: key)
        else { continue }
        isContradicted = true
        let edit = try open.edit(of: key)
        let resolution = try edit.resolved(
          by: policy, with: remote, copyName: open.copyName(of: key), at: open.batch.localWriteTime)
        if let resolution {
          open.take(resolution, for: key)
        } else if case .ask(let resolver) = policy {
          let id = ConflictID(rawValue: conflicts.nextID())
          questions[id] = key
          let isKnown = base.document.isFound || base.document.isMissing
          asked.append(
            .askResolver(
              id,
              DocumentConflict(
                resolver: resolver, batchID: open.batch.batchID, base: isKnown ? base.document : nil,
                local: edit.document(at: open.batch.localWriteTime), remote: remote)))
        }
      }
    } catch {
      return endConflict(rejecting: open, .storage("Write \(open.batch.batchID) cannot be compared", error))
    }
    if !isContradicted, let refused = conflicts.refused, refused.batchID == open.batch.batchID {
      return conflicts.mayRepeat(refused.batchID) ? carryOut(open) : endConflict(rejecting: open, refused.error)
    }
    guard !questions.isEmpty else { return carryOut(open) }
    if takeUpParkedConflict(for: open) { return }
    open.stage = .asking(questions)
    conflicts.open = open
    statusWatch.outboxChanges()
    emit(asked)
  }

  // MARK: - Answers of the application

  func conflictAnswered(_ id: ConflictID, _ result: Result<ConflictAnswer, StatusError>) {
    if parkAnswer(id, result) { return }
    guard var open = conflicts.open, case .asking(var questions) = open.stage,
      let key = questions.removeValue(forKey: id), let remote = open.remote[key]
    else { return }
    do {
      switch try result.get() {
      case .keepMine:
        open.take(try open.edit(of: key).kept(over: remote), for: key)
      case .takeTheirs:
        open.take(.dropped, for: key)
      case .write(let mutations):
        guard mutations.contains(where: { $0.key == key }) else {
          let other = mutations.first.map { "only \"\($0.key)\"" } ?? "nothing"
          throw StatusError(
            code: .invalidArgument, message: "The answer writes \(other). It must write the document in conflict.")
        }
        open.take(.mutations(mutations), for: key)
      }
    } catch {
      return leaveUnresolved(open, key, StatusError.storage("It cannot be resolved", error))
    }
    if questions.isEmpty { return carryOut(open) }
    open.stage = .asking(questions)
    conflicts.open = open
  }

  private func leaveUnresolved(_ conflict: OpenConflict, _ key: DocumentKey, _ error: StatusError) {
    var open = conflict
    let failure = StatusError(code: error.code, message: "The conflict at \"\(key)\" is not resolved: \(error.message)")
    log(.error, "\(failure.message) Write \(open.batch.batchID) and those behind it wait.")
    cancelQuestions()
    open.stage = .failed(failure)
    conflicts.open = open
    statusWatch.outboxChanges()
  }

  /// A batch has left the outbox, so that nothing needs to wait for it.
  func forgetConflict(of batchID: BatchID) {
    if conflicts.open?.batch.batchID == batchID { closeConflict() }
    if conflicts.parked?.conflict.batch.batchID == batchID { dropParkedConflict() }
    if conflicts.refused?.batchID == batchID { conflicts.refused = nil }
  }

  /// Another client sends the outbox. Questions to the application stay open.
  func forgetConflicts() {
    parkConflict()
    closeConflict()
    conflicts.refused = nil
    conflicts.uncertain = UncertainBatches()
  }

  /// Lets the outbox go on as if no conflict had been found. If there is one, it is found again.
  func closeConflict() {
    guard conflicts.open != nil else { return }
    cancelQuestions()
    conflicts.open = nil
    statusWatch.outboxChanges()
  }

  /// Tells the application that nothing depends on its answers any more.
  private func cancelQuestions() {
    guard case .asking(let questions)? = conflicts.open?.stage else { return }
    emit(questions.keys.sorted { $0.rawValue < $1.rawValue }.map { .cancelQuestion($0) })
  }

  /// Looks again at a conflict that was not resolved.
  func retryConflict() {
    conflicts.tryAgain()
    statusWatch.outboxChanges()
  }

  // MARK: - Ends

  private func carryOut(_ open: OpenConflict) {
    let mutations = open.resolvedMutations
    var ending: StatusError?
    if !open.dropped.isEmpty {
      let names = open.dropped.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
      ending = StatusError(
        code: .aborted,
        message: "The write was given up for what the backend has at \(names), by the rule for conflicts.")
    }
    let outcome = LocalStore.ConflictOutcome(
      mutations: mutations, copies: open.copies, remote: open.remote, bases: open.bases, ending: ending)
    end(open, leaves: mutations.isEmpty, with: ending) {
      try localStore.resolveConflict(open.batch, outcome, of: .user(open.owner), at: wallTime)
    }
  }

  private func endConflict(rejecting open: OpenConflict, _ error: StatusError) {
    end(open, leaves: true, with: error) {
      try localStore.rejectConflict(open.batch, error, of: .user(open.owner), at: wallTime)
    }
  }

  /// Stores how a conflict ends, and lets the outbox go on.
  ///
  /// - Parameters:
  ///   - leaves: True if nothing of the batch is left to be sent.
  ///   - error: How its write ends then.
  private func end(
    _ open: OpenConflict, leaves: Bool, with error: StatusError?, _ store: () throws -> DocumentMap
  ) {
    conflicts.open = nil
    dropParkedConflict()
    let batchID = open.batch.batchID
    do {
      let changes = try store()
      if conflicts.refused?.batchID == batchID { conflicts.refused = nil }
      conflicts.uncertain.settle(batchID)
      if leaves { completeOutOfTurn(batchID, error) }
      statusWatch.outboxChanges()
      refreshViews(changes)
    } catch CacheError.unknownBatch {
      log(.debug, "Write \(batchID) has left the outbox or changed while it was compared.")
    } catch {
      return goOffline(after: error, retrying: .probe(.outboxFailure))
    }
    fillWritePipeline()
  }

  /// The conflict that the outbox waits for, as it is shown.
  package var outboxConflict: OutboxConflict? { (conflicts.open ?? conflicts.parked?.conflict)?.state }
}
