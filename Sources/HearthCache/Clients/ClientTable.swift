internal import HearthModel
internal import HearthStore

/// Numbers a client in the tables of its cache. Never given twice.
package typealias ClientID = Int64

/// The clients that share a cache, the targets that they use, and the lease.
struct ClientTable {
  /// The one row about all clients.
  struct Sharing: Equatable {
    /// Rises with each holder of the lease.
    var leaseNumber: Int64
    /// 0 while nobody holds it.
    var leaseHolder: ClientID
    /// The client to whom the last holder has left the lease; 0 if that has not left it to anybody.
    var leaseHeir: ClientID
    var onlineState: OnlineState
    /// Notices up to this one were removed although not every client had read them.
    var trimmedThrough: Int64
    /// The number of clients without the one that asks, which others may have taken for dead.
    var otherCount: Int64
    /// True if a client among them has another user.
    var hasOtherUsers: Bool
    /// The turns in a row with the lease that the client that asks has not used.
    var futileTurns: Int64
    var highestClientID: ClientID
    /// The backend that the clients use.
    var backend: String
  }

  struct Client {
    var id: ClientID
    var name: String
    var userKey: String
    var wantsNetwork: Bool
    var isVisible: Bool
    /// The turns in a row with the lease that were of no use.
    var futileTurns: Int64
    /// The number of the lease in the last of them, or in one that the client has not taken; 0 if there was none.
    var lastFutileLease: Int64
  }

  let database: Database

  // MARK: The lease

  func sharing(except client: ClientID) throws -> Sharing {
    let row = try database.firstRow(
      """
      SELECT lease_number, lease_holder, lease_heir, online_state, trimmed_through,
        (SELECT count(*) FROM cache_clients WHERE client_id <> ?1), highest_client_id,
        EXISTS (SELECT 1 FROM cache_clients WHERE user_key <> (SELECT user_key FROM cache_clients WHERE client_id = ?1)),
        (SELECT futile_turns FROM cache_clients WHERE client_id = ?1), backend
      FROM cache_sharing WHERE id = 1
      """, .integer(client)
    ) { row in
      // A newer release may know more states.
      let online = OnlineState(rawValue: try row.int64(at: 3)) ?? .unknown
      func counter(_ column: Int) throws -> Int64 { try row.counter(at: column, Self.damage) }
      return Sharing(
        leaseNumber: try counter(0), leaseHolder: try counter(1), leaseHeir: try counter(2),
        onlineState: online, trimmedThrough: try counter(4), otherCount: try row.int64(at: 5),
        hasOtherUsers: try row.int64(at: 7) != 0, futileTurns: max(0, (try? row.int64(at: 8)) ?? 0),
        highestClientID: try counter(6), backend: try row.string(at: 9))
    }
    guard let row else { throw Self.damage("the row is missing") }
    return row
  }

