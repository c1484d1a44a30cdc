internal import HearthStore

/// Clients of other users. Only a client of its user sends an outbox, so the lease goes round among the users whose outboxes wait.
extension LocalStore {
  /// The client to whom the lease is to be left next: one of another user whose outbox waits, living and with its network wanted.
  ///
  /// - Returns: Nil if no other user waits.
  package func nextLeaseHeir() throws -> ClientID? {
    guard let locks, let member = state.membership, member.hasOthers else { return nil }
    let userKey = MutationQueue.userKey(state.user)
    let waiting = try read("Look for waiting users") {
      try clients.clients().filter {
        try $0.userKey != userKey && $0.wantsNetwork && queue.hasPendingBatches(userKey: $0.userKey)
      }
    }
    let living = waiting.filter { locks.isAlive($0.name) }
    // Round and round, in the order of the ids.
    return (living.first { $0.id > member.client } ?? living.first)?.id
  }

  /// Leaves the lease to another client, whose turn it is now.
  package func leaveLease(to heir: ClientID) throws {
    defer { leaseWasLost() }
    try transaction("Leave lease", needsLease: true) { try setLease(holder: 0, heir: heir) }
  }

  /// True if the lease is free and was left to another client, which had better take it.
  package var leaseIsLeftToOther: Bool {
    guard leaseIsFree, let member = state.membership else { return false }
    return member.sharing.leaseHeir != 0 && member.sharing.leaseHeir != member.client
  }
}
