internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthPlan
internal import HearthStore
internal import HearthSync
internal import HearthTransport
internal import Synchronization

/// The configuration of a client, fixed at its start.
struct ClientConfiguration: Sendable {
  enum Cache: Equatable, Sendable {
    case file(folder: String, sizeBytes: Int64)
    case memory(MemoryCollector)
  }

  var databaseID: DatabaseID
  /// The value of the header `x-firebase-gmpid`; nil for none.
  var googleAppID: String?
  var endpoint: Endpoint
  var cache: Cache
  /// The number of clients that may have the cache at the same time.
  var cacheSharing = CacheSharing.alone
  /// Asks the clients that have the cache, if this one is to take it over.
  let endRequest = EndRequest()
  /// The longest wait for another process that holds the cache's file.
  var busyTimeout: Duration = .seconds(5)
  /// The longest wait at the start for another process that has the cache's folder.
  var folderWaitLimit = FolderWait.limit
  var outbox = OutboxSettings()
  var conflicts = ConflictSettings()
  var callbackQueue: DispatchQueue
  var credentials = ClientCredentials()
  /// PEM files; empty for the certificates that the system trusts.
  var trustedCertificateFiles: [String] = []
  /// If set, a cache that cannot be opened is replaced by one in memory. Called once, on the loop: with the error in that case, with nil
  /// on success.
  var cacheOpened: (@Sendable ((any Error)?) -> Void)?
  /// The limits that decide which queries run in the background.
  var backgroundQueryLimits = BackgroundQueryLimits.standard
  var backgroundQueue = DispatchQueue.backgroundQueries
  /// Reports changes of the network; nil for the monitor of the system.
  var connectivity: (any ConnectivityMonitor)?
  /// The bytes of watch messages that may wait for the loop; the stream is not read beyond them. A loop that takes them all at once holds
  /// as many again until it has handled them.
  var unhandledWatchBytes = 4 << 20
  /// Nothing is reported unless the program has a metrics backend or a tracer.
  var instruments = ClientInstruments()
  /// The pauses between attempts to reach the backend.
  var backoff = ExponentialBackoff.Parameters()
  /// Gives the jitter of the next pause as a fraction of its base, in `-0.5 ... 0.5`. Called on the loop, once for each pause.
  var jitter: @Sendable () -> Double = { Double.random(in: -0.5...0.5) }
}

/// A running client: one mailbox, and one loop on a serial queue that takes what is waiting, handles it and carries out the
/// resulting actions. Calls made in order take effect in order.
///
/// Every method may be called from any thread and returns at once.
final class ClientRuntime: Sendable {
  private struct Mailbox {
    var messages: [ClientLoop.Message] = []
    var isDrainScheduled = false
  }

  /// All completions and listeners of the application run here, one after the other.
  let callbackQueue: DispatchQueue
  let bundleTurns = BundleTurns()
  let pauses = Pauses()
  let instruments: ClientInstruments
  private let loopQueue: LoopQueue
  private let mailbox: Mutex<Mailbox>
  /// Locked only while a drain runs, so there is never contention.
  private let loop: Mutex<ClientLoop>
  private let lastID = Atomic<Int>(0)
  private let isStopping = Atomic<Bool>(false)

  init(_ configuration: ClientConfiguration) {
    callbackQueue = DispatchQueue(label: "hearth.callbacks", target: configuration.callbackQueue)
    instruments = configuration.instruments
    loopQueue = LoopQueue.queue(for: configuration.cache)
    loop = Mutex(ClientLoop(configuration, on: loopQueue.queue))
    mailbox = Mutex(Mailbox(messages: [.start], isDrainScheduled: true))
    loopQueue.start { self.drain() }
    configuration.credentials.users?.observe(self, known: configuration.credentials.initialUser)
  }

  /// A client that cannot run: every operation reports the error.
  init(failing error: NSError, callbackQueue: DispatchQueue) {
    self.callbackQueue = DispatchQueue(label: "hearth.callbacks", target: callbackQueue)
    instruments = ClientInstruments()
    loopQueue = LoopQueue()
    loop = Mutex(ClientLoop(failing: error, on: loopQueue.queue))
    mailbox = Mutex(Mailbox())
  }

  // MARK: - Operations

  func write(_ mutations: [Mutation], _ completion: WriteCompletion?) {
    let id = WriteID(rawValue: nextID())
    post(
      .call(
        .writes([
          WriteCall(
            write: LocalWrite(id: id, mutations: mutations, localWriteTime: .now()),
            completion: instruments.write(completion, mutationCount: mutations.count))
        ])))
  }

