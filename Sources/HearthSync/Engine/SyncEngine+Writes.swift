internal import HearthCache
internal import HearthModel
internal import HearthStore

extension SyncEngine {
  // MARK: - Local writes

  /// Queues writes, each as a batch of its own, with one durable commit for all of them.
  ///
  /// If they cannot be stored together, each is stored by itself, so that a failure hits only the write that has it.
  func write(_ writes: [LocalWrite]) {
    var queue: [LocalWrite] = []
    for write in writes {
      // Nothing to store, nothing to send.
      if write.mutations.isEmpty, write.resubmits == nil {
        emit(.completeWrite(write.id, nil))
      } else {
        queue.append(write)
      }
    }
    guard held.writes.isEmpty else {
      held.hold(queue, of: signedInUser, seen: localStore.outbox.seen)
      statusWatch.outboxChanges()
      return tryHeldCalls()
    }
    var batches: [MutationBatch] = []
    if queue.count > 1 {
      do {
        let stored = try held.store(queue, of: signedInUser, keepsFormer: views.mayReadCache, in: localStore)
        show(queue, stored, of: signedInUser)
        batches = stored.map(\.batch)
        queue = []
      } catch {
        let count = queue.count
        if let kept = held.keep(queue, of: signedInUser, attempted: count, after: error, now: now, in: localStore) {
          follow(kept)
          queue = []
        }
      }
    }
    for (index, write) in queue.enumerated() {
      do {
        let stored = try held.store([write], of: signedInUser, keepsFormer: false, in: localStore)
        show([write], stored, of: signedInUser)
        batches += stored.map(\.batch)
      } catch {
        // Those behind it wait too, so that the outbox keeps their order.
        let rest = Array(queue[index...])
        if let kept = held.keep(rest, of: signedInUser, attempted: 1, after: error, now: now, in: localStore) {
          follow(kept)
          break
        }
        emit(HeldCalls.failed(write, error))
      }
    }
    // What was stored before them is sent when they are stored: to send it may need the file, too.
    guard held.writes.isEmpty else { return sender.outboxHasGrown() }
    if localStore.hasOtherClients || localStore.mayMissBatches {
      // There may be batches of other clients before them in the outbox, or these may have been found there already.
      sender.outboxHasGrown()
      fillWritePipeline()
    } else {
      // While a change of the user waits, they are not in the outbox that is sent.
      fillWritePipeline(inHand: localStore.isUser(signedInUser) ? batches : [])
    }
  }

  /// True if the cache is about to be opened anew, or the client to end. What is held is handed over then (``handOver()``), or reported.
  var cacheIsBeingReplaced: Bool { localStore.isBeingReplaced }

  /// Stores the writes that had to wait for another process. They may be many, so they share commits.
  func storeHeldWrites() throws {
    let (actions, failure) = held.findStoredWrites(in: localStore)
    follow(actions)
    if let failure { throw failure }
    while let first = held.nextGroup.first {
      let (writes, owner) = (held.nextGroup.map(\.write), first.owner)
      do {
        let results = try held.store(writes, of: owner, keepsFormer: views.mayReadCache, in: localStore)
        held.groupStored()
        show(writes, results, of: owner)
      } catch {
        switch held.groupFailed(error, now: now, in: localStore) {
        case .wait: throw error
        case .goOn: break
        case .giveUp(let write):
          statusWatch.outboxChanges()
          emit(HeldCalls.failed(write, error))
        }
      }
    }
    sender.outboxHasGrown()
    fillWritePipeline()
    for id in waits.takeHeldRequests() {
      emit(waits.wait(id, of: signedInUser, in: localStore.outbox, areHeld: heldWriteCount > 0, link.canWrite))
    }
  }

  /// Tries to store the writes that had to wait for another process, without waiting for the next planned attempt. Those that cannot be
  /// stored stay in ``heldWriteIDs``.
  func storeHeldWrites(attempts: Int) {
    for _ in 0..<attempts where !held.writes.isEmpty {
      do {
        try storeHeldWrites()
      } catch {
        log(.notice, "Writes still wait for another process: \(error)")
      }
    }
  }

  /// Shows writes that were stored together. Those of a user whose change is not carried out yet are shown with that change.
  private func show(_ writes: [LocalWrite], _ stored: [LocalStore.StoredWrite], of owner: String?) {
    // Before anything takes the answers that other clients may have got by now.
    for (write, result) in zip(writes, stored) {
      emit(waits.add(write.id, for: result.batch.batchID, result.batch.identity))
    }
    let isShown = localStore.isUser(owner)
    if isShown, stored.count > 1 { return refreshViews(after: writes, stored) }
    for (write, result) in zip(writes, stored) {
      follow(WriteWaits.stored(write))
      if isShown { refreshViews(result.changes) }
    }
  }

  // MARK: - Sending

