internal import HearthModel

/// Decides which commit waits for which transaction, and which transaction a commit ends: wound-wait (Rosenkrantz, Stearns and Lewis, 1978).
///
/// | the commit changes what an open transaction has read that is | then |
/// |---|---|
/// | older | the commit waits for the end of the transaction |
/// | younger | the transaction is ended, and its client has to try it again |
/// | expired | the transaction is ended |
///
/// Reads never wait, because nothing is changed before a commit. So a commit only waits for older transactions: a deadlock cannot form, and
/// the oldest transaction is never ended and never waits. A transaction that is tried again keeps its age, hence becomes the oldest.
///
/// A commit that waits ends no transaction. The younger ones in its way may be over when it goes on.
///
/// A value without clock or threads. Its user applies one commit after the other, and adds no read in between that it does not know.
struct WoundWait: Sendable {
  typealias ID = [UInt8]

  enum Decision: Equatable, Sendable {
    /// The commit may be applied, together with the end of these transactions.
    case proceed(Ended)
    /// The commit must be tried again when these transactions have ended.
    case wait(for: Set<ID>)
  }

  /// The transactions that a commit ends.
  struct Ended: Equatable, Sendable {
    var wounded: Set<ID> = []
    var expired: Set<ID> = []
  }

  private struct Reader {
    var seniority: Seniority
    var isExpired: Bool
  }

  private var readers: [ID: Reader] = [:]
  private var keyReaders: [DocumentKey: Set<ID>] = [:]
  /// By ``HearthModel/Query/changingCollectionID``.
  private var queryReaders: [String: [Query: Set<ID>]] = [:]

  /// True if no commit has to ask.
  var isEmpty: Bool { readers.isEmpty }

  // MARK: - Transactions

  /// Adds an open transaction.
  mutating func add(_ id: ID, _ seniority: Seniority, isExpired: Bool) {
    readers[id] = Reader(seniority: seniority, isExpired: isExpired)
  }

  /// Adds a document that a transaction has read.
  mutating func add(_ key: DocumentKey, readBy id: ID) {
    keyReaders[key, default: []].insert(id)
  }

  /// Adds a query that a transaction has read.
  mutating func add(_ query: Query, readBy id: ID) {
    queryReaders[query.changingCollectionID, default: [:]][query, default: []].insert(id)
  }

  /// Removes a transaction that has ended. Nobody waits for it any more.
  mutating func end(_ id: ID) { readers[id] = nil }

  // MARK: - Commits

  /// Decides on a commit.
  ///
  /// - Parameters:
  ///   - own: The transaction that the commit ends. It is not in its own way.
  ///   - seniority: The age of this transaction, or of the write.
  /// - Complexity: O(documents · queries of their collections).
  func decision(on transitions: [DocumentTransition], by own: ID?, _ seniority: Seniority) -> Decision {
    guard !isEmpty else { return .proceed(Ended()) }
    var (ended, older): (Ended, Set<ID>) = (Ended(), [])
    for id in readers(of: transitions) where id != own {
      guard let reader = readers[id] else { continue }
      if reader.isExpired {
        ended.expired.insert(id)
      } else if reader.seniority < seniority {
        older.insert(id)
      } else {
        ended.wounded.insert(id)
      }
    }
    return older.isEmpty ? .proceed(ended) : .wait(for: older)
  }

  private func readers(of transitions: [DocumentTransition]) -> Set<ID> {
    var found: Set<ID> = []
    for transition in transitions {
      found.formUnion(keyReaders[transition.key] ?? [])
      for collection in transition.key.queriedCollectionIDs {
        for (query, readers) in queryReaders[collection] ?? [:] where transition.concerns(query) {
          found.formUnion(readers)
        }
      }
    }
    return found
  }
}
