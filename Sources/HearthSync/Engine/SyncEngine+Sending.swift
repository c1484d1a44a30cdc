internal import HearthCache
package import HearthModel

extension SyncEngine {
  /// Prepares for the answer to a handshake, which lets batches go out: others may have taken batches back, or a former holder of the lease may
  /// have stored their answers; and it must be stored that those that are left may be at the backend.
  ///
  /// - Returns: False if the cache fails; the stream is closed then, unless nothing waits for it.
  func prepareToSend(on id: StreamID) -> Bool {
    var failure: (message: String, error: any Error)?
    do {
      if localStore.hasOtherClients { try catchUp() }
    } catch {
      follow(membership.catchUpFailed(error, in: localStore))
      failure = ("The cache cannot be read: \(error)", error)
    }
    guard sender.batchWaitingForHandshake(on: id) != nil else { return true }
    do {
      // With the news, batches that others have withdrawn leave the pipeline, and others come in that nothing is reserved for.
      while failure == nil, let last = sender.batchWaitingForHandshake(on: id),
        try sender.reserveSending(of: last, in: localStore)
      {
        if localStore.hasNews || localStore.mayMissBatches { try catchUp() }
      }
    } catch {
      failure = ("The cache cannot be written: \(error)", error)
    }
    guard let failure else { return true }
    // Nothing has been sent on the stream.
    goOffline(after: failure.error, retrying: .probe(.outboxFailure))
    emit(.closeWriteStream(id))
    writeStreamClosed(id, StatusError(code: .unavailable, message: failure.message))
    return false
  }

  // MARK: - Calls of the user

  /// Ends the pauses between attempts.
  func retryNow(_ id: RequestID?) {
    if id != nil { emit(membership.forgetFutileTurns(in: localStore)) }
    if isPrimary {
      follow(conflicts.tryAgain())
      emit(sender.retryNow(canWrite: link.canWrite, now: now))
      follow(link.retryNow())
      openStreams()
    } else if let id {
      let (failure, actions) = membership.askForRetry(in: localStore)
      emit(actions)
      if let failure {
        let message = "The process with the connection cannot be asked to try again"
        return emit(.requestFailed(id, .storage(message, failure)))
      }
    }
    if let id { emit(.answer(id, .done)) }
  }

  /// Tells what is known of a write with a receipt; if it still waits, its end is reported under `write`.
  func readFate(_ id: RequestID, _ identity: BatchIdentity, _ write: WriteID) {
    // Held in memory, it would be taken for unknown, and written again.
    let isHeld = { self.held.writes.contains { $0.write.identity == identity } }
    if isHeld() { storeHeldWrites(attempts: 1) }
    guard !isHeld() else { return emit(.requestFailed(id, .notSaved(writeCount: held.writes.count))) }
    do {
      let fate = try localStore.outbox.fate(of: identity)
      if case .pending(let batchID) = fate { emit(waits.add(write, for: batchID, identity)) }
      emit(.answer(id, .fate(fate)))
    } catch {
      emit(.requestFailed(id, .storage("The receipt cannot be looked up", error)))
    }
  }

  // MARK: - What an observer of the outbox is shown

  /// The reason why batches are not sent; nil if nothing stands against it.
  package var outboxObstacle: OutboxObstacle? {
    if link.isForbidden(for: .disabledByUser) { return .networkDisabled }
    if link.isForbidden(for: .storageFailure) || link.isForbidden(for: .outboxFailure) { return .cacheFailure }
    if link.onlineState == .offline || isPrimary && sender.isPausing { return .offline(sender.lastError) }
    return nil
  }

  /// The batches that are at the backend and not answered, as far as this client knows.
  package var batchesAtBackend: Set<BatchID> { sender.batchesAtBackend }

  /// True if batches were sent that the backend may have committed and has not answered. Once the streams are closed it becomes false within
  /// the time that the transport gives them.
  package var awaitsAnswers: Bool { sender.awaitsAnswers }
}