  /// Moves queued batches onto their way to the backend as far as there is room.
  ///
  /// - Parameter inHand: The batches that were just stored at the end of the outbox. If everything before them is on its way,
  ///   they need not be read back.
  func fillWritePipeline(inHand: [MutationBatch] = []) {
    // Another client sends the outbox, although this one's streams are still open.
    guard !localStore.leaseIsLost else { return }
    // What is on its way is answered; then a client of another user has the streams.
    guard !membership.turn.isEnding else { return sender.outboxHasGrown() }
    follow(conflicts.serve(sender.user))
    let conflicting = conflicts.open?.batch.batchID
    if conflicting != nil { sender.outboxHasGrown() }
    for batch in inHand where conflicting == nil { emit(sender.offer(batch, canWrite: link.canWrite)) }
    guard link.canWrite, !sender.awaitsLateAnswers else { return }
    // After a write the end of the outbox is known.
    let filling = sender.fill(
      from: localStore, before: conflicting, untilEndIsKnown: !inHand.isEmpty, isRefused: conflicts.isRefused)
    emit(filling.actions)
    if let failure = filling.failure { return goOffline(after: failure, retrying: .probe(.outboxFailure)) }
    if let conflict = filling.conflict { follow(conflicts.compare(conflict, now: now)) }
    emit(sender.batchesAdded(canWrite: link.canWrite, now: now))
  }

  func writeStreamReceived(_ response: WriteResponse, on id: StreamID) {
    guard prepareToSend(on: id) else { return }
    let (actions, answered) = sender.received(response, on: id)
    follow(actions)
    guard let answered else { return }
    let result = MutationBatchResult(
      batch: answered.batch, commitVersion: response.commitVersion, results: response.results)
    attempt(.acknowledge(result, owner: answered.owner))
    if answered.makesRoom { fillWritePipeline() }
  }

  func writeStreamClosed(_ id: StreamID, _ error: StatusError?) {
    let (actions, end) = sender.closed(id, error, now: now)
    follow(actions)
    switch end {
    case .ignored:
      break
    case .partingEnded(let unanswered):
      sender.noteFailedAttempt(at: unanswered.map(\.batchID))
      fillWritePipeline()
      if link.isForbidden(for: .disabledByUser) { follow(membership.refreshRole(clientState, in: localStore)) }
    case .ended(let rejected, let unanswered):
      statusWatch.outboxChanges()
      let byteCount = { try? self.localStore.outbox.byteCount(of: $0) }
      if let first = unanswered.first, let error, sender.isUndeliverable(first, error, byteCount: byteCount) {
        attempt(.reject(first, error, owner: sender.user))
        sender.answeredElsewhere(first.batchID)
        if link.canWrite { sender.inhibitBackoff() }
      } else {
        emit(sender.noteFailedAttempt(at: unanswered.map(\.batchID), error, in: localStore))
      }
      if let rejected, let error {
        if conflicts.takeRefusal(of: rejected.batch, error) {
          if rejected.hadLabel { sender.settle(rejected.batch.batchID) }
          sender.takeBackBatches()
        } else {
          attempt(.reject(rejected.batch, error, owner: rejected.owner))
        }
      }
      // Another client may have stored the answers to everything that was on its way.
      fillWritePipeline()
      emit(sender.startIfNeeded(canWrite: link.canWrite, now: now))
    }
  }

  // MARK: - Outcomes

  /// Carries out actions of the waits for writes, in order.
  func follow(_ actions: [WriteWaits.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .outboxChanges: statusWatch.outboxChanges()
      case .backendConfirms: statusWatch.backendConfirms()
      case .show(let changes, let isReversal): refreshViews(changes, isReversal: isReversal)
      case .leave(let batchID):
        sender.answeredElsewhere(batchID)
        follow(conflicts.batchLeaves(batchID))
      case .sendOn:
        sender.outboxHasGrown()
        fillWritePipeline()
      case .synchronize: emit(retries.appendOnce(.synchronizeViews))
      }
    }
  }

  /// Stores the answer to a write; a failure takes the client offline until it is stored. Answers keep their order.
  func attempt(_ operation: RetryableOperation) {
    guard !retries.holdsAnswers else { return emit(retries.append(operation)) }
    do {
      try carryOut(operation)
    } catch {
      goOffline(after: error, retrying: operation)
    }
  }

  /// Lets batches go that the cache can no longer read, so that the writes behind them reach the backend.
  func setAsideUnreadableBatches() throws {
    let (batches, changes) = try localStore.setAsideUnreadableBatches()
    for batch in batches {
      let message = "Pending write \(batch.batchID) cannot be read in the cache and was set aside: \(batch.reason)"
      log(.error, message)
      let mayBeAtBackend = sender.mayBeAtBackend(batch.batchID)
      let end = mayBeAtBackend ? .committedPerhaps("\(message).") : StatusError(code: .dataLoss, message: message)
      emit(waits.complete(batch.batchID, nil, end))
    }
    refreshViews(changes, isReversal: true)
    let owner = LocalStore.Owner.user(signedInUser)
    emit(try waits.lower { try localStore.outbox.highestBatchID(notAfter: $0, of: owner) })
  }
}
