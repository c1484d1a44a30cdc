internal import HearthCache
internal import HearthModel

/// The identities of batches that calls name by number, taken at the end of an engine whose cache is reopened. In the reopened cache a
/// number may belong to another batch.
package struct NamedBatches {
  private let outbox: CacheOutbox
  private let user: String?
  /// The identities of the batches whose callers wait, without those that have none.
  private let awaited: [BatchID: BatchIdentity]

  /// - Parameters:
  ///   - user: The user whose batches the calls name.
  ///   - waits: The calls that wait for answers.
  init(outbox: CacheOutbox, user: String?, waits: WriteWaits) {
    self.outbox = outbox
    self.user = user
    awaited = waits.pendingBatches.compactMapValues(\.identity)
  }

  /// Returns a request of the engine with the identities of the batches that it names; nil if one of the batches cannot be found, so that it
  /// could not be known again.
  package func identified(_ request: EngineRequest) -> EngineRequest? {
    switch request {
    case .withdraw(let batchID, let evenIfSent, nil):
      guard let identity = identity(ofPending: batchID) else { return nil }
      return .withdraw(batchID, evenIfSent: evenIfSent, identity: identity)
    case .discardRejected(let batches?, var identities):
      for batchID in batches where identities[batchID] == nil {
        guard let identity = identity(ofRejected: batchID, user) else { return nil }
        identities[batchID] = identity
      }
      return .discardRejected(batches, identities: identities)
    default:
      return request
    }
  }

  /// - Returns: `.some(nil)` for a batch without an identity; nil if there is no such batch or if it cannot be read.
  private func identity(ofPending batchID: BatchID) -> BatchIdentity?? {
    if let identity = awaited[batchID] { return identity }
    guard let batch = try? outbox.batch(batchID, of: user) else { return nil }
    return .some(batch.identity)
  }

  /// - Returns: `.some(nil)` for a refused batch without an identity; nil if there is no such batch or if it cannot be read.
  func identity(ofRejected batchID: BatchID, _ user: String?) -> BatchIdentity?? {
    guard let rejected = try? outbox.rejectedBatch(batchID, of: user) else { return nil }
    return .some(rejected.batch.identity)
  }
}
