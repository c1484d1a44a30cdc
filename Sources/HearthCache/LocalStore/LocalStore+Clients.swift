package import HearthModel
package import HearthStore

/// One of several clients of a cache.
///
/// Each has a row in the file, and one of them holds the lease: it alone has streams to the backend, and it alone may store what
/// comes from there. Every transaction that only the holder may do verifies the lease first.
extension LocalStore {
  /// The state of a client that shares its cache; part of ``State``, so that a failed transaction restores it.
  struct Membership {
    let client: ClientID
    /// The last notice that was read.
    var seen: Int64
    /// The last notice that the client's row says was read.
    var storedSeen: Int64
    /// The number under which this client holds the lease, as far as it knows; nil for a secondary client.
    var leaseNumber: Int64?
    var wantsNetwork = true
    var isVisible = false
    /// The turns with the lease that were of no use, as far as this client knows: others may have forgotten them.
    var futileTurns = 0
    /// The state of the file in the transaction that read it last, and the version of the file then.
    var sharing: ClientTable.Sharing
    var dataVersion: Int64
    /// SQLite's number of the tables for which their versions were read.
    var schemaVersion: Int64?
    /// The names of the other clients, as of the two numbers by which a change of them shows.
    var others: (count: Int64, highest: ClientID, names: [String])?
    /// The failure to read notices in the transaction that tried last. Until they are read, later ones must not count as read.
    var failure: (any Error)?
    /// Gathered and not yet taken.
    var news = News()
    /// True if notices were written since that was last asked.
    var hasTold = false

    var hasOthers: Bool { sharing.otherCount > 0 }
    /// True if this client holds the lease, as far as the file says.
    var holdsLease: Bool { leaseNumber == sharing.leaseNumber && sharing.leaseHolder == client }
  }

  // MARK: - The file

  /// The time that a transaction waits for another process that writes the file, about.
  package var busyTimeout: Duration { database.options.busyTimeout }

  /// Returns true if no other process holds the file, after waiting for at most this time.
  package func isFree(waitingAtMost duration: Duration) -> Bool {
    guard isShared else { return true }
    do {
      try database.waiting(atMost: duration) { try database.transaction("Look for free file") {} }
      return true
    } catch {
      // Any other error is that of the operation for which this was asked.
      return (error as? StoreError)?.kind != .unavailable
    }
  }

  // MARK: - Joining and leaving

  /// Enters this client among those of the cache. Part of the transaction that opens it.
  ///
  /// - Throws: `CacheError.otherBackend` if the others have another backend.
  func join(_ locks: any ClientLocks) throws {
    let repair = ClientRepair(self)
    if try repair.isNeededToJoin() { _ = try repair.run() }
    try removeDeadClients()
    let seen = try notices.lastNumber()
    let id = try clients.insert(name: locks.name, userKey: MutationQueue.userKey(state.user), seen: seen)
    let sharing = try clients.sharing(except: id)
    if sharing.otherCount == 0 {
      try clients.setBackend(backend)
      // The published states and the notices are of an earlier time.
      try clients.removeCurrentTargets()
      try notices.remove(upTo: .max, keepingAnswers: false)
    }
    let others = try clients.backend()
    guard others == backend else { throw CacheError.otherBackend(own: backend, others: others) }
    let news = state.membership?.news ?? News()
    state.membership = Membership(
      client: id, seen: seen, storedSeen: seen, sharing: sharing, dataVersion: try database.dataVersion)
    state.membership?.news = news
    try tell(.clients)
  }

  /// Takes this client from those of the cache, and gives the lease back. The others hear of it.
  package func leave() throws {
    defer { locks?.releaseLease() }
    guard state.membership != nil else { return }
    try transaction("Leave cache") {
      guard let member = state.membership else { return }
      try clients.remove(member.client)
      if member.holdsLease {
        try clients.setLease(number: member.sharing.leaseNumber, holder: 0, heir: 0, .unknown)
        try tell(.lease)
      }
      try tell(.clients)
      state.membership?.leaseNumber = nil
    }
  }

