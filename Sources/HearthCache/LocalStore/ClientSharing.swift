internal import HearthModel
internal import HearthStore

/// The part of this client in sharing its cache: its row, the notices that it reads and writes, and its knowledge of the lease.
///
/// Each client has a row in the file, and one of them holds the lease. Only the holder has streams to the backend and may store what comes
/// from there. Methods that read or write the tables run inside a transaction. If it fails, it restores the memory.
final class ClientSharing {
  /// The memory of a client that shares its cache. Restored to its former value when a transaction fails.
  struct Membership {
    let client: ClientID
    /// The last notice that was read.
    fileprivate(set) var seen: Int64
    /// The last notice that the client's row says was read.
    fileprivate(set) var storedSeen: Int64
    /// The number under which this client holds the lease, as far as it knows; nil for a secondary client.
    fileprivate(set) var leaseNumber: Int64?
    fileprivate(set) var wantsNetwork = true
    fileprivate(set) var isVisible = false
    /// The turns with the lease that were of no use, as far as this client knows. Others may have counted some that it did not take.
    fileprivate(set) var futileTurns = 0
    /// The state of the file in the transaction that read it last, and the version of the file then.
    fileprivate(set) var sharing: ClientTable.Sharing
    fileprivate(set) var dataVersion: Int64
    /// SQLite's number of the tables for which their versions were read.
    fileprivate(set) var schemaVersion: Int64?
    /// The names of the other clients, as of the two numbers by which a change of them shows.
    fileprivate(set) var others: (count: Int64, highest: ClientID, names: [String])?
    /// The failure to read notices in the transaction that tried last. Until they are read, later ones must not count as read.
    fileprivate(set) var failure: (any Error)?
    /// Gathered and not yet taken.
    fileprivate(set) var news = News()
    /// True if notices were written since that was last asked.
    fileprivate(set) var hasTold = false

    /// True if this client holds the lease, as far as the file says.
    var holdsLease: Bool { leaseNumber == sharing.leaseNumber && sharing.leaseHolder == client }
  }

  let clients: ClientTable
  let notices: NoticeTable
  /// Nil for the only client that a cache can have.
  let locks: (any ClientLocks)?
  /// The backend of this client, for the others.
  let backend: String
  /// Nil for the only client that a cache can have.
  private(set) var membership: Membership?

  init(in tables: CacheTables, locks: (any ClientLocks)?, backend: String) {
    clients = tables.clients
    notices = tables.notices
    self.locks = locks
    self.backend = backend
  }

  private var database: Database { clients.database }

  func goBack(to former: Membership?) { membership = former }

  /// True if there may be other clients.
  var isShared: Bool { membership != nil }
  var hasOthers: Bool { membership.map { $0.sharing.otherCount > 0 } ?? false }

  // MARK: - The file

  /// Takes note of the version of the file, at the start of a transaction.
  ///
  /// - Parameter checkVersions: Called if any table is another one than before.
  /// - Returns: True if another client has changed the file.
  func takeFileVersion(checkVersions: () throws -> Void) throws -> Bool {
    guard let member = membership else { return false }
    let version = try database.dataVersion
    guard version != member.dataVersion else { return false }
    let schemaVersion = try database.schemaVersion
    if schemaVersion != member.schemaVersion {
      try checkVersions()
      membership?.schemaVersion = schemaVersion
    }
    membership?.dataVersion = version
    return true
  }

  /// Reads the row about all clients again.
  ///
  /// - Throws: `CacheError.otherBackend` if others have taken this client for dead, and used the file with another backend.
  func refresh() throws {
    guard let member = membership else { return }
    let sharing = try clients.sharing(except: member.client)
    guard sharing.backend == backend else { throw CacheError.otherBackend(own: backend, others: sharing.backend) }
    membership?.sharing = sharing
    // Others may have forgotten some.
    membership?.futileTurns = min(member.futileTurns, Int(clamping: sharing.futileTurns))
  }

  // MARK: - Notices of others

  /// Keeps news that were gathered, up to this notice.
  func noteNews(_ news: News, through last: Int64) {
    membership?.news = news
    membership?.seen = last
  }

  /// Notes whether the notices could be read. After a failure they are read again in the next transaction.
  func noteCatchUp(_ result: Result<Void, any Error>) {
    membership?.failure = nil
    guard case .failure(let error) = result else { return }
    membership?.failure = error
    membership?.dataVersion = -1
  }

  /// The failure to read the changes of other clients in the last transaction, once.
  func takeFailure() -> (any Error)? {
    defer { membership?.failure = nil }
    return membership?.failure
  }

