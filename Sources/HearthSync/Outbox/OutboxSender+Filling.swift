internal import HearthCache
internal import HearthModel

/// Reading the outbox, and storing the marks that sending requires.
extension OutboxSender {
  /// The result of reading the outbox as far as there is room.
  struct Filling {
    var actions: [SyncAction] = []
    /// The documents of a batch that have to be compared with the backend's before the batch is sent.
    var conflict: OpenConflict?
    var failure: (any Error)?
  }

  /// A batch of the outbox that is about to be sent.
  private enum Guarded {
    /// It is sent with these preconditions.
    case ready(MutationBatch)
    /// It waits for sent batches that write the same documents: only their answers bring its base versions.
    case waits
    /// Its documents have to be compared first.
    case conflicts(OpenConflict)
  }

  /// Puts batches of the outbox on their way as far as there is room.
  ///
  /// - Parameters:
  ///   - conflicting: The batch whose conflict is open: neither it nor anything behind it is sent. Nil if there is none.
  ///   - untilEndIsKnown: True if nothing is read once the end of the outbox is known. At other times it is looked for in the cache, which may have
  ///     been repaired.
  ///   - isRefused: True for a batch that the backend has refused for its preconditions.
  mutating func fill(
    from localStore: LocalStore, before conflicting: BatchID?, untilEndIsKnown: Bool, isRefused: (BatchID) -> Bool
  ) -> Filling {
    var filling = Filling()
    do {
      while hasRoom, !untilEndIsKnown || !reachesEndOfOutbox {
        guard let next = try localStore.nextMutationBatch(after: lastBatchID) else {
          endOfOutboxReached()
          break
        }
        // Those before it may have been taken off their way.
        if let conflicting, next.batchID >= conflicting {
          outboxHasGrown()
          break
        }
        switch try guarded(next, isRefused: isRefused(next.batchID), localStore) {
        case .waits:
          outboxHasGrown()
          return filling
        case .conflicts(let conflict):
          outboxHasGrown()
          filling.conflict = conflict
          return filling
        case .ready(let batch):
          if batch.guards != next.guards {
            // Durable before it is sent, and read again, as after each transaction.
            try localStore.keepGuards(of: batch)
            continue
          }
          // Read again after a transaction: another process may have withdrawn it before.
          if sendsAtOnce, try reserveSending(of: batch.batchID, in: localStore) { continue }
          filling.actions += add(batch)
        }
      }
    } catch {
      filling.failure = error
    }
    return filling
  }

  /// Gives a batch the preconditions that it is sent with.
  ///
  /// Stored preconditions stay: the batch may have been sent, and is sent again with what it was sent with, whatever the rules are now and
  /// whatever is left of the documents below it. If it was not sent, documents for which a process without their rule has stored none get theirs.
  private mutating func guarded(
    _ batch: MutationBatch, isRefused: Bool, _ localStore: LocalStore
  ) throws -> Guarded {
    guard batch.keepsBases else { return .ready(batch) }
    let bases = try localStore.outbox.bases(of: batch)
    if let guards = batch.guards, !isRefused {
      let isDecided = bases.bases.keys.allSatisfy { guards[$0] != nil }
      if try isDecided || mayBeCommitted(batch.batchID, lastSent: localStore.outbox.lastBatchThatMayBeSent) {
        return isWriting(any: Set(guards.keys)) ? .waits : .ready(batch)
      }
    }
    if isWriting(any: Set(bases.bases.keys)) { return .waits }
    if bases.mustBeCompared || isRefused {
      // It was sent only under conditions. A former process may have done that, so that the backend's documents may be those that it makes.
      let mayBeCommitted =
        try batch.guards != nil && mayBeCommitted(batch.batchID, lastSent: localStore.outbox.lastBatchThatMayBeSent)
      return .conflicts(
        OpenConflict(batch, owner: user, bases: bases, mayBeCommitted: mayBeCommitted, stage: .pausing))
    }
    var guarded = batch
    guarded.guards = MutationBatch.guards(of: batch.mutations, madeFor: bases.bases)
    return .ready(guarded)
  }

  // MARK: - Marks

  /// Makes durable that a batch may be at the backend, if it is not known yet.
  ///
  /// - Returns: True if this took a transaction. Then another process may have withdrawn the batch before: it must be read again.
  mutating func reserveSending(of batchID: BatchID, in localStore: LocalStore) throws -> Bool {
    if isReserved(batchID) { return false }
    let (before, reserved) = try localStore.noteSending(batchID, reserving: SentMarks.reservation)
    // The mark is ahead of what was sent, and batches that are written from now on are behind what waits.
    let inherited = needsInheritedBatch ? try localStore.outbox.highestKnownBatchID(notAfter: before) ?? 0 : nil
    reserve(through: reserved, inherited: inherited)
    return true
  }

  /// Gives the rest of the reservation back once nothing more can be sent on a stream.
  mutating func endSendingIfStopped(in localStore: LocalStore) -> [SyncAction] {
    guard let (last, reserved) = endMarkIfStopped() else { return [] }
    do {
      try localStore.noteSendingEnded(at: last, reserved: reserved, of: .user(user))
      return []
    } catch {
      return [.log(.debug, "Batches that were not sent count as sent: \(error)")]
    }
  }

  // MARK: - Failed attempts

  /// Takes note that batches were sent and not answered before their stream ended, and stores it for those who look into the outbox.
  mutating func noteFailedAttempt(
    at batches: [BatchID], _ error: StatusError?, in localStore: LocalStore
  ) -> [SyncAction] {
    guard !batches.isEmpty else { return [] }
    noteFailedAttempt(at: batches)
    let error = error ?? StatusError(code: .unavailable, message: "The connection ended before the answer.")
    do {
      try localStore.noteFailedAttempt(at: batches, error)
      return []
    } catch {
      return [.log(.debug, "A failed attempt could not be stored: \(error)")]
    }
  }
}
