internal import HearthModel
internal import HearthStore

/// Repairs the tables with which clients share a cache. All their contents can be rebuilt.
struct ClientRepair {
  private let sharing: ClientSharing
  private let database: Database

  /// Numbers of notices and clients go on this far behind the largest ones that can be read: those that a living client knows are smaller.
  private static let gap: Int64 = 1 << 20

  init(_ sharing: ClientSharing) {
    self.sharing = sharing
    database = sharing.clients.database
  }

  /// Returns whether something that every client reads when it joins cannot be read, or is a number that nothing can be counted from.
  func isNeededToJoin() throws -> Bool {
    try isDamage {
      _ = try sharing.clients.sharing(except: 0)
      _ = try sharing.clients.backend()
      _ = try sharing.clients.clients()
      _ = try sharing.clients.lowestSeen()
      _ = try sharing.notices.lastNumber()
    }
  }

  /// Returns whether anything in the tables cannot be read. Reads all of them.
  func isNeeded() throws -> Bool {
    if try isNeededToJoin() { return true }
    return try isDamage {
      _ = try sharing.clients.targets(exceptOf: 0)
      _ = try sharing.clients.followedTargets()
      try sharing.notices.forEach(after: 0, exceptFrom: 0) { _ in }
    }
  }

  private func isDamage(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return false
    } catch CacheError.corruptRecord {
      return true
    } catch let error as StoreError where error.kind == .corrupt && error.sqliteCode == 0 {
      return true
    }
  }

  /// Makes the tables readable, inside a transaction. Notices go, so that clients read everything again. The lease stays as far as it can be
  /// read, or if this client holds it.
  ///
  /// - Returns: True if targets in use of a client were removed, which it has to enter again.
  func run() throws -> Bool {
    let lastNotice = try lastNotice() + Self.gap
    let highestClient = try highestClient() + Self.gap
    let lease = try lease()
    let backend = (try? sharing.clients.backend()) ?? sharing.backend
    let online = try database.firstRow("SELECT online_state FROM cache_sharing") { try? $0.int64(at: 0) } ?? nil
    try database.update("DELETE FROM cache_notices")
    if lease.isNew { try database.update("DELETE FROM cache_followed_targets") }
    try database.update("DELETE FROM cache_sharing")
    try database.update(
      """
      INSERT INTO cache_sharing
        (id, lease_number, lease_holder, lease_heir, online_state, highest_client_id, trimmed_through, backend)
      VALUES (1, ?, ?, 0, ?, ?, ?, ?)
      """, .integer(lease.number), .integer(lease.holder),
      .integer((online.flatMap(OnlineState.init) ?? .unknown).rawValue), .integer(highestClient),
      .integer(lastNotice), .text(backend))
    try database.update(
      "INSERT INTO cache_notices VALUES (?, 0, ?, 0, '', 0, 0, '')", .integer(lastNotice),
      .integer(Notice.Kind.clients.rawValue))
    try repairRows(seen: lastNotice)
    let hasRemovedTargets = try removeTargets()
    try sharing.refresh()
    return hasRemovedTargets
  }

  private func lease() throws -> (number: Int64, holder: ClientID, isNew: Bool) {
    let member = sharing.membership
    if let member, let own = member.leaseNumber, member.holdsLease { return (own, member.client, false) }
    let number = try highest("lease_number")
    if let number, let holder = try highest("lease_holder") { return (number, holder, false) }
    // The client that holds it finds out, and takes it again.
    return (max(number ?? 0, member?.sharing.leaseNumber ?? 0) + 1, 0, true)
  }

  /// Removes clients that cannot be read, which then join again.
  private func repairRows(seen: Int64) throws {
    try database.update(
      "UPDATE cache_clients SET seen = ? WHERE NOT (\(CountedNumber.condition("seen")))", .integer(seen))
    try database.update(
      """
      DELETE FROM cache_clients WHERE typeof(name) <> 'text' OR typeof(user_key) <> 'text'
        OR typeof(wants_network) <> 'integer' OR typeof(is_visible) <> 'integer'
        OR NOT (\(CountedNumber.condition("client_id")))
      """)
    for id in try unreadableClients() {
      try database.update("DELETE FROM cache_clients WHERE client_id = ?", .integer(id))
    }
  }

  /// The clients whose texts are no UTF-8.
  private func unreadableClients() throws -> [ClientID] {
    var ids: [ClientID] = []
    try database.forEachRow("SELECT client_id, name, user_key FROM cache_clients") { row in
      if (try? (row.string(at: 1), row.string(at: 2))) == nil { ids.append(try row.int64(at: 0)) }
      return true
    }
    return ids
  }

  private func removeTargets() throws -> Bool {
    let isNoTarget = "target_id NOT BETWEEN \(TargetID.min) AND \(TargetID.max)"
    try database.update("DELETE FROM cache_followed_targets WHERE \(isNoTarget)")
    try database.update(
      """
      DELETE FROM cache_client_targets WHERE client_id NOT IN (SELECT client_id FROM cache_clients)
        OR typeof(target_id) <> 'integer' OR typeof(is_watched) <> 'integer' OR \(isNoTarget)
      """)
    return database.changedRowCount > 0
  }

  // MARK: - Numbers

  /// The largest number of a notice that a client can have read.
  private func lastNotice() throws -> Int64 {
    let known = try [
      highest("number", of: "cache_notices"), highest("seen", of: "cache_clients"), highest("trimmed_through"),
    ]
    return max(known.compactMap { $0 }.max() ?? 0, sharing.membership?.seen ?? 0)
  }

  private func highestClient() throws -> ClientID {
    let known = try [
      highest("client_id", of: "cache_clients"), highest("client_id", of: "cache_client_targets"),
      highest("highest_client_id"),
    ]
    return max(known.compactMap { $0 }.max() ?? 0, sharing.membership?.client ?? 0)
  }

  private func highest(_ column: String) throws -> Int64? { try highest(column, of: "cache_sharing") }

  private func highest(_ column: String, of table: String) throws -> Int64? {
    try database.firstRow(
      "SELECT \(column) FROM \(table) WHERE \(CountedNumber.condition(column)) ORDER BY \(column) DESC LIMIT 1"
    ) { try $0.int64(at: 0) }
  }
}