  /// Writes with a receipt.
  func write(_ mutations: [Mutation], resubmitting batch: BatchID? = nil, receipt completion: WriteCompletion) {
    let id = WriteID(rawValue: nextID())
    post(
      .call(
        .writes([
          WriteCall(
            write: LocalWrite(
              id: id, mutations: mutations, localWriteTime: .now(), identity: completion.receipt?.identity,
              keepsOutcome: completion.receipt != nil, resubmits: batch),
            completion: instruments.write(completion, mutationCount: mutations.count))
        ])))
  }

  /// - Parameter queue: The queue of the callback; nil calls it directly on the loop. A direct listener gets `cancelled` when the client
  ///   is terminated, the others are not called any more.
  func listen(
    _ query: HearthModel.Query, options: ListenOptions, on queue: DispatchQueue?,
    _ callback: @escaping @Sendable (SnapshotEvent) -> Void
  ) -> ListenerHandle {
    // Also that of a document, whose name may have any length.
    if let refusal = OutgoingQueryLimits.refusal(of: query) { return refuse(refusal, on: queue, callback) }
    let listener = Listener(id: ListenerID(rawValue: nextID()), queue: queue, callback: callback)
    post(.call(.listen(listener, query, options, isOneShot: false)))
    return handle(listener) { .unlisten($0) }
  }

  /// Ends a listener, or a read, that cannot begin.
  ///
  /// - Parameter queue: As in ``listen(_:options:on:_:)``.
  func refuse(
    _ error: NSError, on queue: DispatchQueue?, _ callback: @escaping @Sendable (SnapshotEvent) -> Void
  ) -> ListenerHandle {
    let listener = Listener(id: ListenerID(rawValue: nextID()), queue: queue ?? loopQueue.queue, callback: callback)
    listener.deliver(.failure(error))
    return ListenerHandle { listener.remove() }
  }

  /// Gets the first synchronised snapshot, or the first one at all when the backend cannot be reached; called on the loop.
  ///
  /// - Parameters:
  ///   - isFresh: True to ask the backend even if a listener to the same query is open.
  ///   - received: Called on the loop with the number of documents that the backend has sent so far.
  func getOnce(
    _ query: HearthModel.Query, isFresh: Bool = false, received: (@Sendable (Int) -> Void)? = nil,
    _ completion: @escaping @Sendable (SnapshotEvent) -> Void
  ) -> ListenerHandle {
    if let refusal = OutgoingQueryLimits.refusal(of: query) { return refuse(refusal, on: nil, completion) }
    var options = ListenOptions()
    options.includeDocumentMetadataChanges = true
    options.includeQueryMetadataChanges = true
    options.waitForSyncWhenOnline = true
    options.needsFreshAnswer = isFresh
    options.reportsTransfer = received != nil
    let listener = Listener(
      id: ListenerID(rawValue: nextID()), queue: nil, received: received, callback: completion)
    post(.call(.listen(listener, query, options, isOneShot: true)))
    return handle(listener, abandon: { .abandonRead($0) }) { .unlisten($0) }
  }

  func readDocument(_ key: DocumentKey, _ completion: @escaping @Sendable (Result<Document, NSError>) -> Void) {
    request(.engine(.readDocument(key), completion) { if case .document(let document) = $0 { document } else { nil } })
  }

  func readQuery(_ query: HearthModel.Query, _ completion: @escaping @Sendable (SnapshotEvent) -> Void) {
    request(.engine(.readQuery(query), completion) { if case .snapshot(let snapshot) = $0 { snapshot } else { nil } })
  }

  /// Computes aggregations on the cache.
  func aggregate(
    _ query: HearthModel.Query, _ aggregations: [Aggregation],
    _ completion: @escaping @Sendable (Result<AggregateResult, NSError>) -> Void
  ) {
    request(
      .engine(.readAggregation(query, aggregations), completion) {
        if case .aggregation(let result) = $0 { result } else { nil }
      })
  }

  /// Looks up the pending writes to documents in a query's collections; nil if they are to more documents than this.
  func pendingWrites(
    in query: HearthModel.Query, maximumDocuments: Int,
    _ completion: @escaping @Sendable (Result<[DocumentKey: [MutationBatch]]?, NSError>) -> Void
  ) {
    request(
      .engine(.readPendingWrites(query, maximumDocuments: maximumDocuments), completion) {
        if case .pendingWrites(let writes) = $0 { writes } else { nil }
      })
  }

  func setNetworkEnabled(_ isEnabled: Bool, _ completion: @escaping @Sendable (NSError?) -> Void) {
    request(.networkSwitch(isEnabled: isEnabled, completion))
  }

