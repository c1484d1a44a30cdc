internal import HearthModel
internal import HearthTransport

/// Sends batches of writes until each write is applied or refused.
struct BatchSending: Sendable {
  var backend: DataBackend
  var conflictRule: DataImport.ConflictRule
  /// True to send a batch as one commit at first, which is faster for a server on this machine.
  var prefersCommits: Bool
  /// True if documents of this import may be there already, because it was interrupted.
  var mayHaveBegun: Bool

  struct Outcome: Sendable {
    var written = 0
    var skipped = 0
    /// Failures because a document exists.
    var conflicts = 0
    var failures: [ImportFailure] = []
  }

  /// The precondition that a rule needs.
  static func precondition(_ rule: DataImport.ConflictRule) -> Precondition {
    rule == .overwrite ? .none : .exists(false)
  }

  /// - Throws: A ``DataError`` if the backend cannot be reached, `CancellationError`.
  func send(_ writes: [ParsedBatch.Write], isFirst: Bool) async throws -> Outcome {
    var outcome = Outcome()
    guard !writes.isEmpty else { return outcome }
    if prefersCommits, conflictRule == .overwrite, try await commit(writes, isFirst: isFirst) {
      outcome.written = writes.count
      return outcome
    }
    var waiting = writes
    var isRepeated = mayHaveBegun
    // Each round sends what failed for a passing reason in the one before.
    for round in 1... {
      let sent = waiting
      let attempts = Attempts()
      let results = try await answers(sent, isFirst: isFirst && round == 1, isWhole: true, attempts)
      isRepeated = isRepeated || attempts.count > 1
      waiting = []
      for (write, error) in zip(sent, results) {
        switch error {
        case nil: outcome.written += 1
        case let error? where isConflict(error): try await resolve(write, isRepeated, &outcome)
        case let error? where error.isPassing && round < Self.rounds: waiting.append(write)
        case let error?:
          outcome.failures.append(
            ImportFailure(
              position: write.position, column: nil,
              message: "document \"\(write.mutation.key)\" was refused: \(error)"))
        }
      }
      if waiting.isEmpty { break }
      isRepeated = true
      try await Task.sleep(for: .milliseconds(100 << min(round, 8)))
    }
    return outcome
  }

  private static let rounds = 10

  /// The reason for each write that was refused.
  ///
  /// A backend may refuse a whole request for one document that breaks a rule. Its halves are then sent by themselves, until the document
  /// is alone.
  private func answers(
    _ writes: [ParsedBatch.Write], isFirst: Bool, isWhole: Bool, _ attempts: Attempts
  ) async throws -> [StatusError?] {
    let results: [StatusError?]? = try await backend.retrying("Writing", isFirstContact: isFirst) {
      () async throws(StatusError) in
      attempts.count += 1
      do throws(StatusError) {
        return try await backend.transport.batchWrite(writes.map(\.mutation))
      } catch {
        guard error.mayConcernOneWrite else { throw error }
        if isWhole, await isRefusedWithoutWrites(error) { throw error }
        return writes.count == 1 ? [error] : nil
      }
    }
    if let results { return results }
    let middle = writes.count / 2
    return try await answers(Array(writes[..<middle]), isFirst: false, isWhole: false, attempts)
      + answers(Array(writes[middle...]), isFirst: false, isWhole: false, attempts)
  }

  /// True if a request without any write is refused for the same reason, such as a token that is none.
  private func isRefusedWithoutWrites(_ error: StatusError) async -> Bool {
    do throws(StatusError) {
      _ = try await backend.transport.batchWrite([])
      return false
    } catch let other {
      return other.code == error.code && other.message == error.message
    }
  }

  /// Counts the attempts of a call; used by one task.
  private final class Attempts {
    var count = 0
  }

  /// - Returns: False if the backend refuses the batch, which may be for one of its documents.
  private func commit(_ writes: [ParsedBatch.Write], isFirst: Bool) async throws -> Bool {
    try await backend.retrying("Writing", isFirstContact: isFirst) { () async throws(StatusError) in
      do throws(StatusError) {
        _ = try await backend.transport.commit(writes.map(\.mutation))
        return true
      } catch {
        guard !error.isPassing else { throw error }
        return false
      }
    }
  }

  private func isConflict(_ error: StatusError) -> Bool {
    conflictRule != .overwrite && (error.code == .alreadyExists || error.code == .failedPrecondition)
  }

  /// A document that exists is skipped, or refused unless an earlier attempt of this import has written it.
  private func resolve(_ write: ParsedBatch.Write, _ isRepeated: Bool, _ outcome: inout Outcome) async throws {
    if isRepeated, case .set(let fields) = write.mutation.operation {
      let key = write.mutation.key
      let found = try await backend.retrying("Reading \"\(key)\"") { () async throws(StatusError) in
        try await backend.transport.batchGetDocuments([key])
      }
      if let document = found.first, document.isFound, document.fields == fields {
        outcome.written += 1
        return
      }
    }
    guard conflictRule == .fail else {
      outcome.skipped += 1
      return
    }
    outcome.conflicts += 1
    outcome.failures.append(
      ImportFailure(
        position: write.position, column: nil,
        message: "document \"\(write.mutation.key)\" exists already, and --on-conflict is fail"))
  }
}

extension StatusError {
  /// True if the reason may be in one of the request's documents.
  fileprivate var mayConcernOneWrite: Bool {
    switch code {
    case .invalidArgument, .outOfRange, .failedPrecondition, .notFound, .alreadyExists: true
    default: false
    }
  }
}