  /// Returns what was gathered since the last call.
  func takeNews() -> News {
    guard let news = membership?.news, !news.isEmpty else { return News() }
    membership?.news = News()
    return news
  }

  /// Stores in the client's row which notices it has read, and removes those that nobody has to read any more.
  func storeSeen(_ limits: LocalStore.NoticeLimits) throws {
    guard let member = membership else { return }
    try clients.update(member.client, seen: member.seen)
    membership?.storedSeen = member.seen
    let last = try notices.lastNumber()
    let lowest = try clients.lowestSeen() ?? last
    try notices.remove(upTo: lowest, keepingAnswers: false)
    let overdue = last - limits.waiting
    guard overdue > lowest else { return }
    // Callers of writes wait for the answers; for all else reading again is as good. Up to the last mark only answers are left.
    try notices.remove(after: member.sharing.trimmedThrough, upTo: overdue, keepingAnswers: true)
    try notices.remove(upTo: last - limits.waitingAnswers, keepingAnswers: false)
    try clients.setTrimmed(through: overdue)
  }

  // MARK: - Telling others

  /// Writes a notice, if anybody could read it. Part of the transaction that makes the change.
  func tell(_ notice: Notice) throws {
    guard let member = membership, hasOthers else { return }
    let number = try notices.insert(notice, from: member.client)
    if member.failure == nil { membership?.seen = number }
    membership?.hasTold = true
  }

  /// Returns true if notices were written since the last call: the others must be woken.
  func takeHasTold() -> Bool {
    defer { membership?.hasTold = false }
    return membership?.hasTold ?? false
  }

  // MARK: - Joining and leaving

  /// Enters this client among those of the cache. Part of the transaction that opens it.
  ///
  /// - Throws: `CacheError.otherBackend` if the others have another backend.
  func join(userKey: String) throws {
    guard let locks else { return }
    let repair = ClientRepair(self)
    if try repair.isNeededToJoin() { _ = try repair.run() }
    try removeDeadClients()
    let seen = try notices.lastNumber()
    let id = try clients.insert(name: locks.name, userKey: userKey, seen: seen)
    var sharing = try clients.sharing(except: id)
    if sharing.otherCount == 0 {
      try clients.setBackend(backend)
      sharing.backend = backend
      // The published states and the notices are of an earlier time.
      try clients.removeCurrentTargets()
      try notices.remove(upTo: .max, keepingAnswers: false)
    }
    guard sharing.backend == backend else {
      throw CacheError.otherBackend(own: backend, others: sharing.backend)
    }
    let news = membership?.news ?? News()
    membership = Membership(
      client: id, seen: seen, storedSeen: seen, sharing: sharing, dataVersion: try database.dataVersion)
    membership?.news = news
    try tell(.clients)
  }

  /// Joins again if the others have taken this client for dead.
  ///
  /// - Returns: False if they have not.
  func rejoin(userKey: String) throws -> Bool {
    guard let former = membership else { return false }
    if try clients.clients().contains(where: { $0.id == former.client }) { return false }
    try join(userKey: userKey)
    membership?.news = former.news
    membership?.news.noteGap()
    return true
  }

  /// Takes this client from those of the cache, and gives the lease back. The others hear of it.
  func leave() throws {
    guard let member = membership else { return }
    try clients.remove(member.client)
    if member.holdsLease {
      try clients.setLease(number: member.sharing.leaseNumber, holder: 0, heir: 0, .unknown)
      try tell(.lease)
    }
    try tell(.clients)
    membership?.leaseNumber = nil
  }

  /// Another user is active.
  func userChanged(key: String) throws {
    guard let member = membership else { return }
    try clients.update(member.client, userKey: key)
    try refresh()
    try tell(.clients)
  }

  /// Takes clients that have ended without leaving from those of the cache.
  private func removeDeadClients() throws {
    guard let locks else { return }
    for client in try clients.clients() where client.id != membership?.client && !locks.isAlive(client.name) {
      try clients.remove(client.id)
      try tell(.clients)
    }
  }

  /// The names of the other clients as they were read last; nil if they have changed since, or may have.
  var knownNamesOfOthers: [String]? {
    guard let member = membership else { return [] }
    let sharing = member.sharing
    guard let known = member.others, known.count == sharing.otherCount, known.highest == sharing.highestClientID else {
      return nil
    }
    return known.names
  }

  /// Keeps the names of the other clients as they have just been read.
  ///
  /// - Parameter former: The state when the reading began.
  func noteNamesOfOthers(_ names: [String], asOf former: Membership) {
    membership?.others = (former.sharing.otherCount, former.sharing.highestClientID, names)
  }

