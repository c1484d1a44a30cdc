internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthPlan
internal import HearthStore
internal import HearthSync
internal import HearthTransport
internal import Synchronization

/// An operation of the API that is completed exactly once: with a result, or with an error.
///
/// The methods of ``ClientRuntime`` make it. ``RunningClient`` begins it and keeps it until it is completed.
struct ClientRequest: Sendable {
  /// Starts the operation. Runs on the loop, when the cache is open.
  private(set) var begin: @Sendable (RunningClient, RequestID) -> Void
  /// Completes the operation with the sync engine's answer.
  let answer: @Sendable (Result<EngineAnswer, StatusError>) -> Void
  /// Completes the operation without the sync engine: the client cannot run, has ended, or could not start the operation.
  let fail: @Sendable (NSError) -> Void
  /// Reports how far a bundle is loaded.
  var progress: @Sendable (BundleProgress) -> Void = { _ in }
  /// True if the operation is begun again in a cache that was reopened: what changes something, and what is about the outbox, which is
  /// saved from a damaged file. Documents are not saved, so readers hear of the damage.
  var outlivesDamage = false
  /// The number of damaged caches that have refused it.
  var damageCount = 0
  /// The number from which it fails.
  static let damageLimit = 10
  /// For a switch of the network its new state, which ``ClientChoices`` repeats; nil for other operations.
  var networkState: Bool?
  /// True if it waits while another process holds the cache's file.
  var waitsForFile = false
  /// The request that ``begin`` makes of the engine; nil for other operations.
  private(set) var engineRequest: EngineRequest?

  /// The operation with another request in place of its own, of the same kind.
  func making(_ request: EngineRequest) -> ClientRequest {
    var operation = self
    operation.begin = { client, id in client.ask(request, id, inMemory: nil) }
    operation.engineRequest = request
    return operation
  }
}

// MARK: - Operations of the sync engine

extension ClientRequest {
  /// - Parameters:
  ///   - inMemory: The answer of a client whose cache is in memory; nil if the engine answers there too.
  ///   - value: Returns the result in an answer of the expected kind, nil for an answer of another kind.
  static func engine<Value: Sendable>(
    _ request: EngineRequest, inMemory: EngineAnswer? = nil,
    _ completion: @escaping @Sendable (Result<Value, NSError>) -> Void,
    value: @escaping @Sendable (EngineAnswer) -> Value?
  ) -> ClientRequest {
    ClientRequest(
      begin: { client, id in client.ask(request, id, inMemory: inMemory) },
      answer: { complete(completion, with: $0, value: value) },
      fail: { completion(.failure($0)) }, outlivesDamage: request.outlivesDamage, engineRequest: request)
  }

  /// An operation without a result.
  static func engine(
    _ request: EngineRequest, inMemory: EngineAnswer? = nil, _ completion: @escaping @Sendable (NSError?) -> Void
  ) -> ClientRequest {
    engine(request, inMemory: inMemory, { completion($0.failure) }, value: \.nothing)
  }

  static func networkSwitch(isEnabled: Bool, _ completion: @escaping @Sendable (NSError?) -> Void) -> ClientRequest {
    var request = engine(isEnabled ? .enableNetwork : .disableNetwork, completion)
    request.networkState = isEnabled
    request.waitsForFile = true
    return request
  }

  /// The loading of a bundle, whose bytes come as calls of their own.
  static func loadBundle(_ observer: BundleObserver) -> ClientRequest {
    let last = LastProgress()
    return ClientRequest(
      begin: { _, _ in },
      answer: { complete({ observer.completion($0.failure) }, with: $0, value: \.nothing) },
      fail: { error in
        observer.progress(last.failed)
        observer.completion(error)
      },
      progress: {
        last.note($0)
        observer.progress($0)
      })
  }

  /// The progress of a bundle whose loading may be ended from outside.
  private final class LastProgress: Sendable {
    private let progress = Mutex(BundleProgress.failed)

    func note(_ progress: BundleProgress) { self.progress.withLock { $0 = progress } }

    var failed: BundleProgress {
      var progress = progress.withLock { $0 }
      progress.state = .failed
      return progress
    }
  }

  private static func complete<Value>(
    _ completion: (Result<Value, NSError>) -> Void, with result: Result<EngineAnswer, StatusError>,
    value: (EngineAnswer) -> Value?
  ) {
    switch result {
    case .success(let answer):
      if let value = value(answer) { return completion(.success(value)) }
      assertionFailure("An operation got an answer of another kind: \(answer).")
      completion(.failure(.firestore(.internal, "The operation got an answer of another kind.")))
    case .failure(let error):
      completion(.failure(.firestore(error)))
    }
  }
}

