import HearthCache
import HearthModel
import HearthSync

extension SharedSimulation {
  /// Checks what must hold between two steps.
  func checkStep() throws {
    try check()
    try checkLease()
    try checkOutboxes()
    try checkTokens()
    for client in awake { try checkViews(of: client) }
  }

  /// At most one client has the number that the file gives its holder.
  private func checkLease() throws {
    let lease = lease
    let holders = living.filter { $0.store.leaseNumber == lease.number }.map(\.name)
    guard holders.count <= 1 else { throw Failure(description: "lease \(lease.number) is held by \(holders)") }
    if let holder = holders.first, let named = lease.holder, holder != named {
      throw Failure(description: "lease \(lease.number) is held by \(holder), the file names \(named)")
    }
  }

  /// Batches come at the end of an outbox, and leave it at its front when the backend has answered them.
  private func checkOutboxes() throws {
    for user in SharedClient.users {
      let pending = outbox(of: user)
      guard pending.allSatisfy({ $0.localWriteTime.seconds == SimulatedDevice.seconds(of: user) }) else {
        throw Failure(description: "the outbox of \(user ?? "nobody") holds another's writes: \(pending)")
      }
      let before = outboxes[user] ?? []
      let left = before.prefix { batch in !pending.contains { $0.batchID == batch.batchID } }
      for batch in left where ledger.isSurelyPending(batch.number) {
        throw Failure(description: "write \(batch.number) left the outbox without an answer")
      }
      guard Array(before.dropFirst(left.count)) == Array(pending.prefix(before.count - left.count)) else {
        throw Failure(description: "the outbox changed other than at its ends: \(before) became \(pending)")
      }
      outboxes[user] = pending
    }
  }

  /// A resume token becomes a newer one, or goes.
  private func checkTokens() throws {
    let reader = try reader(of: SharedClient.users[0])
    for target in targets {
      guard let data = try reader.targetData(for: target) else { continue }
      let token = Int64(String(decoding: data.resumeToken, as: UTF8.self)) ?? 0
      if let before = tokens[data.targetID], token != 0, token < before {
        throw Failure(description: "the token of target \(data.targetID) went from \(before) back to \(token)")
      }
      tokens[data.targetID] = token
    }
  }

  /// A client that has read all notices shows the documents of the file with its user's writes.
  private func checkViews(of client: SharedClient) throws {
    guard isUpToDate(client), !client.busyTimers.contains(.asyncQueueRetry) else { return }
    // A client that has lost the lease without a word reads everything anew when it finds out.
    if let number = client.store.leaseNumber, number != lease.number { return }
    let reader = try reader(of: client.store.user)
    guard !isCatchingUp(client.store.user) else { return }
    for (id, listener) in client.listeners.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let expected = try reader.run(listener.query, usePreviousResults: false).documents
      let what = "\(client.name), listener \(id.rawValue) \(listener.query.canonicalID)"
      guard let snapshot = listener.snapshot else {
        if expected.isEmpty || listener.options.waitForSyncWhenOnline { continue }
        throw Failure(description: "\(what) was not told of \(expected.map(\.brief))")
      }
      try compare(Array(snapshot.documents), expected, what)
    }
  }

  /// Returns true if views may still show the former state of a document, until the watch stream has brought the outcome of a write.
  private func isCatchingUp(_ user: String?) -> Bool {
    SeededGenerator.keys.contains { key in
      guard let document = try? reader(of: user).readDocument(key) else { return false }
      return document.hasCommittedMutations && !document.hasLocalMutations
    }
  }

  func compare(_ actual: [Document], _ expected: [Document], _ what: String) throws {
    guard actual.count == expected.count, zip(actual, expected).allSatisfy({ $0.hasSameData(as: $1) }) else {
      throw Failure(description: "\(what) shows \(actual.map(\.brief)), but must show \(expected.map(\.brief))")
    }
  }

  /// Old documents go, but none that some client shows.
  func collectGarbage() {
    for client in awake { client.post(.othersChanged) }
    guard let client = awake.first(where: \.engine.isPrimary) else { return }
    let clients = awake.filter {
      isUpToDate($0) && !$0.busyTimers.contains(.asyncQueueRetry) && !isCatchingUp($0.store.user)
    }
    let before = clients.map(resultsInFile)
    note("\(client.name) collects garbage")
    withoutInterleaving {
      _ = try? client.engine.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0, percentile: 100))
    }
    for (other, before) in zip(clients, before) where before != resultsInFile(of: other) {
      fail("a garbage collection took documents that \(other.name) shows: \(before) became \(resultsInFile(of: other))")
    }
    // The loop tells the others at its end.
    client.post(.othersChanged)
  }

  private func resultsInFile(of client: SharedClient) -> [[String]] {
    let ids = client.listeners.keys.sorted { $0.rawValue < $1.rawValue }
    return ids.map { id in
      guard let query = client.listeners[id]?.query,
        let documents = try? reader(of: client.store.user).run(query, usePreviousResults: false).documents
      else { return [] }
      return documents.map(\.brief)
    }
  }

  // MARK: - The end

  /// Everything was delivered: the views are what the backend has.
  func checkEnd() throws {
    for client in living {
      guard client.openWrites.isEmpty, client.openWaits.isEmpty else {
        throw Failure(description: "\(client.name): callers still wait: \(client.openWrites) \(client.openWaits)")
      }
      guard client.engine.activeLimboDocuments.isEmpty, client.engine.enqueuedLimboDocuments.isEmpty else {
        throw Failure(description: "\(client.name): still in limbo: \(client.engine.activeLimboDocuments)")
      }
      for (id, listener) in client.listeners.sorted(by: { $0.key.rawValue < $1.key.rawValue })
      where listener.options.source == .default {
        let what = "at the end \(client.name), listener \(id.rawValue) \(listener.query.canonicalID)"
        guard let snapshot = listener.snapshot else { throw Failure(description: "\(what) was never told anything") }
        try compare(Array(snapshot.documents), backend.run(listener.query), what)
        if listener.options.includeQueryMetadataChanges, snapshot.isFromCache || snapshot.hasPendingWrites {
          let target = client.engine.targetID(of: listener.query).map { "\($0)" } ?? "none"
          throw Failure(
            description:
              "\(what) is not in step: \(snapshot.isFromCache) \(snapshot.hasPendingWrites), target \(target), "
              + "in the file \(currentTargets) are")
        }
      }
    }
    for user in SharedClient.users where !outbox(of: user).isEmpty {
      throw Failure(description: "the outbox of \(user ?? "nobody") is not empty: \(outbox(of: user))")
    }
  }
}
