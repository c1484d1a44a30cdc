/// The order in which a one-time read asks the cache and the backend, and the time that it waits. See
/// ``DocumentReference/getDocument(policy:)`` and ``Query/getDocuments(policy:)``.
///
/// | policy | the backend answers | the backend cannot be reached, or not in time |
/// |---|---|---|
/// | `server(within:)` | its answer | the cache's answer, even if it is incomplete; an error for an unknown document |
/// | `cacheFirst` | asked only if the cache has nothing useful | the cache's answer, even if it is incomplete; an error for an unknown document |
/// | `cacheElseServer` | asked only if the cache cannot answer for sure | the error `unavailable` |
///
/// The metadata's `isFromCache` says which of the two has answered. Local writes are part of every answer. An error of the backend, such as
/// `permissionDenied`, or of the cache's file is thrown; there is no fallback to the other source. The backend is asked as with
/// ``FirestoreSource/server``, even while a listener to the same query is open.
public enum ReadPolicy: Sendable, Hashable {
  /// Asks the backend, and answers from the cache when the time is over, or as soon as the backend is known to be unreachable.
  ///
  /// After that time the read goes on in the background, and a late answer is in the cache for the next read. It ends instead if a listener
  /// to the same query is open, because the listener fetches the result as well, and if the caller's task is cancelled. With zero or a
  /// negative time the cache answers at once.
  case server(within: Duration)

  /// Answers from the cache if it has something useful: the document, or the knowledge that it does not exist; for a query at least
  /// one document, or a result that is known to be complete (``QuerySnapshot/completeness``). Otherwise asks the backend, and falls
  /// back to the cache.
  case cacheFirst

  /// Answers from the cache if its answer is certain: it has the document, or knows that it does not exist; or the query's result is known
  /// to be complete, as of the last time that the query was in sync. Otherwise asks the backend, and fails with `unavailable` if the
  /// backend cannot be reached.
  case cacheElseServer
}
