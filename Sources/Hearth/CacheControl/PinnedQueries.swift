internal import HearthCache
internal import HearthModel
internal import HearthStore

extension Query {
  /// Keeps the query's result in the cache: garbage collection spares it from now on, even if it is not used for a long time.
  ///
  /// ```swift
  /// let catalogue = db.collection("products").whereField("inStock", isEqualTo: true)
  /// try await catalogue.pin()
  /// try await catalogue.prefetch()
  /// ```
  ///
  /// The pin belongs to the cache: it holds after a restart and for all processes that share the cache, until ``unpin()``. It keeps:
  ///
  /// - the documents that the backend has confirmed for the query. A query that was never listened to or fetched has none yet; see
  ///   ``prefetch(within:)``;
  /// - the documents that match the query without being confirmed for it, such as a document that the user has written and the backend has
  ///   acknowledged. If the query has a limit, these are the documents that sort within the confirmed ones, and after them the user's own
  ///   documents until the backend has sent them.
  ///
  /// The documents count towards the size of the cache. If they exceed the size, everything else is removed.
  /// ``Firestore/clearCache(_:securely:progress:)`` removes them all the same. A cache in memory forgets its pins with its documents, and
  /// so does a damaged cache that is replaced. Works offline; pinning twice is harmless.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func pin() async throws {
    try checkRunnable()
    try await firestore.outcome { firestore.runtime().setPinned(true, model, $0) }
  }

  /// Lets garbage collection treat the query like every other one again. Does nothing for a query that is not pinned. Works offline.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func unpin() async throws {
    requireRunnable()
    try await firestore.outcome { firestore.runtime().setPinned(false, model, $0) }
  }
}

extension Firestore {
  /// Returns the pinned queries of this cache, oldest pin first. See ``Query/pin()``. Works offline.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func pinnedQueries() async throws -> [Query] {
    let outcome = Outcome<[HearthModel.Query]>()
    runtime().pinnedQueries { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().map { Query(firestore: self, model: $0) }
  }

  /// Returns the sizes of the cache: of its file, of each collection and of each pinned query.
  ///
  /// It reads a part of every page with documents, concurrently with other operations: about a tenth of a second of processor time for a
  /// million documents. Works offline.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func cacheReport() async throws -> CacheReport {
    let outcome = Outcome<CacheSizes>()
    runtime().measureCache { outcome.resolve($0.mapError { $0 }) }
    return CacheReport(try await outcome.value(), firestore: self)
  }
}

/// The sizes of a cache at one moment. See ``Firestore/cacheReport()``.
public struct CacheReport: Sendable {
  /// The documents of one collection, without those of its subcollections.
  public struct CollectionSize: Sendable, Hashable {
    /// The collection's path from the database's root.
    public let path: String
    /// The number of documents in the cache, without those that are known not to exist.
    public let documentCount: Int
    /// The bytes of their fields as they are stored, without keys and index entries.
    public let documentBytes: Int64
  }

  /// The documents that are kept for one pinned query. A document of several queries counts for each.
  public struct PinnedQuerySize: Sendable {
    /// The query.
    public let query: Query
    /// The number of documents that the backend has confirmed for it.
    public let documentCount: Int
    /// The bytes of their fields as they are stored.
    public let documentBytes: Int64
    /// The time of the last stored snapshot of the query, by the backend's clock; nil if the cache has no result of it.
    public let lastSnapshotTime: Timestamp?
  }

  /// The size of the file in bytes, with its unused parts and without the write-ahead log; for a cache in memory, the memory that it takes.
  public let fileBytes: Int64
  /// The used part of the file, in bytes.
  public let usedBytes: Int64
  /// The size of the write-ahead log in bytes. It grows while a process that shares the cache is stopped in the middle of a read; otherwise
  /// it stays below a few times 16 MB. 0 for a cache in memory.
  public let logBytes: Int64
  /// The number of writes in the outboxes of all users of this device, where a batch counts as one. Each is in the file and not answered by
  /// the backend; ``Firestore/clearPersistence(completion:)`` deletes them. Writes that wait in memory for the file are not among them:
  /// ``Firestore/pendingWrites()``, which lists those of the present user, throws while there are some.
  public let pendingWriteCount: Int
  /// The sizes of the collections, in the order of their paths.
  public let collections: [CollectionSize]
  /// The sizes of the pinned queries, oldest pin first.
  public let pinnedQueries: [PinnedQuerySize]

  init(_ sizes: CacheSizes, firestore: Firestore) {
    fileBytes = sizes.fileBytes
    usedBytes = sizes.usedBytes
    logBytes = sizes.logBytes
    pendingWriteCount = sizes.batchCount
    collections = sizes.collections.map {
      CollectionSize(
        path: $0.path.canonicalString, documentCount: $0.documentCount, documentBytes: $0.fieldsBytes)
    }
    pinnedQueries = sizes.pinnedQueries.map {
      PinnedQuerySize(
        query: Query(firestore: firestore, model: $0.query), documentCount: $0.documentCount,
        documentBytes: $0.fieldsBytes,
        lastSnapshotTime: $0.snapshotVersion > .none ? Timestamp($0.snapshotVersion.timestamp) : nil)
    }
  }
}
