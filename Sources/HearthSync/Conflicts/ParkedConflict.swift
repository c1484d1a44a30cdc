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
    let (bases, otherBases) = (conflict.bases.bases, other.bases.bases)
    return conflict.batch == other.batch && LocalStore.isSameUser(conflict.owner, other.owner)
      && bases.count == otherBases.count
      && otherBases.allSatisfy { key, base in
        Self.isSame(bases[key]?.document, base.document) && bases[key]?.shown == base.shown
          && Self.isSame(conflict.remote[key], other.remote[key])
      }
  }

  /// Returns true if nobody has written a document between two readings. One that does not exist has the time of its reading as its version.
  private static func isSame(_ first: Document?, _ second: Document?) -> Bool {
    guard let first, let second, first.isMissing, second.isMissing else { return first == second }
    return true
  }
}
