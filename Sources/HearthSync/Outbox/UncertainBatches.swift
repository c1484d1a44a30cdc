internal import HearthCache
internal import HearthModel

/// The batches that were sent and not answered, so that the backend may have carried them out.
struct UncertainBatches {
  private var unanswered: Set<BatchID> = []
  /// The last batch that a former process, or another client before this one had the connection, may have sent. Batches up to it are
  /// uncertain until they are settled.
  private var inherited: BatchID = 0
  /// The batches that are not at the backend, unless an attempt since then was not answered.
  private var settled: Set<BatchID> = []
  private var user: (name: String?, isKnown: Bool) = (nil, false)

  /// True as long as it is not known how much of the user's outbox was sent before.
  func isNew(to name: String?) -> Bool { !user.isKnown || !LocalStore.isSameUser(user.name, name) }

  /// - Parameter through: The last batch of the user that may have been sent before.
  mutating func begin(through batchID: BatchID, of name: String?) {
    user = (name, true)
    inherited = batchID
  }

  mutating func insert(_ batches: [BatchID]) {
    unanswered.formUnion(batches)
    settled.subtract(batches)
  }

  /// It is not at the backend, and what is sent from now on is another attempt.
  mutating func settle(_ batchID: BatchID) {
    unanswered.remove(batchID)
    settled.insert(batchID)
  }

  /// The batch was answered, and with it everything before it: nobody asks for them any more.
  mutating func answered(through batchID: BatchID) {
    guard !unanswered.isEmpty || !settled.isEmpty else { return }
    unanswered = unanswered.filter { $0 > batchID }
    settled = settled.filter { $0 > batchID }
    inherited = batchID >= inherited ? 0 : inherited
  }

  /// The number of batches that are remembered one by one.
  var count: Int { unanswered.count + settled.count }

  func contains(_ batchID: BatchID) -> Bool {
    unanswered.contains(batchID) || batchID <= inherited && !settled.contains(batchID)
  }
}
