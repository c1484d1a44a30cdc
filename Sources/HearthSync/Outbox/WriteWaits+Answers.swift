internal import HearthCache
internal import HearthModel

/// Storing the ends of batches, and completing the calls that wait for them.
extension WriteWaits {
  enum Action {
    case emit(SyncAction)
    /// An observer of the outbox may see a difference.
    case outboxChanges
    /// The backend has answered a write.
    case backendConfirms
    /// Show these documents, as the local view now has them; `isReversal` if a write has gone from them without an effect.
    case show(DocumentMap, isReversal: Bool = false)
    /// The batch was answered or taken back elsewhere: it must not be sent, and nothing needs to wait for it.
    case leave(BatchID)
    /// There is room for batches of the outbox, which must be read.
    case sendOn
    /// The outbox cannot be read: bring everything in line with the file later.
    case synchronize
  }

  /// The backend has committed a batch. Any client stores an answer that it has received, whether it still has the lease or not.
  ///
  /// - Parameters:
  ///   - owner: The user whose batch it is.
  ///   - isActiveUsers: False if another user has signed in since.
  ///   - time: The device's time.
  mutating func acknowledge(
    _ result: MutationBatchResult, of owner: String?, isActiveUsers: Bool, at time: Timestamp, in localStore: LocalStore
  ) throws -> [Action] {
    let isOwn = mayAwait(result.batch.batchID, result.batch.identity)
    let changes = try localStore.acknowledge(result, of: .user(owner), isOwn: isOwn, needsLease: false, at: time)
    return answered(result.batch.batchID, result.batch.identity, isActiveUsers: isActiveUsers, nil) + [.show(changes)]
  }

  /// The backend has refused a batch.
  mutating func reject(
    _ batch: MutationBatch, _ error: StatusError, of owner: String?, isActiveUsers: Bool, at time: Timestamp,
    in localStore: LocalStore
  ) throws -> [Action] {
    let changes = try localStore.reject(batch, error, of: .user(owner), needsLease: false, at: time)
    var actions: [Action] = []
    if error.deservesWarning {
      let keys = batch.keys.sorted().map(\.canonicalString).joined(separator: ", ")
      actions.append(.emit(.log(.warning, "Write at \(keys) failed: \(error.message)")))
    }
    return actions + answered(batch.batchID, batch.identity, isActiveUsers: isActiveUsers, error)
      + [.show(changes, isReversal: true)]
  }

  /// Completes the calls that wait for a batch that was answered. Comes before the listeners hear of its outcome.
  mutating func answered(
    _ batchID: BatchID, _ identity: BatchIdentity?, isActiveUsers: Bool, _ error: StatusError?
  ) -> [Action] {
    var completions = complete(batchID, identity, error)
    // An answer to a former user's batch says nothing of this user's.
    if isActiveUsers { completions += batchAnswered(batchID) }
    return [.outboxChanges, .backendConfirms] + completions.map { .emit($0) }
  }

  /// Completes the calls that wait for batches which other clients have seen answered.
  ///
  /// - Parameter user: The user who is signed in.
  mutating func answeredElsewhere(_ answers: [News.Answer], of user: String?, in localStore: LocalStore) -> [Action] {
    var actions: [Action] = answers.isEmpty ? [] : [.outboxChanges]
    for answer in answers {
      actions.append(.leave(answer.batchID))
      actions += complete(answer.batchID, answer.identity, answer.error).map { .emit($0) }
    }
    // Not by the number of an answered batch: a conflict may end a batch while earlier ones wait.
    guard answers.contains(where: \.isActiveUsers), localStore.isUser(user) else { return actions }
    return actions + lower(of: user, in: localStore.outbox)
  }

  /// Takes a batch back.
  ///
  /// - Parameters:
  ///   - user: The user who is signed in.
  ///   - conflicting: The batch whose conflict the outbox waits for; nil if there is none.
  ///   - time: The device's time.
  mutating func withdraw(
    _ id: RequestID, _ batchID: BatchID, _ identity: BatchIdentity?, evenIfSent: Bool, of user: String?,
    conflicting: BatchID?, at time: Timestamp, in localStore: LocalStore
  ) -> [Action] {
    do {
      let error = StatusError(code: .cancelled, message: "The write was cancelled before the backend answered.")
      let changes = try localStore.withdraw(
        batchID, identity, evenIfSent: evenIfSent, error, of: .user(user), at: time)
      return [.leave(batchID)] + leftOutOfTurn(batchID, identity, error, of: user, in: localStore.outbox)
        + [.emit(.answer(id, .done)), .show(changes, isReversal: true), .sendOn]
    } catch CacheError.unknownBatch {
      var message = "No write \(batchID) of the current user waits for the backend."
      if identity != nil { message += " The cache was opened anew since the call." }
      return [.emit(.requestFailed(id, StatusError(code: .notFound, message: message)))]
    } catch CacheError.batchMayBeSent {
      let reason =
        conflicting == batchID
        ? "the backend has another version of its document, and no resolver has settled the conflict"
        : "it may have reached the backend, which has not answered"
      let message = "Write \(batchID) cannot be cancelled: \(reason). `evenIfSent: true` cancels it all the same."
      return [.emit(.requestFailed(id, StatusError(code: .failedPrecondition, message: message)))]
    } catch {
      return [.emit(.requestFailed(id, .storage("Write \(batchID) cannot be cancelled", error)))]
    }
  }

  /// Completes the calls that wait for a batch that has left the outbox while batches before it may still wait.
  mutating func leftOutOfTurn(
    _ batchID: BatchID, _ identity: BatchIdentity?, _ error: StatusError?, of user: String?, in outbox: CacheOutbox
  ) -> [Action] {
    [.outboxChanges] + complete(batchID, identity, error).map { .emit($0) } + lower(of: user, in: outbox)
  }

  /// Completes the calls that wait for a batch which is not in the file: another client has seen it answered, or the batch is lost.
  ///
  /// - Parameters:
  ///   - error: The end of the calls if the outcome of the batch is not known.
  ///   - user: The user whose refused batches are looked at.
  /// - Throws: An error if the file cannot be read. Then the calls go on waiting.
  mutating func completeMissing(
    _ batchID: BatchID, _ error: StatusError, of user: String?, in outbox: CacheOutbox
  ) throws -> [SyncAction] {
    guard let identity = pendingBatches[batchID]?.identity else { return complete(batchID, nil, error) }
    if case .ended(let outcome) = try outbox.fate(of: identity) { return complete(batchID, identity, outcome.error) }
    // One without a receipt is kept if it was refused.
    let next = try outbox.rejectedBatches(after: batchID - 1, limit: 1, of: user).first
    let isRefused = next?.batch.batchID == batchID && next?.batch.identity == identity
    return complete(batchID, identity, isRefused ? next?.error : error)
  }

  /// Ends the waits for batches that have left the outbox. One that could not be read has not waited for those before it.
  mutating func lower(of user: String?, in outbox: CacheOutbox) -> [Action] {
    do {
      return try lower { try outbox.highestBatchID(notAfter: $0, of: .user(user)) }.map { .emit($0) }
    } catch {
      return [.emit(.log(.debug, "The outbox cannot be read: \(error)")), .synchronize]
    }
  }

  /// A write is stored, and not shown yet.
  static func stored(_ write: LocalWrite) -> [Action] {
    write.keepsOutcome ? [.outboxChanges, .emit(.writeSaved(write.id))] : [.outboxChanges]
  }
}

extension WriteOutcome {
  /// The error of a write that was not committed.
  var error: StatusError? { if case .failed(let error) = self { error } else { nil } }
}
