import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// Writes that wait in memory, because another process writes the file or because it is about to be replaced.
extension SharedSimulation {
  /// Another program begins a transaction that writes the file, or ends it.
  func holdOrReleaseFile() throws {
    guard fileHolder == nil else { return releaseFile() }
    note("another program writes the file")
    let database = try Database(.file(path: file), options: .init(synchronous: .normal, busyTimeout: .zero))
    try database.execute("BEGIN IMMEDIATE")
    fileHolder = database
  }

  func releaseFile() {
    guard let database = fileHolder else { return }
    note("the other program has not written the file")
    try? database.execute("ROLLBACK")
    database.close()
    fileHolder = nil
  }

  /// Each write whose caller waits is in the file, in memory or answered, and never in two of these places.
  func checkHeldWrites(of client: SharedClient) {
    let held = client.engine.heldWriteIDs.map(\.rawValue)
    if held.isEmpty, client.driver.openWrites.isEmpty { return }
    let stored = Set(history.users.flatMap(outbox).map(\.number))
    if held != held.sorted() { client.fail("the writes in memory are not in order: \(held)") }
    if let number = held.first(where: stored.contains) { client.fail("write \(number) is in the file and in memory") }
    let waiting = client.driver.openWrites.map(\.rawValue).filter { ledger.isSurelyPending($0) && !stored.contains($0) }
    if let number = waiting.first(where: { !held.contains($0) }) { client.fail("write \(number) is nowhere") }
    guard client.life == .running else { return }
    let own = waiting.filter { ledger.owner(of: $0) == client.engine.signedInUser }
    if client.engine.heldWriteCount != own.count {
      client.fail("\(client.engine.heldWriteCount) writes are in memory, it must be \(own)")
    }
  }

  /// A client stores its writes in the order in which they were made.
  func checkOrder(
    of outboxes: [String?: [MutationBatch]], _ before: [String?: [MutationBatch]], by client: String
  ) {
    for (user, batches) in outboxes where batches != before[user] ?? [] {
      let known = Set((before[user] ?? []).map(\.batchID))
      for batch in batches where !known.contains(batch.batchID) {
        if batch.number <= lastStoredNumbers[client] ?? 0 { fail("\(client) stores write \(batch.number) too late") }
        lastStoredNumbers[client] = batch.number
      }
    }
  }

  /// The client goes on in another engine, as after damage: with the callers of its writes and with what is in memory.
  func reopen(_ client: SharedClient) throws {
    guard !client.isBusy, fileHolder == nil else { return }
    note("\(client.name) reopens its cache")
    let failureCount = client.failureCount
    let handover = client.engine.handOver()
    let writes = client.driver.openWrites
    let unsureWrites = client.failureCount > failureCount ? Set(writes) : client.unsureWrites
    let listeners = client.listeners.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
    client.driver.openWrites = []
    bury(client)
    let successor = try newClient(for: handover.user)
    successor.driver.openWrites = writes
    successor.unsureWrites = unsureWrites
    successor.canConnect = client.canConnect
    successor.isSilent = client.isSilent
    successor.isNetworkEnabled = client.isNetworkEnabled
    successor.engine.takeOver(handover, reason: "the file is damaged")
    successor.post(.start)
    for listener in listeners where successor.life == .running {
      successor.listen(to: listener.query, listener.options)
    }
  }
}