  /// Gives the lease back before this client stops for a while. It stays one of the clients.
  ///
  /// - Throws: What the transaction throws. The client goes on holding the lease then, unless that is lost.
  package func giveBackLease() throws {
    try transaction("Give back lease", needsLease: true) { try setLease(holder: 0) }
    leaseWasLost()
  }

  /// Goes on after a while in which the others may have taken this client for dead, and its targets for unused.
  ///
  /// - Parameter isWatched: True for a target in use that the backend is to be asked for.
  /// - Returns: The targets in use whose rows were removed, with those that have taken their place.
  package func rejoin(isWatched: (TargetID) -> Bool) throws -> [TargetID: TargetID] {
    guard let locks else { return [:] }
    return try transaction("Join cache") {
      guard let former = state.membership else { return [:] }
      if try clients.clients().contains(where: { $0.id == former.client }) { return [:] }
      try join(locks)
      state.membership?.news = former.news
      state.membership?.news.noteGap()
      guard let member = state.membership else { return [:] }
      let moved = try enter(Set(state.targets.keys), isWatched: isWatched)
      state.bundleTargets = try state.bundleTargets.filter { try targets.targetData($0) != nil }
      for target in state.bundleTargets { try clients.use(target, by: member.client, isWatched: false) }
      return moved
    }
  }

  /// Takes clients that have ended without leaving from those of the cache.
  private func removeDeadClients() throws {
    guard let locks else { return }
    for client in try clients.clients() where client.id != state.membership?.client && !locks.isAlive(client.name) {
      try clients.remove(client.id)
      try tell(.clients)
    }
  }

  /// Returns false when others have taken this client for dead.
  package func isMember() throws -> Bool {
    guard let member = state.membership else { return true }
    return try read("Look for client") { try clients.contains(member.client) }
  }

  /// The names of the other clients.
  package func otherClientNames() throws -> [String] {
    guard let member = state.membership else { return [] }
    let sharing = member.sharing
    if let known = member.others, known.count == sharing.otherCount, known.highest == sharing.highestClientID {
      return known.names
    }
    let names = try read("List clients") { try clients.clients().filter { $0.id != member.client }.map(\.name) }
    state.membership?.others = (sharing.otherCount, sharing.highestClientID, names)
    return names
  }

  /// The number of clients that have the cache open, this one included.
  package func clientCount() throws -> Int {
    try read("Count clients") { try clients.clients().count }
  }

  /// Asks all clients of a cache to give its folder back.
  package static func askAllToEnd(_ database: Database) throws {
    try database.transaction("Ask clients to end") {
      _ = try NoticeTable(database: database).insert(.end, from: 0)
    }
  }

  // MARK: - The lease

  /// True if this client may do what only the holder of the lease may, as far as it knows.
  package var isPrimary: Bool { state.membership.map { $0.leaseNumber != nil } ?? true }

  /// The number of the lease that this client holds, as far as it knows.
  package var leaseNumber: Int64? { state.membership?.leaseNumber }

  /// True if there may be other clients.
  package var isShared: Bool { state.membership != nil }
  package var hasOtherClients: Bool { state.membership?.hasOthers ?? false }

  /// The online state that the last holder of the lease has told; unknown if it has left the cache.
  package var sharedOnlineState: OnlineState { state.membership?.sharing.onlineState ?? .unknown }

  /// True if the file says that nobody holds the lease.
  package var leaseIsFree: Bool { state.membership?.sharing.leaseHolder == 0 }

  /// True if this client takes itself for the holder of the lease and the file says otherwise.
  package var leaseIsLost: Bool {
    guard let member = state.membership, member.leaseNumber != nil else { return false }
    return !member.holdsLease
  }

  package enum LeaseState {
    /// As before, and no other client had it since.
    case held
    case taken
    case notHeld
  }

