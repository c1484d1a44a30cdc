internal import HearthModel
internal import Synchronization

extension TransactionRegistry {
  /// Ends a transaction by its commit.
  ///
  /// A client whose answer was lost repeats the commit, and gets the outcome of the first one for a minute. After trouble that leaves nothing
  /// behind, the transaction is open again.
  ///
  /// - Parameters:
  ///   - digest: the digest of the writes. A commit with other writes is not a repetition.
  ///   - body: commits, if the transaction's reads allow it.
  /// - Throws: INVALID_ARGUMENT for a transaction that is not open; what `body` throws.
  func commit(
    _ id: [UInt8], isWriting: Bool, digest: [UInt8],
    _ body: (Conditions) async throws(StatusError) -> CommitOutcome
  ) async throws(StatusError) -> CommitOutcome {
    let now = clock.elapsedMicroseconds
    let turn = state.withLock { state -> Result<Turn, StatusError> in
      forgetOutcomes(in: &state, now: now)
      if let ending = state.endings[id], ending.digest == digest {
        guard case .ended(let result, _) = ending.progress else { return .success(.other) }
        return .success(.known(result))
      }
      do throws(StatusError) {
        let transaction = try find(id, in: &state, now: now)
        if transaction.isReadOnly, isWriting {
          throw StatusError(code: .invalidArgument, message: "Cannot modify entities in a read-only transaction.")
        }
        Self.remove(id, from: &state)
        state.endings[id] = Ending(digest: digest, progress: .running(transaction, []))
        return .success(.own(transaction))
      } catch {
        return .failure(error)
      }
    }
    switch try turn.get() {
    case .known(let result): return try result.get()
    case .other: return try await outcomeOfOther(id).get()
    case .own(let transaction):
      let result: CommitResult
      do throws(StatusError) {
        result = .success(try await body(Conditions(of: transaction)))
      } catch {
        result = .failure(error)
      }
      end(id, with: result)
      return try result.get()
    }
  }

  /// The conditions for the commit of a transaction.
  struct Conditions: Sendable {
    /// The reads of an optimistic transaction, which must be unchanged.
    var reads: TransactionReads?
    /// Under which a pessimistic one has locked what it has read.
    var owner: LockTable.Owner?

    init(reads: TransactionReads? = nil, owner: LockTable.Owner? = nil) {
      self.reads = reads
      self.owner = owner
    }

    init(of transaction: Transaction) {
      guard let reads = transaction.reads else { return }
      if transaction.isolation == .pessimistic { owner = transaction.owner } else { self.reads = reads }
    }
  }

  private enum Turn {
    /// This call commits.
    case own(Transaction)
    /// An earlier call is committing.
    case other
    case known(CommitResult)
  }

  private func outcomeOfOther(_ id: [UInt8]) async -> CommitResult {
    await withCheckedContinuation { continuation in
      let known = state.withLock { state -> CommitResult? in
        switch state.endings[id]?.progress {
        case .running(let transaction, let waiting):
          state.endings[id]?.progress = .running(transaction, waiting + [continuation])
          return nil
        case .ended(let result, _): return result
        case nil:
          return .failure(Self.unfinished)
        }
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  private func end(_ id: [UInt8], with result: CommitResult) {
    let now = clock.elapsedMicroseconds
    let (waiting, ended) = state.withLock { state -> ([CheckedContinuation<CommitResult, Never>], Transaction?) in
      guard case .running(var transaction, let waiting) = state.endings[id]?.progress else { return ([], nil) }
      if case .failure(let error) = result, Self.leavesNothing(error.code) {
        transaction.lastUse = now
        state.endings[id] = nil
        state.transactions[id] = transaction
        state.readCount += transaction.readCount
        return (waiting, nil)
      } else {
        let resultCount: Int
        switch result {
        case .success(let outcome): resultCount = outcome.results.count
        case .failure:
          resultCount = 0
          state.leaveAge(of: transaction, at: now)
        }
        state.endings[id]?.progress = .ended(result, at: now)
        state.outcomes.append((id, now, resultCount))
        state.resultCount += resultCount
        forgetOutcomes(in: &state, now: now)
        return (waiting, transaction)
      }
    }
    if ended != nil, case .failure(let error) = result, error.code == .aborted { metrics?.transactionAborted() }
    if let ended, ended.isolation == .pessimistic { locks.release(ended.owner) }
    // If the client of the first call has cancelled it, the client of a repetition may try again.
    if case .failure(let error) = result, error.code == .cancelled {
      for continuation in waiting { continuation.resume(returning: .failure(Self.unfinished)) }
      return
    }
    for continuation in waiting { continuation.resume(returning: result) }
  }

  private static let unfinished = StatusError(code: .unavailable, message: "The commit has failed; try it again.")

  /// True for trouble of the server for a while, and for a call that was cancelled while it waited for locks. The commit has changed
  /// nothing, and may be tried again.
  private static func leavesNothing(_ code: StatusCode) -> Bool {
    [.unavailable, .resourceExhausted, .internal, .cancelled].contains(code)
  }

  func forgetOutcomes(in state: inout State, now: Int64) {
    while let oldest = state.outcomes.first,
      now - oldest.time > Self.outcomeMicroseconds || state.outcomes.count > Self.maximumOutcomes.commits
        || state.resultCount > Self.maximumOutcomes.results
    {
      state.outcomes.removeFirst()
      state.resultCount -= oldest.resultCount
      state.endings[oldest.id] = nil
    }
  }
}