  // MARK: - The lease

  /// - Throws: `CacheError.leaseLost` unless this client holds the lease, or is the only one that the cache can have.
  func checkLease() throws {
    guard let member = membership, !member.holdsLease else { return }
    throw CacheError.leaseLost(held: member.leaseNumber, current: member.sharing.leaseNumber)
  }

  func setLease(
    number: Int64? = nil, holder: ClientID, heir: ClientID = 0, _ online: OnlineState = .unknown
  ) throws {
    guard let sharing = membership?.sharing else { return }
    try clients.setLease(number: number ?? sharing.leaseNumber, holder: holder, heir: heir, online)
    try refresh()
    try tell(.lease)
  }

  /// Part of ``LocalStore/updateClient(wantsNetwork:isVisible:)``.
  ///
  /// - Parameter locks: The locks of this client.
  func update(wantsNetwork: Bool, isVisible: Bool, _ locks: any ClientLocks) throws -> LocalStore.LeaseState {
    guard let member = membership else { return .held }
    if member.wantsNetwork != wantsNetwork || member.isVisible != isVisible {
      try clients.update(member.client, wantsNetwork: wantsNetwork, isVisible: isVisible)
      membership?.wantsNetwork = wantsNetwork
      membership?.isVisible = isVisible
      try tell(.clients)
    }
    try removeDeadClients()
    try refresh()
    if member.holdsLease {
      if try wantsNetwork || !isOutranked(locks) { return .held }
      try setLease(holder: 0, member.sharing.onlineState)
      membership?.leaseNumber = nil
      return .notHeld
    }
    membership?.leaseNumber = nil
    let isHeir = membership?.sharing.leaseHeir == member.client
    let mayTake = try wantsNetwork && (isVisible || isHeir) || !isOutranked(locks)
    guard mayTake, try locks.acquireLease() else { return .notHeld }
    if let heir = membership?.sharing.leaseHeir, heir != 0, !isHeir {
      // It may be stopped. If it runs, it forgets this at its next look.
      try clients.noteTurn(of: heir, lease: member.sharing.leaseNumber)
    }
    // No sum overflows: `sharing` holds plausible numbers only.
    let number = member.sharing.leaseNumber + 1
    try setLease(number: number, holder: member.client)
    membership?.leaseNumber = number
    return .taken
  }

  private func isOutranked(_ locks: any ClientLocks) throws -> Bool {
    guard let member = membership else { return false }
    return try clients.clients().contains { other in
      guard other.id != member.client else { return false }
      let hasBetterNetwork = !member.wantsNetwork && other.wantsNetwork
      let hasBetterVisibility =
        !member.isVisible && other.isVisible && member.wantsNetwork == other.wantsNetwork
      return (hasBetterNetwork || hasBetterVisibility) && locks.isAlive(other.name)
    }
  }

  /// This client finds out that it does not hold the lease any more.
  func leaseWasLost() {
    membership?.leaseNumber = nil
    locks?.releaseLease()
  }

  /// Gives the lock of the lease back that a failed transaction may have taken.
  func releaseLockOfFailedUpdate() {
    if membership?.leaseNumber == nil { locks?.releaseLease() }
  }

  // MARK: - Turns with the lease

  /// Leaves the lease to another client, whose turn it is now. ``leaseWasLost()`` has to follow the commit.
  ///
  /// - Parameter isFutile: True if this client's turn was of no use.
  func leaveLease(to heir: ClientID, isFutile: Bool) throws {
    if isFutile, let member = membership {
      try clients.noteTurn(of: member.client, lease: member.sharing.leaseNumber)
      membership?.futileTurns = min(member.futileTurns, 62) + 1
    }
    try setLease(holder: 0, heir: heir)
  }

  /// Forgets the futile turns of this client, or of all.
  func forgetFutileTurns(ofAll: Bool) throws {
    guard let member = membership else { return }
    try clients.forgetFutileTurns(of: ofAll ? nil : member.client)
    membership?.futileTurns = 0
    try refresh()
  }

  // MARK: - Assertions

  /// Checks what holds between transactions, in debug builds only. The lease's state in the file is not checked.
  func assertInvariants() {
    guard let member = membership else { return }
    assert(locks != nil, "client \(member.client) shares a cache without locks")
    assert(member.client > 0, "\(member.client) is not the number of a client")
    assert((0...63).contains(member.futileTurns), "\(member.futileTurns) futile turns were counted")
  }
}