  /// Stores what this client says of itself, and keeps, takes or gives back the lease.
  ///
  /// A holder keeps it while its network is wanted, or while no other client would be better. Another client takes it if the lock is
  /// free, and either it wants its network and is visible or the one to whom the lease was left, or no living client is better: one that
  /// wants its network is better than one that does not, then a visible one is better than a hidden one (firebase-js-sdk
  /// indexeddb_persistence.ts, canActAsPrimary).
  ///
  /// - Returns: Whether this client holds the lease now.
  package func updateClient(wantsNetwork: Bool, isVisible: Bool) throws -> LeaseState {
    guard let locks, state.membership != nil else { return .held }
    do {
      return try transaction("updateClientMetadataAndTryBecomePrimary") {
        guard let member = state.membership else { return .held }
        if member.wantsNetwork != wantsNetwork || member.isVisible != isVisible {
          try clients.update(member.client, wantsNetwork: wantsNetwork, isVisible: isVisible)
          state.membership?.wantsNetwork = wantsNetwork
          state.membership?.isVisible = isVisible
          try tell(.clients)
        }
        try removeDeadClients()
        try refreshSharing()
        if member.holdsLease {
          if try wantsNetwork || !isOutranked(locks) { return .held }
          try setLease(holder: 0, member.sharing.onlineState)
          state.membership?.leaseNumber = nil
          return .notHeld
        }
        state.membership?.leaseNumber = nil
        let isHeir = state.membership?.sharing.leaseHeir == member.client
        let mayTake = try wantsNetwork && (isVisible || isHeir) || !isOutranked(locks)
        guard mayTake, try locks.acquireLease() else { return .notHeld }
        if let heir = state.membership?.sharing.leaseHeir, heir != 0, !isHeir {
          try clients.noteTurn(of: heir, lease: member.sharing.leaseNumber, isFutile: false)
        }
        // No sum overflows: `sharing` holds plausible numbers only.
        let number = member.sharing.leaseNumber + 1
        try setLease(number: number, holder: member.client)
        state.membership?.leaseNumber = number
        try readActiveTargetsAgain()
        return .taken
      }
    } catch {
      if state.membership?.leaseNumber == nil { locks.releaseLease() }
      throw error
    }
  }

  /// True if ``updateClient(wantsNetwork:isVisible:)`` may change something. Writes nothing.
  package func roleMayChange(wantsNetwork: Bool, isVisible: Bool) throws -> Bool {
    guard let locks, let member = state.membership else { return false }
    // It could not be stored when it changed, and the others go by what the file says of this client.
    if member.wantsNetwork != wantsNetwork || member.isVisible != isVisible { return true }
    guard member.leaseNumber != nil else { return locks.leaseIsFree }
    if leaseIsLost || !wantsNetwork { return true }
    return try otherClientNames().contains { !locks.isAlive($0) }
  }

  /// This client finds out that it does not hold the lease any more.
  package func leaseWasLost() {
    state.membership?.leaseNumber = nil
    locks?.releaseLease()
  }

  func setLease(
    number: Int64? = nil, holder: ClientID, heir: ClientID = 0, _ online: OnlineState = .unknown
  ) throws {
    guard let sharing = state.membership?.sharing else { return }
    try clients.setLease(number: number ?? sharing.leaseNumber, holder: holder, heir: heir, online)
    try refreshSharing()
    try tell(.lease)
  }

  private func isOutranked(_ locks: any ClientLocks) throws -> Bool {
    guard let member = state.membership else { return false }
    return try clients.clients().contains { other in
      guard other.id != member.client else { return false }
      let hasBetterNetwork = !member.wantsNetwork && other.wantsNetwork
      let hasBetterVisibility =
        !member.isVisible && other.isVisible && member.wantsNetwork == other.wantsNetwork
      return (hasBetterNetwork || hasBetterVisibility) && locks.isAlive(other.name)
    }
  }

  // MARK: - Telling others

  /// Writes a notice, if anybody could read it. Part of the transaction that makes the change.
  func tell(_ notice: Notice) throws {
    guard let member = state.membership, member.hasOthers else { return }
    let number = try notices.insert(notice, from: member.client)
    if member.failure == nil { state.membership?.seen = number }
    state.membership?.hasTold = true
  }

