internal import HearthCache
internal import HearthModel

/// A conflict whose questions the application has not answered yet, while another client has the lease.
///
/// A question to a person may take minutes, and a turn of the lease takes seconds. So the questions stay open, and answers are kept until
/// this client sends the outbox again. They count if the conflict is still the same one then.
struct ParkedConflict {
  var conflict: OpenConflict
  /// The questions without an answer.
  var questions: Set<ConflictID>
  var answers: [(id: ConflictID, result: Result<ConflictAnswer, StatusError>)] = []

  /// Nil if the conflict does not wait for the application.
  init?(_ conflict: OpenConflict) {
    guard case .asking(let questions) = conflict.stage else { return nil }
    self.conflict = conflict
    self.questions = Set(questions.keys)
  }

  /// Returns true if the application would be asked the same as before.
  func isAbout(_ other: OpenConflict) -> Bool {
    conflict.batch == other.batch && LocalStore.isSameUser(conflict.owner, other.owner)
      && conflict.bases.bases.mapValues(\.document) == other.bases.bases.mapValues(\.document)
      && other.bases.bases.keys.allSatisfy { conflict.remote[$0] == other.remote[$0] }
  }
}
