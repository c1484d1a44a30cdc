package import HearthModel
internal import HearthStore

/// The changes of other clients.
extension LocalStore {
  /// The numbers of notices that are kept; smaller in tests.
  package struct NoticeLimits: Sendable {
    /// After this many read notices a client's row is brought up to date, so that they can be removed.
    package var betweenMarks: Int64
    /// This many may wait for a client that does not read them. It then has to read everything again.
    package var waiting: Int64
    /// Answers to batches among them are kept for this many. Behind it that client has to look its batches up, too.
    package var waitingAnswers: Int64

    package init(betweenMarks: Int64 = 256, waiting: Int64 = 50_000, waitingAnswers: Int64 = 200_000) {
      self.betweenMarks = betweenMarks
      self.waiting = waiting
      self.waitingAnswers = waitingAnswers
    }
  }

  /// Gathers what other clients have changed, and makes notices removable.
  package func catchUp() throws {
    guard sharing.isShared else { return }
    try transactions.read("Read notices") {
      if let failure = sharing.takeFailure() { throw failure }
    }
    guard let member = sharing.membership, member.seen - member.storedSeen >= noticeLimits.betweenMarks else { return }
    try transactions.run("Note read notices") { try sharing.storeSeen(noticeLimits) }
  }

  /// Returns what was gathered since the last call.
  package func takeNews() -> News { sharing.takeNews() }

  /// The failure to read the changes of other clients in the last transaction, once.
  package func takeCatchUpFailure() -> (any Error)? { sharing.takeFailure() }

  /// Changes when another client was found to have changed the file.
  package var fileVersion: Int64 { sharing.membership?.dataVersion ?? 0 }

  /// True if something was gathered that was not taken yet.
  package var hasNews: Bool { sharing.hasNews }

  /// True if other clients may have put batches into the outbox that ``takeNews()`` has not reported.
  package var mayMissBatches: Bool { sharing.mayMissBatches }

  /// One state of everything that views show.
  package struct ViewState {
    /// The results of the queries, and the other documents that were asked for.
    package var documents: DocumentMap = [:]
    package var confirmedKeys: [TargetID: Set<DocumentKey>] = [:]
    /// The agreement of each target's view with the backend, as the holder of the lease reports it.
    package var agreements: [TargetID: TargetAgreement] = [:]
  }

  /// Runs queries and reads documents and targets, all on one state of the file.
  package func state(
    of queries: [Query], on targetIDs: Set<TargetID>, showing keys: Set<DocumentKey>
  ) throws -> ViewState {
    try transactions.read("Synchronize views") {
      var state = ViewState()
      for query in queries {
        state.documents.merge(try execute(query, usePreviousResults: true).documents) { _, new in new }
      }
      let others = keys.filter { state.documents[$0] == nil }
      state.documents.merge(try tables.localDocuments.localView(of: others, user: transactions.user.row())) { _, new in
        new
      }
      for target in targetIDs {
        state.confirmedKeys[target] = try tables.targets.keys(of: target)
        state.agreements[target] = try sharing.agreement(of: target)
      }
      return state
    }
  }
}
