internal import Foundation
internal import HearthModel
internal import HearthSync

extension Query {
  /// Runs the query once, as ``getDocuments(source:completion:)`` with ``FirestoreSource/default``.
  public func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
    getDocuments(source: .default, completion: completion)
  }

  /// Runs the query once.
  ///
  /// By default the answer comes from the backend, with local writes on top, or from the cache when the backend cannot be reached; an empty
  /// cache then gives an empty result with `isFromCache == true`. While a listener to the same query is open, the answer is that listener's
  /// latest state. With ``FirestoreSource/server`` the backend is asked even then, and being offline is the error `unavailable`. With
  /// ``FirestoreSource/cache`` the backend is never asked.
  ///
  /// As long as it is unknown whether the backend can be reached, reads wait for the first connection attempt, at most 10 seconds. If a
  /// pending write has removed a document from a result that fills its limit, or has moved it back, the read waits until the write is
  /// answered, because only then the backend sends the document that takes its place. After ten seconds, or when the client is offline, the
  /// read gets the cache's result, or with ``FirestoreSource/server`` the error `unavailable`, whose failure reason names the cause. Errors
  /// of the backend, such as `permissionDenied` or `failedPrecondition` for a missing index, are passed on unchanged. A query with
  /// ``limit(toLast:)`` and without an order is a programming error when it runs.
  ///
  /// - Parameters:
  ///   - source: The source of the answer.
  ///   - completion: Called once on the settings' queue, with either a snapshot or an error; not called if the client is terminated before
  ///     there is an answer.
  public func getDocuments(source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
    get(source: source, firestore.onCallbackQueue(answering: completion))
  }

  /// Same as ``getDocuments(source:completion:)`` with ``FirestoreSource/default``.
  @discardableResult
  nonisolated(nonsending) public func getDocuments() async throws -> QuerySnapshot {
    try await getDocuments(source: .default)
  }

  /// Same as ``getDocuments(source:completion:)``. Throws `CancellationError` when the task is cancelled.
  @discardableResult
  nonisolated(nonsending) public func getDocuments(source: FirestoreSource) async throws -> QuerySnapshot {
    let outcome = Outcome<QuerySnapshot>()
    return try await outcome.value(ending: get(source: source) { outcome.resolve($0.mapError { $0 }) })
  }

  /// Starts listening, without calls for changes of metadata alone. See
  /// ``addSnapshotListener(includeMetadataChanges:listener:)``.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Calls the listener with the query's result, and again after each change: local writes at once, and changes that the backend sends.
  ///
  /// The first call comes from the cache when it holds matching documents or the device is offline, so the result may be
  /// incomplete until `isFromCache` is false.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: True to call the listener even when only metadata changed, such as `isFromCache`.
  ///   - listener: Called on the settings' queue, one call at a time. After an error, of the backend such as
  ///     `permissionDenied` or of the cache's file, the listener is not called any more; being offline is no error.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges), listener: listener)
  }

  /// Same as ``addSnapshotListener(includeMetadataChanges:listener:)``, with the choice of a source.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let listener = UncheckedSendableBox(listener)
    return observe(options: options, on: firestore.runtime().callbackQueue) { $0.pass(to: listener.value) }
  }

  /// The query's snapshots as a sequence, without snapshots for changes of metadata alone.
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The query's snapshots as a sequence.
  ///
  /// - Parameter includeMetadataChanges: True to get snapshots for changes of metadata alone, too.
  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Listens on a queue, or directly on the client's loop for callers that must not depend on a queue that the application drains.
  func observe(
    options: SnapshotListenOptions, on queue: DispatchQueue?, in function: StaticString = #function,
    _ callback: @escaping @Sendable (Result<QuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle {
    requireRunnable(in: function)
    let runtime = firestore.runtime(in: function)
    let callback = { @Sendable [self] (result: SnapshotEvent) in
      callback(result.map { QuerySnapshot(query: self, view: $0) })
    }
    if let fault { return runtime.refuse(fault, on: queue, callback) }
    return runtime.listen(model, options: options.listenOptions, on: queue, callback)
  }

  /// The id of the collection, or of the group, that the query reads.
  var collectionName: String? { model.collectionGroup ?? model.path.last }

  /// - Parameter function: The call that runs the query, for the message of a programming error.
  func requireRunnable(in function: StaticString = #function) {
    requireValid(in: function) { () throws(ProgrammingError) in try QueryBuilder.validateForRunning(model) }
  }

  /// Same as ``requireRunnable(in:)``, for calls that throw.
  func checkRunnable(in function: StaticString = #function) throws {
    requireRunnable(in: function)
    if let fault { throw fault }
  }

  @discardableResult
  private func get(
    source: FirestoreSource, in function: StaticString = #function,
    _ completion: @escaping @Sendable (Result<QuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle? {
    requireRunnable(in: function)
    let runtime = firestore.runtime(in: function)
    return runtime.instruments.read(of: collectionName, completion) { start(source, runtime, $0) }
  }

  private func start(
    _ source: FirestoreSource, _ runtime: ClientRuntime,
    _ completion: @escaping @Sendable (Result<QuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle? {
    if let fault {
      return runtime.refuse(fault, on: nil) { _ in completion(.failure(fault)) }
    }
    guard source != .cache else {
      runtime.readQuery(model) { [self] result in
        completion(result.map { QuerySnapshot(query: self, view: $0) })
      }
      return nil
    }
    return runtime.getOnce(model, isFresh: source == .server) { [self] result in
      completion(
        result.flatMap { view in
          guard source == .server, !view.isAnswered else { return .success(QuerySnapshot(query: self, view: view)) }
          return .failure(
            .unanswered(
              """
              Failed to get documents from server. (However, these documents may exist in the local cache. Run again \
              without setting source to FirestoreSource.server to retrieve the cached documents.)
              """, view.obstacle))
        })
    }
  }
}
