internal import HearthModel

/// The reads of optimistic transactions, see ``ReadCheck``.
extension EmbeddedStorage {
  /// Checks the reads of a transaction up to the present, outside the writer. The writer then only has to check later changes.
  ///
  /// - Throws: ABORTED if something has changed, or if the check takes too long.
  nonisolated func checkReads(of attempt: inout CommitAttempt) async throws(StatusError) {
    guard let check = attempt.check else { return }
    var (verdict, rest) = (ReadCheck.Verdict.unfinished, check)
    while verdict == .unfinished { (verdict, rest) = try await checkPiece(rest) }
    guard verdict == .holds else { throw StatusError.transactionConflict }
    attempt.check = rest
  }

  /// Each piece is a read of its own, so that the only connection of a database in memory is held for a moment at a time.
  private nonisolated func checkPiece(
    _ check: ReadCheck
  ) async throws(StatusError) -> (ReadCheck.Verdict, ReadCheck) {
    try await reading("check reads") { snapshot in
      var rest = check
      return (try rest.checkPiece(in: snapshot), rest)
    }
  }
}