  func waitForPendingWrites(_ completion: @escaping @Sendable (NSError?) -> Void) {
    var waiting = ClientRequest.engine(.waitForPendingWrites, completion)
    waiting.waitsForFile = true
    request(waiting)
  }

  /// - Parameter completion: Returns false if nobody hears of the result.
  func pendingWrites(_ completion: @escaping @Sendable (Result<OutboxContents, NSError>) -> Bool) {
    request(.pendingWrites(completion))
  }

  func pendingWriteCount(_ completion: @escaping @Sendable (Result<Int, NSError>) -> Void) {
    request(.pendingWriteCount(completion))
  }

  func rejectedBatches(_ completion: @escaping @Sendable (Result<[RejectedBatch], NSError>) -> Void) {
    request(.rejectedBatches(completion))
  }

  func resolvedConflicts(_ completion: @escaping @Sendable (Result<[KeptConflict], NSError>) -> Void) {
    request(.resolvedConflicts(completion))
  }

  /// An operation of the outbox without a result.
  func outbox(_ operation: EngineRequest, _ completion: @escaping @Sendable (NSError?) -> Void) {
    request(.engine(operation, completion))
  }

  func readReceipt(
    _ identity: BatchIdentity, following follower: WriteCompletion,
    _ completion: @escaping @Sendable (Result<LocalStore.WriteFate, NSError>) -> Void
  ) {
    request(.receipt(identity, WriteID(rawValue: nextID()), follower, completion))
  }

  func observeOutbox(_ callback: @escaping @Sendable (OutboxEvent) -> Void) -> ListenerHandle {
    let listener = Listener<OutboxEvent>(id: ListenerID(rawValue: nextID()), queue: nil, callback: callback)
    post(.call(.observeOutbox(listener)))
    return handle(listener) { .unobserveOutbox($0) }
  }

  func readStatus(_ completion: @escaping @Sendable (StatusEvent) -> Void) {
    request(.status(completion))
  }

  func observeStatus(_ callback: @escaping @Sendable (StatusEvent) -> Void) -> ListenerHandle {
    let listener = Listener<StatusEvent>(id: ListenerID(rawValue: nextID()), queue: nil, callback: callback)
    post(.call(.observeStatus(listener)))
    return handle(listener) { .unobserveStatus($0) }
  }

  func readNamedQuery(
    _ name: String, _ completion: @escaping @Sendable (Result<HearthModel.Query?, NSError>) -> Void
  ) {
    request(.engine(.readNamedQuery(name), completion) { if case .query(let query) = $0 { query } else { nil } })
  }

  func setIndexes(_ definitions: [IndexDefinition], _ completion: @escaping @Sendable (NSError?) -> Void) {
    request(.engine(.setIndexes(definitions), inMemory: .done, completion))
  }

  func deleteAllIndexes(_ completion: @escaping @Sendable (NSError?) -> Void) {
    request(.engine(.deleteAllIndexes, completion))
  }

  func setIndexAutoCreationEnabled(_ isEnabled: Bool) {
    post(.call(.setIndexAutoCreation(isEnabled: isEnabled)))
  }

  func listIndexes(_ completion: @escaping @Sendable (Result<[IndexListing], NSError>) -> Void) {
    request(.listIndexes(completion))
  }

  func explain(
    _ query: HearthModel.Query, _ completion: @escaping @Sendable (Result<QueryExecution, NSError>) -> Void
  ) {
    request(.explain(query, completion))
  }

  /// Does the next step of clearing a part of the cache.
  func clear(_ run: ClearingRun, _ completion: @escaping @Sendable (Result<ClearingRun, NSError>) -> Void) {
    request(.engine(.clear(run), completion) { if case .clearing(let run) = $0 { run } else { nil } })
  }

  func setPinned(
    _ isPinned: Bool, _ query: HearthModel.Query, _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    request(.engine(isPinned ? .pin(query) : .unpin(query), completion))
  }

  func pinnedQueries(_ completion: @escaping @Sendable (Result<[HearthModel.Query], NSError>) -> Void) {
    request(.engine(.readPinnedQueries, completion) { if case .queries(let queries) = $0 { queries } else { nil } })
  }

  func measureCache(_ completion: @escaping @Sendable (Result<CacheSizes, NSError>) -> Void) {
    request(.measureCache(completion))
  }

  func beginBundle(_ observer: BundleObserver) -> RequestID {
    request(.loadBundle(observer))
  }

