import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// Looking at the cache file, through a connection of its own and without a client.
extension SharedSimulation {
  /// A transaction whose outcome has not been looked at.
  struct Commit {
    var client: String
    var transaction: String
  }

  /// The lease as the file has it.
  struct Lease {
    var number: Int64 = 0
    var isFree = true
    /// Nil also for one whom the others have taken for dead.
    var holder: String?
  }

  /// The transactions that only the holder of the lease may commit.
  private static let needsLease: Set<String> = [
    "Apply remote event", "Collect garbage", "Publish target states", "Publish online state", "Give sign of life",
    "Publish rejected target", "Fill indexes", "Leave lease", "Give back lease", "Note connection",
  ]

  private static let writesTargets: Set<String> = [
    "Apply remote event", "Apply bundle documents", "Allocate target", "Release target", "notifyLocalViewChanges",
    "Join cache",
  ]

  /// A client is about to commit.
  func willCommit(_ transaction: String, of client: SharedClient) {
    observe()
    if Self.needsLease.contains(transaction) {
      // One that was taken for dead holds the lease without a row.
      let number = client.store.leaseNumber
      if lease.isFree || number != lease.number || lease.holder ?? client.name != client.name {
        fail("\(client.name) commits \(transaction) with lease \(number ?? -1), the file has \(lease)")
      }
    }
    committed(transaction, by: client.name)
  }

  /// Looks at what the latest commit has left behind.
  func observe() {
    guard let commit = takeUnobserved() else { return }
    do {
      let before = reference.current
      let now = SharedReference.Observation(
        commit: commitCount, transaction: commit.transaction, rows: try documentRows(),
        outboxes: try outboxes(after: commit.transaction))
      if commit.transaction == "Withdraw batch" {
        noteWithdrawals(from: before.outboxes, to: now.outboxes, by: clients.first { $0.name == commit.client })
      }
      try reference.advance(to: now, backend, ledger)
      checkOrder(of: now.outboxes, before.outboxes, by: commit.client)
      if ["Collect garbage", "Clear cache"].contains(commit.transaction) {
        let found = before.rows.filter { $0.value.kind == .found }.keys
        checkCollection(of: Set(found).subtracting(now.rows.keys), before, by: commit.client)
      }
      try checkTokens(after: commit.transaction)
      try checkResumableKeys(after: commit.transaction, before)
      try readLease()
      try checkInvariants()
    } catch {
      fail("after \(commit.transaction) of \(commit.client): \(error)")
    }
  }

  /// The rows of the cache keep their rules after each commit. A history that fails runs again, with a check of each of them.
  private func checkInvariants() throws {
    guard keepsTrace || commitCount.isMultiple(of: 16) else { return }
    if let violation = try CacheInvariants.violations(in: readerStore).first {
      throw Failure(description: "\(violation)")
    }
  }

  private func documentRows() throws -> [DocumentKey: SharedReference.Row] {
    let sql = """
      SELECT path || '/' || id, kind, version, has_committed_mutations FROM documents
      JOIN collections ON number = collection
      """
    var rows: [DocumentKey: SharedReference.Row] = [:]
    try reader.forEachRow(sql) { row in
      let path = try row.string(at: 0)
      guard let key = HistoryGenerator.keys.first(where: { $0.canonicalString == path }),
        let kind = SharedReference.Row.Kind(rawValue: try row.int64(at: 1))
      else { throw Failure(description: "nobody wrote a document \(path)") }
      rows[key] = .init(
        kind: kind, version: SnapshotVersion(microseconds: try row.int64(at: 2)),
        hasCommittedMutations: try row.int64(at: 3) != 0)
      return true
    }
    return rows
  }

  /// The outboxes of all users. A batch is read once.
  private func outboxes(after transaction: String) throws -> [String?: [MutationBatch]] {
    // Batches behind one that leaves without an effect may get other base values.
    if ["Reject batch", "Withdraw batch"].contains(transaction) { batches = [:] }
    var outboxes: [String?: [MutationBatch]] = [:]
    for user in history.users { outboxes[user] = [] }
    let sql = "SELECT batch_id, user_key FROM cache_mutation_batches JOIN cache_users USING (user_id) ORDER BY batch_id"
    try reader.forEachRow(sql) { row in
      let id = try row.int64(at: 0)
      let name = Self.user(ofKey: try row.string(at: 1))
      if batches[id] == nil {
        batches[id] = try readerStore.pendingBatches(after: id - 1, limit: 1, of: .user(name)).first
      }
      guard let batch = batches[id] else {
        throw Failure(description: "batch \(id) of \(name ?? "nobody") cannot be read")
      }
      outboxes[name, default: []].append(batch)
      return true
    }
    return outboxes
  }

