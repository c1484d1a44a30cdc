internal import HearthModel

/// A write, or a batch of writes, that waits in the cache for the backend. See ``Firestore/pendingWrites()``.
public struct PendingWrite: Sendable, Hashable, Identifiable {
  /// The kind of change that a part of a pending write makes to its document.
  public enum Kind: Sendable, Hashable {
    /// Replaces or creates the document.
    case set
    /// Changes some of its fields.
    case update
    /// Deletes it.
    case delete
  }

  /// One part of a pending write.
  public struct Operation: Sendable, Hashable {
    /// The document's path from the database's root, such as `"cities/SF"`.
    public let documentPath: String
    /// The kind of change of the document.
    public let kind: Kind
  }

  /// The number of the batch in the queue. Later writes have larger numbers; no number is used twice.
  public let id: Int64
  /// The device's time at the write, in microseconds.
  public let localWriteTime: Timestamp
  /// The parts in the order of the calls.
  public let operations: [Operation]

  init(_ batch: MutationBatch) {
    id = batch.batchID
    localWriteTime = Timestamp(batch.localWriteTime)
    operations = batch.mutations.compactMap { mutation in
      let kind: Kind
      switch mutation.operation {
      case .set: kind = .set
      case .patch: kind = .update
      case .delete: kind = .delete
      case .verify: return nil
      }
      return Operation(documentPath: mutation.key.canonicalString, kind: kind)
    }
  }
}