  /// - Parameter taken: Called once on the loop when the bytes have been read or are not needed any more, with whether the loading
  ///   continues.
  func addToBundle(_ id: RequestID, _ bytes: [UInt8], taken: @escaping @Sendable (_ wantsMore: Bool) -> Void) {
    post(.call(.bundleBytes(id, bytes, taken: taken)))
  }

  func endBundle(_ id: RequestID, _ error: StatusError?) {
    post(.call(.bundleEnded(id, error)))
  }

  /// Makes a call to the backend outside the streams. Fails with `unavailable` at once while the network is disabled, and with `cancelled`
  /// when the client is stopped.
  ///
  /// - Parameters:
  ///   - failsWhenOffline: True to fail with `unavailable` also when the last attempt to reach the backend has failed.
  ///   - completion: Called once, from any thread.
  func callBackend<Answer: Sendable>(
    failsWhenOffline: Bool = false,
    _ body: @escaping @Sendable (FirestoreTransport) async throws(StatusError) -> Answer,
    _ completion: @escaping @Sendable (Result<Answer, NSError>) -> Void
  ) {
    let call = BackendCall(
      failsWhenOffline: failsWhenOffline,
      run: { [weak self] transport in
        do throws(StatusError) {
          completion(.success(try await body(transport)))
        } catch {
          let isStopped = self?.isStopping.load(ordering: .relaxed) ?? true
          completion(.failure(isStopped ? .terminated : .firestore(error)))
        }
      }, fail: { completion(.failure($0)) })
    request(.callBackend(call))
  }

  func addSnapshotsInSyncListener(_ callback: @escaping @Sendable () -> Void) -> ListenerHandle {
    let listener = Listener<Void>(id: ListenerID(rawValue: nextID()), queue: callbackQueue, callback: callback)
    post(.call(.listenForSync(listener)))
    return handle(listener) { .unlistenForSync($0) }
  }

  /// - Parameter abandon: Makes the call that says that nobody waits for a read; nil for another listener.
  private func handle<Event>(
    _ listener: Listener<Event>, abandon: (@Sendable (ListenerID) -> ClientCall)? = nil,
    _ call: @escaping @Sendable (ListenerID) -> ClientCall
  ) -> ListenerHandle {
    ListenerHandle(
      onRemove: { [weak self] in
        listener.remove()
        self?.post(.call(call(listener.id)))
      },
      onAbandon: { [weak self] in
        if let abandon { self?.post(.call(abandon(listener.id))) }
      })
  }

  /// Closes everything; the cache's file is released when the completion is called. Repeated calls are harmless.
  ///
  /// - Parameter completion: Gets an error in the first call if there are writes that could not be stored.
  func stop(_ completion: @escaping @Sendable (NSError?) -> Void) {
    isStopping.store(true, ordering: .relaxed)
    post(.stop(completion))
    pauses.end()
  }

  @discardableResult
  private func request(_ request: ClientRequest) -> RequestID {
    let id = RequestID(rawValue: nextID())
    post(.call(.request(id, request)))
    return id
  }

  // MARK: - Mailbox

  private func nextID() -> Int {
    lastID.add(1, ordering: .relaxed).newValue
  }

  func post(_ message: ClientLoop.Message) {
    let mustSchedule = mailbox.withLock { mailbox in
      mailbox.messages.append(message)
      defer { mailbox.isDrainScheduled = true }
      return !mailbox.isDrainScheduled
    }
    if mustSchedule { loopQueue.queue.async { self.drain() } }
  }

  private func drain() {
    while let messages = takeMessages() {
      let (pause, isEnding) = loop.withLock { loop in
        loop.handle(messages) { [weak self] in self?.post($0) }
        return (loop.takePause(), loop.awaitsAnswers)
      }
      loopQueue.note(self, isEnding: isEnding)
      // Retains the runtime: calls that wait for the folder are answered even if the client is released.
      if let pause { loopQueue.queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { self.post(.openAgain) } }
    }
  }

  private func takeMessages() -> [ClientLoop.Message]? {
    mailbox.withLock { mailbox in
      guard !mailbox.messages.isEmpty else {
        mailbox.isDrainScheduled = false
        return nil
      }
      defer { mailbox.messages = [] }
      return mailbox.messages
    }
  }
}

extension ClientRuntime: UserObserver {
  /// Operations that were called before belong to the former user, those called afterwards to this one.
  func userChanged(to user: RequestUser) {
    post(.call(.changeUser(user.name)))
  }
}

extension DispatchQueue {
  /// Stops a debug build that calls this from elsewhere.
  func assertIsCurrent() {
    assert(
      {
        dispatchPrecondition(condition: .onQueue(self))
        return true
      }())
  }
}
