internal import Foundation
internal import HearthModel
internal import HearthSync

extension DocumentReference {
  /// Reads the document once, as ``getDocument(source:completion:)`` with ``FirestoreSource/default``.
  public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    getDocument(source: .default, completion: completion)
  }

  /// Reads the document once.
  ///
  /// | source | online | offline |
  /// |---|---|---|
  /// | default | the backend's state, with local writes on top; with a listener to the document open, its latest state | the cached document; `unavailable` if there is none |
  /// | server | the backend's state at the time of the call or later, with local writes on top | `unavailable` |
  /// | cache | the cached document; a document known to be deleted gives `exists == false`; else `unavailable` | the same |
  ///
  /// ``FirestoreSource/server`` asks the backend even while a listener to the document is open (firebase-ios-sdk#14871). The exception is a
  /// process that shares the cache and leaves the connection to another process: there the open listener's latest state is the answer. If
  /// the process with the connection has written nothing for 10 seconds, it is asked for a sign of life first; without one the read ends as
  /// offline after 10 more seconds.
  ///
  /// Online, a missing document is a success with `exists == false`. As long as it is unknown whether the backend can be reached, reads
  /// wait for the first connection attempt, at most 10 seconds. The failure reason of `unavailable` names the cause. Errors of the backend,
  /// such as `permissionDenied`, are passed on unchanged.
  ///
  /// - Parameters:
  ///   - source: The source of the answer.
  ///   - completion: Called once on the settings' queue, with either a snapshot or an error; not called if the client is terminated before
  ///     there is an answer.
  public func getDocument(source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    get(source: source, firestore.onCallbackQueue(answering: completion))
  }

  /// Same as ``getDocument(source:completion:)`` with ``FirestoreSource/default``.
  @discardableResult
  nonisolated(nonsending) public func getDocument() async throws -> DocumentSnapshot {
    try await getDocument(source: .default)
  }

  /// Same as ``getDocument(source:completion:)``. Throws `CancellationError` when the task is cancelled.
  @discardableResult
  nonisolated(nonsending) public func getDocument(source: FirestoreSource) async throws -> DocumentSnapshot {
    let outcome = Outcome<DocumentSnapshot>()
    return try await outcome.value(ending: get(source: source) { outcome.resolve($0.mapError { $0 }) })
  }

  /// Starts listening, without calls for changes of metadata alone. See
  /// ``addSnapshotListener(includeMetadataChanges:listener:)``.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Calls the listener with the present document, and again after each change: local writes at once, and changes that the backend sends.
  ///
  /// Offline, a document that is not in the cache gives a snapshot with `exists == false` and `isFromCache == true`.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: True to call the listener even when only the metadata changed.
  ///   - listener: Called on the settings' queue, one call at a time. After an error, of the backend such as
  ///     `permissionDenied` or of the cache's file, the listener is not called any more; being offline is no error.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges), listener: listener)
  }

  /// Same as ``addSnapshotListener(includeMetadataChanges:listener:)``, with the choice of a source.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let listener = UncheckedSendableBox(listener)
    return observe(options: options, on: firestore.runtime().callbackQueue) { $0.pass(to: listener.value) }
  }

  /// The document's snapshots as a sequence, without snapshots for changes of metadata alone.
  public var snapshots: DocumentSnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The document's snapshots as a sequence.
  ///
  /// - Parameter includeMetadataChanges: True to get snapshots for changes of metadata alone, too.
  public func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence {
    DocumentSnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Listens on a queue, or directly on the client's loop for callers that must not depend on a queue that the application drains.
  func observe(
    options: SnapshotListenOptions, on queue: DispatchQueue?, in function: StaticString = #function,
    _ callback: @escaping @Sendable (Result<DocumentSnapshot, NSError>) -> Void
  ) -> ListenerHandle {
    firestore.runtime(in: function).listen(model, options: options.listenOptions, on: queue) { [self] result in
      callback(result.map { view in snapshot(view) })
    }
  }

  var model: HearthModel.Query { HearthModel.Query(path: key.path) }

  func snapshot(_ view: ViewSnapshot) -> DocumentSnapshot {
    DocumentSnapshot(
      firestore: firestore, key: key, document: view.documents.first, isFromCache: view.isFromCache,
      hasPendingWrites: view.mutatedKeys.contains(key) && !view.documents.isEmpty)
  }

  @discardableResult
  private func get(
    source: FirestoreSource, in function: StaticString = #function,
    _ completion: @escaping @Sendable (Result<DocumentSnapshot, NSError>) -> Void
  ) -> ListenerHandle? {
    let runtime = firestore.runtime(in: function)
    return runtime.instruments.read(of: key.collectionGroup, completion) { start(source, runtime, $0) }
  }

  private func start(
    _ source: FirestoreSource, _ runtime: ClientRuntime,
    _ completion: @escaping @Sendable (Result<DocumentSnapshot, NSError>) -> Void
  ) -> ListenerHandle? {
    guard source != .cache else {
      runtime.readDocument(key) { [self] result in
        completion(result.flatMap { cached($0) })
      }
      return nil
    }
    return runtime.getOnce(model, isFresh: source == .server) { [self] result in
      completion(result.flatMap { online(snapshot($0), source, $0.obstacle) })
    }
  }

  func cached(_ document: Document) -> Result<DocumentSnapshot, NSError> {
    guard document.isFound || document.isMissing else {
      return .failure(
        .firestore(
          .unavailable,
          """
          Failed to get document from cache. (However, this document may exist on the server. Run again without setting \
          source to FirestoreSource.cache to attempt to retrieve the document from the server.)
          """, reason: "Nothing is known of document \(path) in the cache."))
    }
    return .success(
      DocumentSnapshot(
        firestore: firestore, key: key, document: document, isFromCache: true,
        hasPendingWrites: document.isFound && document.hasLocalMutations))
  }

  private func online(
    _ snapshot: DocumentSnapshot, _ source: FirestoreSource, _ obstacle: OutboxObstacle?
  ) -> Result<DocumentSnapshot, NSError> {
    guard snapshot.metadata.isFromCache else { return .success(snapshot) }
    guard snapshot.exists else {
      return .failure(
        .unanswered(
          "Failed to get document because the client is offline.", obstacle,
          reason: "Document \(path) is not in the cache."))
    }
    guard source != .server else {
      return .failure(
        .unanswered(
          """
          Failed to get document from server. (However, this document does exist in the local cache. Run again without \
          setting source to FirestoreSource.server to retrieve the cached document.)
          """, obstacle, reason: "Document \(path) is only known from the cache."))
    }
    return .success(snapshot)
  }
}