  /// The name of the identity with this key in the file.
  private static func user(ofKey key: String) -> String? {
    if key.isEmpty { return nil }
    return key.hasPrefix("=") ? String(key.dropFirst()) : "\u{1}" + key
  }

  /// The number of the lease and the name of its holder, as the file has them.
  private func readLease() throws {
    let sql = """
      SELECT lease_number, lease_holder = 0, (SELECT name FROM cache_clients WHERE client_id = lease_holder)
      FROM cache_sharing
      """
    let row = try reader.firstRow(sql) { row in
      Lease(
        number: try row.int64(at: 0), isFree: try row.int64(at: 1) != 0,
        holder: row.isNull(at: 2) ? nil : try row.string(at: 2))
    }
    lease = row ?? Lease()
  }

  /// The targets whose views at the holder of the lease agree with the backend, as the file has them.
  var currentTargets: [Int64] {
    var targets: [Int64] = []
    try? reader.forEachRow("SELECT target_id FROM cache_current_targets ORDER BY target_id") {
      targets.append(try $0.int64(at: 0))
      return true
    }
    return targets
  }

  /// The names of the clients that the file knows.
  var knownClients: Set<String> {
    var names: Set<String> = []
    try? reader.forEachRow("SELECT name FROM cache_clients") {
      names.insert(try $0.string(at: 0))
      return true
    }
    return names
  }

  /// A resume token becomes a newer one, or goes because the backend or a bundle has said something else.
  private func checkTokens(after transaction: String) throws {
    guard Self.writesTargets.contains(transaction) else { return }
    let mayGo = ["Apply remote event", "Apply bundle documents"].contains(transaction)
    try reader.forEachRow("SELECT target_id, resume_token FROM cache_targets") { row in
      let target = try row.int64(at: 0)
      let token = try row.withBytes(at: 1) { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
      let before = tokens.updateValue(token, forKey: target) ?? 0
      if token < before, token != 0 || !mayGo {
        throw Failure(description: "the token of target \(target) went from \(before) back to \(token)")
      }
      if token > backend.now { throw Failure(description: "target \(target) has a token of the future: \(token)") }
      return true
    }
  }

  /// A target that loses a document by clearing has no resume token any more: the backend would not send the document again.
  private func checkResumableKeys(after transaction: String, _ before: SharedReference.State) throws {
    var keys: [Int64: Set<String>] = [:]
    let sql = """
      SELECT target_id, path FROM cache_targets LEFT JOIN cache_target_documents USING (target_id) WHERE resume_token <> x''
      """
    try reader.forEachRow(sql) { row in
      keys[try row.int64(at: 0), default: []].formUnion(row.isNull(at: 1) ? [] : [try row.string(at: 1)])
      return true
    }
    defer { resumableKeys = keys }
    guard transaction == "Clear cache" else { return }
    let stored = Set(reference.current.rows.keys.map(\.canonicalString))
    let storedBefore = Set(before.rows.keys.map(\.canonicalString))
    for (target, keys) in keys {
      let former = resumableKeys[target] ?? []
      let lost = former.subtracting(keys).union(former.subtracting(stored).intersection(storedBefore))
      if !lost.isEmpty { throw Failure(description: "target \(target) has a resume token and lost \(lost.sorted())") }
    }
  }

  /// The targets that each client uses, by its name; those of nobody have none.
  func targetsInUse() throws -> [String?: Set<String>] {
    let sql = """
      SELECT name, canonical_id FROM cache_client_targets LEFT JOIN cache_clients USING (client_id)
      JOIN cache_targets USING (target_id)
      """
    var targets: [String?: Set<String>] = [:]
    try reader.forEachRow(sql) { row in
      targets[row.isNull(at: 0) ? nil : try row.string(at: 0), default: []].insert(try row.string(at: 1))
      return true
    }
    return targets
  }

  /// Changes with the file.
  func fileVersion() throws -> Int64 { try reader.dataVersion }

  func outbox(of user: String?) -> [MutationBatch] {
    observe()
    return reference.current.outboxes[user] ?? []
  }
}
