public import Foundation
internal import HearthStore

/// Creates, lists and deletes the indexes of a persistent cache. See ``Firestore/persistentCacheIndexManager``.
///
/// ```swift
/// db.persistentCacheIndexManager?.enableIndexAutoCreation()
/// ```
///
/// After ``Firestore/terminate(completion:)`` every use is a programming error.
public final class PersistentCacheIndexManager: NSObject, Sendable {
  // The reference back is released when the client is terminated; until then the client lives anyway.
  private let firestore: Firestore

  init(_ firestore: Firestore) {
    self.firestore = firestore
  }

  /// Lets the client create indexes for queries that need them. A query needs an index if it has read the whole collection, at least 100
  /// documents, and more than 3.4 times its result (firebase-ios-sdk query_engine.cc, CreateCacheIndexes). A collection group gets at most
  /// 50.
  ///
  /// By default this is off, at every start of the program. Existing indexes stay.
  public func enableIndexAutoCreation() {
    firestore.runtime().setIndexAutoCreationEnabled(true)
  }

  /// Stops creating indexes. Existing ones stay and are used.
  public func disableIndexAutoCreation() {
    firestore.runtime().setIndexAutoCreationEnabled(false)
  }

  /// Deletes all indexes, including those of ``Firestore/setIndexConfiguration(_:completion:)-(String,_)``. Queries then scan. A failure of
  /// the cache's file is logged.
  public func deleteAllIndexes() {
    firestore.runtime().deleteAllIndexes { error in
      if let error { HearthLog.error("The indexes were not deleted: \(error.localizedDescription)") }
    }
  }

  /// Returns the present indexes of the cache.
  ///
  /// ```swift
  /// for index in try await db.persistentCacheIndexManager?.indexes() ?? [] { print(index) }
  /// // cities: state ASCENDING, population DESCENDING (declared, 1,204 entries, 57,344 bytes, complete)
  /// ```
  ///
  /// It counts all entries, so the time grows with their number: use it in tools and tests, not at every start.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func indexes() async throws -> [PersistentCacheIndex] {
    let outcome = Outcome<[IndexListing]>()
    firestore.runtime().listIndexes { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().map(PersistentCacheIndex.init)
  }
}