  func setLease(number: Int64, holder: ClientID, heir: ClientID, _ state: OnlineState) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "UPDATE cache_sharing SET lease_number = ?, lease_holder = ?, lease_heir = ?, online_state = ?",
      .integer(number), .integer(holder), .integer(heir), .integer(state.rawValue))
  }

  func setTrimmed(through number: Int64) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("UPDATE cache_sharing SET trimmed_through = max(trimmed_through, ?)", .integer(number))
  }

  private static func damage(_ reason: String) -> CacheError {
    .corruptRecord(table: "cache_sharing", row: "1", reason: reason)
  }

  func backend() throws -> String {
    let backend = try database.firstRow("SELECT backend FROM cache_sharing", body: { try $0.string(at: 0) })
    guard let backend else { throw Self.damage("the row is missing") }
    return backend
  }

  func setBackend(_ backend: String) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("UPDATE cache_sharing SET backend = ?", .text(backend))
  }

  // MARK: Clients

  /// - Parameter seen: The last notice that the client need not read.
  func insert(name: String, userKey: String, seen: Int64) throws -> ClientID {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("UPDATE cache_sharing SET highest_client_id = highest_client_id + 1")
    guard
      let id = try database.firstRow("SELECT highest_client_id FROM cache_sharing", body: { try $0.int64(at: 0) })
    else { throw Self.damage("the row is missing") }
    try database.update(
      "INSERT INTO cache_clients (client_id, name, user_key, wants_network, is_visible, seen) VALUES (?, ?, ?, 1, 0, ?)",
      .integer(id), .text(name), .text(userKey), .integer(seen))
    return id
  }

  func update(_ id: ClientID, wantsNetwork: Bool, isVisible: Bool) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "UPDATE cache_clients SET wants_network = ?, is_visible = ? WHERE client_id = ?", .integer(wantsNetwork ? 1 : 0),
      .integer(isVisible ? 1 : 0), .integer(id))
  }

  func update(_ id: ClientID, userKey: String) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("UPDATE cache_clients SET user_key = ? WHERE client_id = ?", .text(userKey), .integer(id))
  }

  func update(_ id: ClientID, seen: Int64) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("UPDATE cache_clients SET seen = ? WHERE client_id = ?", .integer(seen), .integer(id))
  }

  /// The last notice that every client has read; nil without clients.
  func lowestSeen() throws -> Int64? {
    let ends = "SELECT min(seen) AS lowest, max(seen) AS highest FROM cache_clients"
    return try database.firstRow("SELECT lowest, highest FROM (\(ends)) WHERE lowest IS NOT NULL") { row in
      func damage(_ reason: String) -> CacheError {
        .corruptRecord(table: "cache_clients", row: "seen", reason: reason)
      }
      // A client with a number that was never given would lose what it has not read.
      _ = try row.counter(at: 1, damage)
      return try row.counter(at: 0, damage)
    }
  }

  func contains(_ id: ClientID) throws -> Bool {
    try database.firstRow("SELECT 1 FROM cache_clients WHERE client_id = ?", .integer(id)) { _ in true } ?? false
  }

  func clients() throws -> [Client] {
    var clients: [Client] = []
    try database.forEachRow(
      """
      SELECT client_id, name, user_key, wants_network, is_visible, futile_turns, last_futile_lease
      FROM cache_clients ORDER BY client_id
      """
    ) {
      clients.append(
        Client(
          id: try $0.int64(at: 0), name: try $0.string(at: 1), userKey: try $0.string(at: 2),
          wantsNetwork: try $0.int64(at: 3) != 0, isVisible: try $0.int64(at: 4) != 0,
          futileTurns: (try? $0.int64(at: 5)) ?? 0, lastFutileLease: (try? $0.int64(at: 6)) ?? 0))
      return true
    }
    return clients
  }

  /// Counts a turn that was of no use, or that the client did not take.
  func noteTurn(of id: ClientID, lease number: Int64) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "UPDATE cache_clients SET futile_turns = min(futile_turns, 62) + 1, last_futile_lease = ? WHERE client_id = ?",
      .integer(number), .integer(id))
  }

  /// - Parameter id: Nil for all clients.
  func forgetFutileTurns(of id: ClientID?) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    let sql = "UPDATE cache_clients SET futile_turns = 0, last_futile_lease = 0"
    if let id { try database.update(sql + " WHERE client_id = ?", .integer(id)) } else { try database.update(sql) }
  }

  func remove(_ id: ClientID) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("DELETE FROM cache_clients WHERE client_id = ?", .integer(id))
    try database.update("DELETE FROM cache_client_targets WHERE client_id = ?", .integer(id))
    // Nobody keeps them up to date.
    try database.update(
      """
      DELETE FROM cache_current_targets WHERE target_id NOT IN (SELECT target_id FROM cache_client_targets)
        AND -target_id NOT IN (SELECT target_id FROM cache_client_targets)
      """)
  }

  // MARK: Targets

  /// - Parameter isWatched: True if the target is watched at the backend. It stays watched until the value is set again.
  func use(_ target: TargetID, by client: ClientID, isWatched: Bool) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      """
      INSERT INTO cache_client_targets (client_id, target_id, is_watched) VALUES (?, ?, ?)
      ON CONFLICT (client_id, target_id) DO UPDATE SET is_watched = max(is_watched, excluded.is_watched)
      """, .integer(client), .integer(Int64(target)), .integer(isWatched ? 1 : 0))
  }

  func stopWatching(_ target: TargetID, by client: ClientID) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "UPDATE cache_client_targets SET is_watched = 0 WHERE client_id = ? AND target_id = ?", .integer(client),
      .integer(Int64(target)))
  }

  func stopUsing(_ target: TargetID, by client: ClientID) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_client_targets WHERE client_id = ? AND target_id = ?", .integer(client),
      .integer(Int64(target)))
  }

  /// Notes that no client uses the target.
  func stopUsing(_ target: TargetID) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("DELETE FROM cache_client_targets WHERE target_id = ?", .integer(Int64(target)))
  }

  /// Returns true if another client uses the target.
  func isUsed(_ target: TargetID, byOthersThan client: ClientID) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_client_targets WHERE target_id = ? AND client_id <> ? LIMIT 1", .integer(Int64(target)),
      .integer(client)
    ) { _ in true } ?? false
  }

  /// Returns true if some client uses the target.
  func isUsed(_ target: TargetID) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_client_targets WHERE target_id = ? LIMIT 1", .integer(Int64(target))
    ) { _ in true } ?? false
  }

  /// Returns true if some client wants the backend to be asked for the target.
  func isWatched(_ target: TargetID) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_client_targets WHERE target_id = ? AND is_watched <> 0 LIMIT 1", .integer(Int64(target))
    ) { _ in true } ?? false
  }

  /// The targets that some client uses.
  func usedTargets() throws -> Set<TargetID> {
    var used: Set<TargetID> = []
    try database.forEachRow("SELECT DISTINCT target_id FROM cache_client_targets") {
      used.insert(try Self.targetID($0))
      return true
    }
    return used
  }

  /// The targets that a client uses, and whether it wants the backend to be asked for them.
  func targets(of client: ClientID) throws -> [TargetID: Bool] {
    var targets: [TargetID: Bool] = [:]
    try database.forEachRow(
      "SELECT target_id, is_watched FROM cache_client_targets WHERE client_id = ?", .integer(client)
    ) {
      targets[try Self.targetID($0)] = try $0.int64(at: 1) != 0
      return true
    }
    return targets
  }

  private static func targetID(_ row: Statement) throws -> TargetID {
    let number = try row.int64(at: 0)
    guard let target = TargetID(exactly: number) else {
      throw CacheError.corruptRecord(
        table: "cache_client_targets", row: "\(number)", reason: "a target id has 32 bits")
    }
    return target
  }

  /// The targets that other clients use, and whether one of them wants the backend to be asked for it.
  func targets(exceptOf client: ClientID) throws -> [TargetID: Bool] {
    var targets: [TargetID: Bool] = [:]
    try database.forEachRow(
      """
      SELECT target_id, max(is_watched) FROM cache_client_targets WHERE client_id <> ? GROUP BY target_id
      ORDER BY target_id
      """, .integer(client)
    ) {
      targets[try Self.targetID($0)] = try $0.int64(at: 1) != 0
      return true
    }
    return targets
  }

  // MARK: Targets that the holder of the lease follows for others

  func follow(_ target: TargetID, leaseNumber: Int64) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "INSERT OR REPLACE INTO cache_followed_targets (target_id, lease_number) VALUES (?, ?)", .integer(Int64(target)),
      .integer(leaseNumber))
  }

  func stopFollowing(_ target: TargetID) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("DELETE FROM cache_followed_targets WHERE target_id = ?", .integer(Int64(target)))
  }

  /// Returns true if the holder of the lease keeps the target in memory for others.
  func isFollowed(_ target: TargetID) throws -> Bool {
    try database.firstRow(
      """
      SELECT 1 FROM cache_followed_targets JOIN cache_sharing USING (lease_number)
      WHERE target_id = ? AND lease_holder <> 0
      """, .integer(Int64(target))
    ) { _ in true } ?? false
  }

  /// The targets that the holder of the lease keeps in memory for others.
  func followedTargets() throws -> [TargetID] {
    var targets: [TargetID] = []
    try database.forEachRow(
      "SELECT target_id FROM cache_followed_targets JOIN cache_sharing USING (lease_number) WHERE lease_holder <> 0"
    ) {
      targets.append(try Self.targetID($0))
      return true
    }
    return targets
  }

  // MARK: Agreement with the backend

  /// A disputed target has its number negated in the table.
  func agreement(of target: TargetID) throws -> TargetAgreement {
    try database.firstRow(
      "SELECT target_id < 0 FROM cache_current_targets WHERE target_id IN (?1, -?1)",
      .integer(Int64(target))
    ) { try $0.int64(at: 0) != 0 ? .disputed : .complete } ?? .open
  }

  func setAgreement(of target: TargetID, _ agreement: TargetAgreement) throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_current_targets WHERE target_id IN (?1, -?1)", .integer(Int64(target)))
    guard agreement != .open else { return }
    try database.update(
      "INSERT INTO cache_current_targets (target_id) VALUES (?)",
      .integer(agreement == .disputed ? -Int64(target) : Int64(target)))
  }

  func removeCurrentTargets() throws {
    assert(database.isInWriteTransaction, "a client changes outside of a write transaction")
    try database.update("DELETE FROM cache_current_targets")
  }
}