// MARK: - Operations of the client itself

extension ClientRequest {
  /// The list of the user's pending writes, read in pages.
  ///
  /// - Parameter completion: Returns false if nobody hears of the result.
  static func pendingWrites(
    _ completion: @escaping @Sendable (Result<OutboxContents, NSError>) -> Bool
  ) -> ClientRequest {
    client({ _ = completion($0) }, outlivesDamage: true) { $0.listPendingWrites($1, completion) }
  }

  static func pendingWriteCount(_ completion: @escaping @Sendable (Result<Int, NSError>) -> Void) -> ClientRequest {
    client(completion, outlivesDamage: true) { client, id in
      client.read(id, completion) { try $0.outbox.batchCount(of: $1) + client.engine.heldWriteCount }
    }
  }

  static func status(_ completion: @escaping @Sendable (StatusEvent) -> Void) -> ClientRequest {
    client(completion, outlivesDamage: true) { client, id in client.readStatus(id, completion) }
  }

  static func rejectedBatches(
    _ completion: @escaping @Sendable (Result<[RejectedBatch], NSError>) -> Void
  ) -> ClientRequest {
    client(completion, outlivesDamage: true) { client, id in
      client.read(id, completion) { try $0.outbox.rejectedBatches(of: $1) }
    }
  }

  static func resolvedConflicts(
    _ completion: @escaping @Sendable (Result<[KeptConflict], NSError>) -> Void
  ) -> ClientRequest {
    client(completion, outlivesDamage: true) { client, id in
      client.read(id, completion) { try $0.outbox.resolvedConflicts(of: $1) }
    }
  }

  /// Looks a write up by its receipt.
  ///
  /// - Parameter follower: hears of the end of the write, if it still waits.
  static func receipt(
    _ identity: BatchIdentity, _ write: WriteID, _ follower: WriteCompletion,
    _ completion: @escaping @Sendable (Result<LocalStore.WriteFate, NSError>) -> Void
  ) -> ClientRequest {
    ClientRequest(
      begin: { client, id in client.followReceipt(id, identity, write, follower) },
      answer: { complete(completion, with: $0) { if case .fate(let fate) = $0 { fate } else { nil } } },
      fail: { completion(.failure($0)) }, outlivesDamage: true)
  }

  static func listIndexes(_ completion: @escaping @Sendable (Result<[IndexListing], NSError>) -> Void) -> ClientRequest
  {
    client(completion) { client, id in client.listIndexes(id, completion) }
  }

  static func measureCache(_ completion: @escaping @Sendable (Result<CacheSizes, NSError>) -> Void) -> ClientRequest {
    client(completion) { client, id in client.measureCache(id, completion) }
  }

  static func explain(
    _ query: HearthModel.Query, _ completion: @escaping @Sendable (Result<QueryExecution, NSError>) -> Void
  ) -> ClientRequest {
    client(completion) { client, id in client.explain(query, id, completion) }
  }

  static func callBackend(_ call: BackendCall) -> ClientRequest {
    client({ (result: Result<Never, NSError>) in if let error = result.failure { call.fail(error) } }) { client, id in
      client.callBackend(call, id)
    }
  }

  /// - Parameter begin: Starts work that completes the operation. The sync engine does not know of it.
  private static func client<Value: Sendable>(
    _ completion: @escaping @Sendable (Result<Value, NSError>) -> Void, outlivesDamage: Bool = false,
    begin: @escaping @Sendable (RunningClient, RequestID) -> Void
  ) -> ClientRequest {
    ClientRequest(
      begin: begin, answer: { complete(completion, with: $0, value: { _ in nil }) }, fail: { completion(.failure($0)) },
      outlivesDamage: outlivesDamage)
  }
}

extension EngineRequest {
  fileprivate var outlivesDamage: Bool {
    switch self {
    case .readDocument, .readQuery, .readAggregation, .readNamedQuery: false
    case .readPendingWrites, .waitForPendingWrites, .withdraw, .retryNow, .readFate, .discardRejected,
      .discardResolvedConflicts, .setIndexes, .deleteAllIndexes, .clear, .pin, .unpin, .readPinnedQueries,
      .enableNetwork, .disableNetwork:
      true
    }
  }
}

extension EngineAnswer {
  fileprivate var nothing: Void? { self == .done ? () : nil }
}

extension Result {
  var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}

/// A call to the backend, and the callback if it cannot be made. One of the two is called, once.
struct BackendCall: Sendable {
  /// True if the caller has another source, so that the call is not worth the wait while the client is known to be offline.
  var failsWhenOffline = false
  let run: @Sendable (FirestoreTransport) async -> Void
  let fail: @Sendable (NSError) -> Void
}
