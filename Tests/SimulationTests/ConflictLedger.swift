import HearthModel

/// The mutations that were sent for each edit's batch, and the number of times that the backend has committed it.
struct ConflictLedger {
  private struct Batch {
    /// The mutations that were sent last; nil if none were.
    var sent: [Mutation]?
    /// True if the client has heard since then that the backend has refused it.
    var isRefused = false
    var commitCount = 0
    /// True if it counts one up in the counter.
    var counts = false
    /// True if a user has taken it back although it may have been sent.
    var isGivenUp = false
    /// The outcome that its caller was told.
    var ending: Ending?
  }

  private enum Ending {
    case committed, failed
  }

  static let counter = (try? DocumentKey(ResourcePath(["counters", "n"])))!

  private var batches: [BatchIdentity: Batch] = [:]
  /// The first violation that was found.
  private(set) var problem: String?

  mutating func wrote(_ identity: BatchIdentity, _ mutations: [Mutation]) {
    batches[identity] = Batch(counts: mutations.contains { $0.key == Self.counter })
  }

  /// A batch goes out: with what it went out with before, unless the backend has refused that.
  mutating func sent(_ identity: BatchIdentity, _ mutations: [Mutation]) {
    guard let batch = batches[identity] else { return note("a batch \(identity) was sent that nobody has written") }
    if let sent = batch.sent, sent != mutations, !batch.isRefused {
      note("a batch was sent as \(sent), and again as \(mutations)")
    }
    if batch.ending == .failed, !batch.isGivenUp {
      note("\(mutations) were sent after their caller heard that they failed")
    }
    batches[identity]?.sent = mutations
    batches[identity]?.isRefused = false
  }

  mutating func committed(_ identity: BatchIdentity) {
    batches[identity]?.commitCount += 1
    if let batch = batches[identity], batch.commitCount > 1 { note("\(batch.sent ?? []) were committed twice") }
  }

  /// The client hears that the backend has refused what was sent.
  mutating func refused(_ identity: BatchIdentity) {
    batches[identity]?.isRefused = true
  }

  /// The batch has left its outbox because a user did not want it any more.
  mutating func withdrawn(_ identity: BatchIdentity, evenIfSent: Bool) {
    if evenIfSent {
      batches[identity]?.isGivenUp = true
    } else if batches[identity]?.sent != nil {
      note("a batch was taken back as one that was never sent, but it was")
    }
    batches[identity]?.ending = .failed
  }

  mutating func ended(_ identity: BatchIdentity, isCommitted: Bool) {
    batches[identity]?.ending = isCommitted ? .committed : .failed
  }

  /// Everything was sent that waited anywhere: each increment counts once whose caller did not hear of a failure.
  ///
  /// - Parameter counter: The counter's value at the backend.
  mutating func checkEnd(_ counter: Int64) {
    let counting = batches.values.filter(\.counts)
    let certain = counting.count { $0.ending != .failed }
    let possible = counting.count { $0.ending != .failed || $0.isGivenUp }
    if !(certain...possible).contains(Int(counter)) {
      note("the counter is \(counter) after \(certain) increments, and \(possible - certain) that were given up")
    }
  }

  private mutating func note(_ text: String) {
    problem = problem ?? text
  }
}
