internal import HearthModel
internal import HearthWire

/// The number of batches, and of the writes in them.
///
/// A batch is what one call of a program writes, and is sent and answered as one. A write is the change of one document in it.
package struct WriteCount: Equatable, Sendable, CustomStringConvertible {
  package private(set) var batches = 0
  /// The writes of the batches that can be read.
  package private(set) var writes = 0
  /// The batches that cannot be read, whose writes are not counted.
  package private(set) var unreadableBatches = 0

  package init(batches: Int = 0, writes: Int = 0, unreadableBatches: Int = 0) {
    self.batches = batches
    self.writes = writes
    self.unreadableBatches = unreadableBatches
  }

  init(_ batches: some Sequence<MutationBatch>) {
    self.init()
    for batch in batches { add(.batch(batch)) }
  }

  /// Counts refused batches that a recovery has found, as `hearth cache rejected` lists them afterwards.
  init(_ rejected: [SalvagedOutbox.RejectedRow], in database: DatabaseID) {
    self.init()
    for row in rejected {
      do {
        add(.batch(try CacheCodec.decodeBatch(row.batch, database: database)))
      } catch {
        addUnreadable(1)
      }
    }
  }

  package mutating func add(_ contents: OutboxEntry.Contents) {
    batches += 1
    switch contents {
    case .batch(let batch): writes += batch.mutations.count
    case .unreadable: unreadableBatches += 1
    }
  }

  mutating func addUnreadable(_ count: Int) {
    batches += count
    unreadableBatches += count
  }

  /// Such as "75 writes in 25 batches".
  package var description: String {
    let unreadable = unreadableBatches > 0 ? ", \(unreadableBatches) of them unreadable" : ""
    return "\(CountedText.of(writes, "write")) in \(CountedText.of(batches, "batch", plural: "batches"))\(unreadable)"
  }

}

extension CacheInspection {
  /// The waiting batches of all users, and of each.
  func pendingCounts() throws -> (total: WriteCount, byOwner: [OutboxOwner: WriteCount]) {
    var (total, byOwner) = (WriteCount(), [OutboxOwner: WriteCount]())
    try forEachPendingBatch { entry in
      guard !entry.isSetAside else { return false }
      total.add(entry.contents)
      if let owner = entry.owner { byOwner[owner, default: WriteCount()].add(entry.contents) }
      return true
    }
    return (total, byOwner)
  }

  /// The refused batches of all users, and of each.
  func rejectedCounts() throws -> (total: WriteCount, byOwner: [OutboxOwner: WriteCount]) {
    var (total, byOwner) = (WriteCount(), [OutboxOwner: WriteCount]())
    try forEachRejectedBatch { entry in
      total.add(entry.contents)
      if let owner = entry.owner { byOwner[owner, default: WriteCount()].add(entry.contents) }
      return true
    }
    return (total, byOwner)
  }
}
