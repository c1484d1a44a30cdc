internal import HearthModel

extension SyncEngine {
  /// Keeps the questions of the open conflict while another client has the lease.
  func parkConflict() {
    guard let open = conflicts.open, let parked = ParkedConflict(open) else { return }
    dropParkedConflict()
    conflicts.parked = parked
    conflicts.open = nil
    statusWatch.outboxChanges()
  }

  /// Goes on with the questions that were asked before, if they are the same as those of a conflict that was found now.
  ///
  /// - Returns: False if the application has to be asked.
  func takeUpParkedConflict(for open: OpenConflict) -> Bool {
    guard let parked = conflicts.parked else { return false }
    guard parked.isAbout(open) else {
      dropParkedConflict()
      return false
    }
    conflicts.parked = nil
    conflicts.open = parked.conflict
    // What was read now is stored with the answers: others may have written the document in between, and deleted it again. And writes behind
    // this one may have been made or cancelled.
    conflicts.open?.remote = open.remote
    conflicts.open?.bases = open.bases
    statusWatch.outboxChanges()
    for answer in parked.answers { conflictAnswered(answer.id, answer.result) }
    return true
  }

  /// Keeps an answer that comes while another client has the lease. After the last one this client asks for its turn.
  ///
  /// - Returns: False if the question is none of a parked conflict.
  func parkAnswer(_ id: ConflictID, _ result: Result<ConflictAnswer, StatusError>) -> Bool {
    guard conflicts.parked?.questions.remove(id) != nil else { return false }
    conflicts.parked?.answers.append((id, result))
    if conflicts.parked?.questions.isEmpty == true { forgetFutileTurns() }
    return true
  }

  /// Tells the application that nothing depends on its answers any more.
  func dropParkedConflict() {
    guard let parked = conflicts.parked else { return }
    emit(parked.questions.sorted { $0.rawValue < $1.rawValue }.map { .cancelQuestion($0) })
    conflicts.parked = nil
    statusWatch.outboxChanges()
  }
}
