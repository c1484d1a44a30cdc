internal import HearthCache
package import HearthModel

/// Batches that calls name by their numbers, at the end of an engine whose cache is opened anew. There a number may be that of another batch.
extension SyncEngine {
  /// A request of this engine with the identities of the batches that it names.
  ///
  /// - Returns: Nil if one of the batches cannot be found, so that it could not be known again.
  package func identified(_ request: EngineRequest) -> EngineRequest? {
    switch request {
    case .withdraw(let batchID, let evenIfSent, nil):
      guard let identity = identity(ofPending: batchID) else { return nil }
      return .withdraw(batchID, evenIfSent: evenIfSent, identity: identity)
    case .discardRejected(let batches?, var identities):
      for batchID in batches where identities[batchID] == nil {
        guard let identity = identity(ofRejected: batchID, signedInUser) else { return nil }
        identities[batchID] = identity
      }
      return .discardRejected(batches, identities: identities)
    default:
      return request
    }
  }

  /// Gives the writes that are not stored yet the identities of the refused batches that they repeat. To be called before ``handOver()``.
  ///
  /// - Returns: The writes whose batch cannot be found. They are not handed over.
  package func identifyHeldWrites() -> [WriteID] {
    held.identify(identity(ofRejected:_:))
  }

  /// - Returns: `.some(nil)` for a batch without an identity; nil if there is no such batch or if it cannot be read.
  private func identity(ofPending batchID: BatchID) -> BatchIdentity?? {
    if let wait = waits.pendingBatches[batchID], wait.identity != nil { return wait.identity }
    guard let batch = try? localStore.outbox.batch(batchID, of: signedInUser) else { return nil }
    return .some(batch.identity)
  }

  private func identity(ofRejected batchID: BatchID, _ user: String?) -> BatchIdentity?? {
    guard let rejected = try? localStore.outbox.rejectedBatch(batchID, of: user) else { return nil }
    return .some(rejected.batch.identity)
  }
}