  func tell(ofDocuments keys: some Sequence<DocumentKey>, user: MutationQueue.UserRow? = nil) throws {
    guard hasOtherClients else { return }
    for key in keys { try tell(.document(key, user: user)) }
  }

  /// Returns true if notices were written since the last call: the others must be woken.
  package func takeHasTold() -> Bool {
    defer { state.membership?.hasTold = false }
    return state.membership?.hasTold ?? false
  }

  /// Tells the others how far targets agree with the backend. Only the holder of the lease may.
  package func publish(_ states: [TargetID: TargetAgreement]) throws {
    guard hasOtherClients, !states.isEmpty else { return }
    try transaction("Publish target states", needsLease: true) {
      for (target, agreement) in states.sorted(by: { $0.key < $1.key }) {
        try clients.setAgreement(of: target, agreement)
        try tell(.targetState(target))
      }
    }
  }

  /// Forgets which targets agree with the backend, while there is nobody to be told.
  package func unpublish() throws {
    try transaction("Publish target states", needsLease: true) { try clients.removeCurrentTargets() }
  }

  /// Tells the others the online state. Only the holder of the lease may.
  package func publish(_ online: OnlineState) throws {
    guard let member = state.membership, member.hasOthers, member.sharing.onlineState != online else { return }
    try transaction("Publish online state", needsLease: true) { try setLease(holder: member.client, online) }
  }

  /// Asks whether the holder of the lease runs.
  package func askForSignOfLife() throws {
    try transaction("Ask for sign of life") { try tell(.question) }
  }

  package func giveSignOfLife() throws {
    try transaction("Give sign of life", needsLease: true) { try tell(.signOfLife) }
  }

  /// Tells the others that the backend has refused a target.
  package func publishRejection(of target: TargetID, _ error: StatusError) throws {
    guard hasOtherClients else { return }
    try transaction("Publish rejected target", needsLease: true) {
      try clients.setAgreement(of: target, .open)
      try clients.stopUsing(target)
      try tell(.targetRejected(target, error))
    }
  }

  // MARK: - Targets of others

  /// The targets that other clients use, and whether one of them wants the backend to be asked for it.
  package func targetsOfOthers() throws -> [TargetID: Bool] {
    guard let member = state.membership else { return [:] }
    return try read("Get targets of other clients") { try clients.targets(exceptOf: member.client) }
  }

  /// One state of everything that views show.
  package struct ViewState {
    /// The results of the queries, and the other documents that were asked for.
    package var documents: DocumentMap = [:]
    package var confirmedKeys: [TargetID: Set<DocumentKey>] = [:]
    /// How far the view of each target agrees with the backend, as the holder of the lease says.
    package var agreements: [TargetID: TargetAgreement] = [:]
  }

  /// Runs queries and reads documents and targets, all on one state of the file.
  package func state(
    of queries: [Query], on targetIDs: Set<TargetID>, showing keys: Set<DocumentKey>
  ) throws -> ViewState {
    try read("Synchronize views") {
      var state = ViewState()
      for query in queries {
        state.documents.merge(try execute(query, usePreviousResults: true).documents) { _, new in new }
      }
      let others = keys.filter { state.documents[$0] == nil }
      state.documents.merge(try localDocuments.localView(of: others, user: try userRow())) { _, new in new }
      for target in targetIDs {
        state.confirmedKeys[target] = try targets.keys(of: target)
        state.agreements[target] = try clients.agreement(of: target)
      }
      return state
    }
  }

  /// The failure to read the changes of other clients in the last transaction, once.
  package func takeCatchUpFailure() -> (any Error)? {
    defer { state.membership?.failure = nil }
    return state.membership?.failure
  }

  /// How far the view of the target at the holder of the lease agrees with the backend.
  package func agreement(of target: TargetID) throws -> TargetAgreement {
    guard isShared else { return .open }
    return try read("Get target state") { try clients.agreement(of: target) }
  }
}
