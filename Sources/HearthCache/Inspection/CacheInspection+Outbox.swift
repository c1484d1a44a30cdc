package import HearthModel
internal import HearthStore

/// One batch of an outbox.
package struct OutboxEntry: Equatable, Sendable {
  package enum Contents: Equatable, Sendable {
    case batch(MutationBatch)
    /// The row does not hold what this release writes.
    case unreadable(reason: String)
  }

  package var batchID: BatchID
  /// Nil if it is not known whose it is.
  package var owner: OutboxOwner?
  package var byteCount: Int
  /// True for a batch that a client could not read and that waits for a release that can.
  package var isSetAside: Bool
  package var contents: Contents
}

extension CacheInspection {
  /// Calls `body` with each batch of the outbox, in the order in which the batches are sent, those set aside last.
  ///
  /// - Parameters:
  ///   - user: Only batches of this user, `.some(nil)` being the signed-out user; nil for those of all.
  ///   - body: returns false to stop.
  package func forEachPendingBatch(of user: String?? = nil, _ body: (OutboxEntry) throws -> Bool) throws {
    for (table, isSetAside) in [("cache_mutation_batches", false), ("cache_unreadable_batches", true)] {
      let condition = user == nil ? "" : "WHERE user_key = ? "
      let reason = isSetAside ? "reason" : "''"
      let statement = try database.prepare(
        "SELECT batch_id, coalesce(batch, x''), user_key, \(reason) FROM \(table) LEFT JOIN cache_users USING (user_id) "
          + condition + "ORDER BY batch_id", user.map { [.text(MutationQueue.userKey($0))] } ?? [])
      while try statement.step() {
        guard try body(entry(statement, isSetAside: isSetAside)) else { return }
      }
    }
  }

  private func entry(_ row: Statement, isSetAside: Bool) throws -> OutboxEntry {
    let contents: OutboxEntry.Contents
    do {
      contents = isSetAside ? .unreadable(reason: try row.string(at: 3)) : .batch(try queue.decode(row))
    } catch CacheError.unreadableBatch(_, let reason) {
      contents = .unreadable(reason: reason)
    }
    return OutboxEntry(
      batchID: try row.int64(at: 0), owner: try Self.owner(row), byteCount: (try? row.bytes(at: 1).count) ?? 0,
      isSetAside: isSetAside, contents: contents)
  }

  /// The owner of a batch whose row has the key of its user in the third column.
  static func owner(_ row: Statement) throws -> OutboxOwner? {
    row.isNull(at: 2) ? nil : OutboxOwner(key: try row.string(at: 2))
  }
}
