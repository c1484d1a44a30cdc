internal import HearthModel
internal import HearthStore

/// The pending batches of writes with a receipt, by their identities, so that a receipt is found without reading the bytes of the outbox.
/// Writes without a receipt cost nothing here.
struct ReceiptTable {
  let database: Database

  func insert(_ batch: MutationBatch) throws {
    assert(database.isInWriteTransaction, "a receipt changes outside of a write transaction")
    guard batch.keepsOutcome, let identity = batch.identity else { return }
    try database.update(
      "INSERT OR REPLACE INTO cache_receipts (number, identity, batch_id) VALUES (?, ?, ?)",
      .integer(OutcomeTable.number(of: identity)), .blob(identity.bytes), .integer(batch.batchID))
  }

  func remove(_ batch: MutationBatch) throws {
    assert(database.isInWriteTransaction, "a receipt changes outside of a write transaction")
    guard batch.keepsOutcome, let identity = batch.identity else { return }
    try database.update("DELETE FROM cache_receipts WHERE number = ?", .integer(OutcomeTable.number(of: identity)))
  }

  /// Removes the row of a batch that cannot be read. Looks through the table.
  func remove(batchID: BatchID) throws {
    assert(database.isInWriteTransaction, "a receipt changes outside of a write transaction")
    try database.update("DELETE FROM cache_receipts WHERE batch_id = ?", .integer(batchID))
  }

  func batchID(of identity: BatchIdentity) throws -> BatchID? {
    try database.firstRow(
      "SELECT batch_id FROM cache_receipts WHERE number = ? AND identity = ?",
      .integer(OutcomeTable.number(of: identity)), .blob(identity.bytes)
    ) { try $0.int64(at: 0) }
  }

  func removeAll() throws {
    assert(database.isInWriteTransaction, "a receipt changes outside of a write transaction")
    try database.update("DELETE FROM cache_receipts")
  }
}
