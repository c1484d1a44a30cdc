internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// Reads the outbox for those who ask for it or observe it. Another user may sign in between two pages; what was begun goes on as it began.
extension RunningClient {
  /// The batches of a user's outbox with what is known of them.
  func contents(of batches: [MutationBatch], user: String?) throws -> OutboxContents {
    configuration.instruments.metrics?.outboxCounted(batches.count)
    return OutboxContents(
      owner: OutboxOwner(name: user), batches: batches, rejected: try cache.localStore.outbox.rejectedBatches(of: user),
      resolved: try cache.localStore.outbox.resolvedConflicts(of: user),
      status: OutboxStatus(
        state: try cache.localStore.outbox.state(of: user), sent: engine.batchesAtBackend,
        isSender: engine.isPrimary, obstacle: engine.outboxObstacle, conflict: engine.outboxConflict,
        unsavedCount: engine.heldWriteCount))
  }

  func readOutboxSoon() {
    guard !outbox.listeners.isEmpty, let pause = outbox.changed(now: clock.now) else { return }
    post(.readOutbox, after: pause)
  }

  /// Reads the next page of the outbox for its observers, and tells them when it was the last one.
  func readOutbox() {
    let result: Result<OutboxContents, any Error>
    let began = outboxReading?.began ?? clock.now
    do {
      if outboxReading == nil { outbox.begins() }
      var listing = try outboxReading?.listing ?? OutboxListing(of: engine.signedInUser, in: cache.localStore) { _ in }
      outboxReading = nil
      guard let batches = try listing.advance(cache.localStore) else {
        outboxReading = (listing, began)
        return post(.readOutbox)
      }
      result = .success(try contents(of: batches, user: listing.user))
    } catch {
      outboxReading = nil
      result = .failure(error)
    }
    // The client that reopens a damaged cache goes on with them.
    if case .failure = result, reopening != nil { return }
    for (_, listener) in outbox.listeners { listener.deliver(result.mapError { NSError.firestore($0) }) }
    if case .failure = result { outbox.listeners = [:] }
    let now = clock.now
    if let pause = outbox.ended(after: now - began, now: now) { post(.readOutbox, after: pause) }
  }

  /// Goes on with the observers of a client that this one replaces.
  func observeOutbox(continuing former: OutboxObservation) {
    guard !former.listeners.isEmpty else { return }
    outbox.listeners = former.listeners
    run(.observeOutbox(true))
    readOutboxSoon()
  }

  // MARK: - One list

  /// Lists the pending writes page by page, so that other messages are handled in between. Fails if some are not saved, or were lost.
  ///
  /// - Parameter completion: Returns false if nobody hears of the result, because the task was cancelled.
  func listPendingWrites(
    _ id: RequestID, _ completion: @escaping @Sendable (Result<OutboxContents, NSError>) -> Bool
  ) {
    saveHeldWrites()
    let unsavedCount = engine.heldWriteIDs.count
    guard unsavedCount == 0 else {
      return complete(id) { _ = completion(.failure(.firestore(StatusError.notSaved(writeCount: unsavedCount)))) }
    }
    if lostWrites.reportUnheard({ completion(.failure($0)) }) { return complete(id) {} }
    let completion = { @Sendable (result: Result<OutboxContents, NSError>) in _ = completion(result) }
    do {
      listings[id] = try OutboxListing(of: engine.signedInUser, in: cache.localStore, completion)
      continueListing(id)
    } catch {
      finish(id, .failure(error), completion)
    }
  }

  /// Tries to store the writes that wait for another process. Nothing else is handled during an attempt, which waits for the file, so after
  /// one that has failed there is none for as long as it took.
  private func saveHeldWrites() {
    let began = clock.now
    guard !engine.heldWriteIDs.isEmpty, saveAttemptsRest.map({ $0 <= began }) ?? true else { return }
    run(.saveWrites)
    let now = clock.now
    saveAttemptsRest = engine.heldWriteIDs.isEmpty ? nil : now + (now - began)
  }

  func continueListing(_ id: RequestID) {
    // Taken out, so that the batches it has gathered are not copied when it grows.
    guard var listing = listings.removeValue(forKey: id) else { return }
    let result = Result { try listing.advance(cache.localStore) }
    if case .success(nil) = result {
      listings[id] = listing
      return post(.continueListing(id))
    }
    finish(id, Result { try contents(of: result.get() ?? [], user: listing.user) }, listing.completion)
  }
}
