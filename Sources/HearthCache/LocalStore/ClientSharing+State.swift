internal import HearthModel
internal import HearthStore

/// The state of this client's role and of the other clients, as known without reading the file.
extension ClientSharing {
  /// True if this client may do what only the holder of the lease may, as far as it knows.
  var isPrimary: Bool { membership.map { $0.leaseNumber != nil } ?? true }

  /// True if another client has another user. Then each compares what it shows with the keys of the targets: a waiting write of the user at the
  /// holder of the lease hides there that a document is not in the result.
  var hasOtherUsers: Bool { membership?.sharing.hasOtherUsers ?? false }

  /// The online state that the last holder of the lease has told; unknown if it has left the cache.
  var onlineState: OnlineState { membership?.sharing.onlineState ?? .unknown }

  /// True if the file says that nobody holds the lease.
  var leaseIsFree: Bool { membership?.sharing.leaseHolder == 0 }

  /// True if this client takes itself for the holder of the lease and the file says otherwise.
  var leaseIsLost: Bool {
    guard let member = membership, member.leaseNumber != nil else { return false }
    return !member.holdsLease
  }

  /// True if the lease is free and was left to another client, which had better take it.
  var leaseIsLeftToOther: Bool {
    guard leaseIsFree, let member = membership else { return false }
    return member.sharing.leaseHeir != 0 && member.sharing.leaseHeir != member.client
  }

  /// True if others have counted a turn with the lease that this client did not take.
  var wasPassedOver: Bool { membership.map { $0.sharing.futileTurns > Int64($0.futileTurns) } ?? false }

  /// True if something was gathered that was not taken yet.
  var hasNews: Bool { membership.map { !$0.news.isEmpty } ?? false }

  /// True if it was gathered, and not taken, that clients came or went or want other targets.
  var hasNewsOfClients: Bool { membership?.news.concernsClients ?? false }

  /// True if other clients may have put batches into the outbox that ``takeNews()`` has not reported.
  var mayMissBatches: Bool { membership.map { $0.failure != nil || $0.news.hasNewBatches } ?? false }
}
