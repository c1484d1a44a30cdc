package import HearthCache
package import HearthModel

/// An operation that the engine answers once: with ``SyncAction/answer(_:_:)`` or with ``SyncAction/requestFailed(_:_:)``.
///
/// ``SyncEvent/shutdown`` and a hand-over to another engine drop the open requests; the owner of the engine ends them.
package enum EngineRequest: Equatable, Sendable {
  /// Reads one document, local writes included, from the cache. Answered with a document; one about which the cache knows nothing is
  /// `unknown`.
  case readDocument(DocumentKey)
  /// Runs a query, local writes included, on the cache. Answered with a snapshot.
  case readQuery(Query)
  /// Computes aggregations of a query's result, local writes included, on the cache. Answered with an aggregation.
  case readAggregation(Query, [Aggregation])
  /// Looks up the user's pending writes to documents in a query's collections. Answered with pending writes.
  case readPendingWrites(Query, maximumDocuments: Int)
  /// Looks up the query that a bundle gave a name to. Answered with a query.
  case readNamedQuery(String)

  /// Answered when the backend has answered all writes that the user has made before.
  case waitForPendingWrites

  /// Takes a batch out of the user's outbox that was not sent, or, if asked for, one whose fate stays open then. Answered when it is gone.
  ///
  /// The identity is that of the batch that is meant; nil to go by the number alone. A cache that was reopened may have another batch under
  /// the number.
  case withdraw(BatchID, evenIfSent: Bool, identity: BatchIdentity? = nil)
  /// Ends the pauses between attempts to reach the backend. Answered at once.
  case retryNow
  /// Looks a write up by its identity. Answered with its fate. If it still waits, its end is reported as that of the given write.
  case readFate(BatchIdentity, WriteID)
  /// Forgets these of the user's refused batches; nil for all of them. The identities are as for ``withdraw(_:evenIfSent:identity:)``.
  case discardRejected([BatchID]?, identities: [BatchID: BatchIdentity] = [:])

  /// Forgets these of the user's resolved conflicts; nil for all of them.
  case discardResolvedConflicts([KeptConflict.ID]?)

  /// Makes these the indexes of the cache. Answered when they are stored, not when they are filled.
  case setIndexes([IndexDefinition])
  case deleteAllIndexes

  /// Does the next step of clearing a part of the cache. Answered with the run as it is then.
  case clear(ClearingRun)
  /// Lets garbage collection spare the documents of a query. Answered when it is stored.
  case pin(Query)
  case unpin(Query)
  /// Answered with the pinned queries.
  case readPinnedQueries

  case enableNetwork
  case disableNetwork
}

/// The result of an ``EngineRequest``, or of a bundle's loading, that has succeeded.
package enum EngineAnswer: Equatable, Sendable {
  case done
  case document(Document)
  case snapshot(ViewSnapshot)
  case aggregation(AggregateResult)
  /// The parts of the pending batches for each document, in order; nil for more documents than asked for.
  case pendingWrites([DocumentKey: [MutationBatch]]?)
  /// Nil if no bundle gave the name to a query.
  case query(Query?)
  case fate(LocalStore.WriteFate)
  case clearing(ClearingRun)
  case queries([Query])
}
