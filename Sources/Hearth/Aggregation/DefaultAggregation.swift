internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

/// An aggregation by the backend with the pending writes on top, or on the cache when the backend cannot be reached.
///
/// 1. The pending writes in the query's collections are looked up. Without any, the backend's values are the result.
/// 2. Else the backend is asked for the values, and for the documents of those writes at the version of the values.
/// 3. The pending writes are looked up again. If they are the same, ``PendingAdjustment`` computes the result, else it starts again.
/// 4. Where that is not enough, the query is run, and its result aggregated here.
struct DefaultAggregation: Sendable {
  private static let maximumAttempts = 3

  /// The part of the backend.
  private struct Answer: Sendable {
    var values: [String: Value]
    var readTime: SnapshotVersion?
    /// Nil if the backend did not give their state at that time.
    var documents: [Document]?
  }

  /// The reading of the query, in step 4.
  private final class Reading: Sendable {
    private struct State {
      var handle: ListenerHandle?
      var isWanted = true
    }

    private let state = Mutex(State())

    func begin(_ start: () -> ListenerHandle) {
      guard state.withLock({ $0.isWanted }) else { return }
      let handle = start()
      let isWanted = state.withLock { state in
        if state.isWanted { state.handle = handle }
        return state.isWanted
      }
      if !isWanted { handle.remove() }
    }

    func end() {
      let handle = state.withLock { state in
        state.isWanted = false
        return state.handle.take()
      }
      handle?.remove()
    }
  }

  private let runtime: ClientRuntime
  private let query: HearthModel.Query
  private let aggregations: [Aggregation]
  /// The time that the backend has for the calls of one attempt together.
  private let timeout: Duration
  private let completion: @Sendable (Result<AggregateResult, NSError>) -> Void
  private let reading = Reading()

  /// - Parameter timeout: The time that the backend has. A listener waits as long before it shows the cache (firebase-ios-sdk
  ///   online_state_tracker.cc, kOnlineStateTimeout).
  init(
    _ runtime: ClientRuntime, _ query: HearthModel.Query, _ aggregations: [Aggregation],
    timeout: Duration = .seconds(10),
    _ completion: @escaping @Sendable (Result<AggregateResult, NSError>) -> Void
  ) {
    self.runtime = runtime
    self.query = query
    self.aggregations = aggregations
    self.timeout = timeout
    self.completion = completion
  }

  /// - Returns: Ends the reading of the query for a caller that does not wait any more.
  func run() -> ListenerHandle {
    attempt(1)
    return ListenerHandle { [reading] in reading.end() }
  }

  private func attempt(_ number: Int) {
    readPendingWrites { writes in
      if let writes, writes.isEmpty { return askBackend() }
      guard number <= Self.maximumAttempts, let writes,
        let adjustment = PendingAdjustment(of: query, aggregations, for: writes)
      else { return runQuery() }
      askBackend(adjustment) { answer in adjust(answer, by: adjustment, writes, number) }
    }
  }

  private func readPendingWrites(_ next: @escaping @Sendable ([DocumentKey: [MutationBatch]]?) -> Void) {
    runtime.pendingWrites(in: query, maximumDocuments: PendingAdjustment.maximumDocuments) { result in
      switch result {
      case .success(let writes): next(writes)
      case .failure(let error): completion(.failure(error))
      }
    }
  }

  private func askBackend() {
    let deadline = ContinuousClock.now + timeout
    runtime.callBackend(
      failsWhenOffline: true,
      { [query, aggregations] transport throws(StatusError) in
        AggregateResult(backend: try await transport.aggregate(query, aggregations, until: deadline))
      }, { result in fallBack(result) { completion(.success($0)) } })
  }

  private func askBackend(_ adjustment: PendingAdjustment, _ next: @escaping @Sendable (Answer) -> Void) {
    let deadline = ContinuousClock.now + timeout
    runtime.callBackend(
      failsWhenOffline: true,
      { [query] transport throws(StatusError) in
        let (values, readTime) = try await transport.aggregate(query, adjustment.aggregations, until: deadline)
        guard let readTime else { return Answer(values: values) }
        do throws(StatusError) {
          let documents = try await transport.batchGetDocuments(adjustment.keys, at: readTime, until: deadline)
          return Answer(values: values, readTime: readTime, documents: documents)
        } catch {
          if error.meansOutOfReach { throw error }
          // Not every backend reads at a time, and rules may allow to query documents that they do not allow to get.
          return Answer(values: values)
        }
      }, { result in fallBack(result, next) })
  }

  /// Takes the backend's answer, or the cache's if the backend cannot be reached.
  private func fallBack<Answer>(_ result: Result<Answer, NSError>, _ next: (Answer) -> Void) {
    switch result {
    case .success(let answer): next(answer)
    case .failure(let error) where error.meansOutOfReach: runtime.aggregate(query, aggregations, completion)
    case .failure(let error): completion(.failure(error))
    }
  }

  private func adjust(
    _ answer: Answer, by adjustment: PendingAdjustment, _ writes: [DocumentKey: [MutationBatch]], _ number: Int
  ) {
    guard let documents = answer.documents, let readTime = answer.readTime else { return runQuery() }
    readPendingWrites { present in
      guard present == writes else { return attempt(number + 1) }
      do throws(StatusError) {
        guard var result = try adjustment.adjust(answer.values, documents: documents, version: readTime) else {
          return runQuery()
        }
        let aliases = Set(aggregations.map(\.alias))
        result.values = result.values.filter { aliases.contains($0.key) }
        completion(.success(result))
      } catch {
        completion(.failure(.firestore(error)))
      }
    }
  }

  private func runQuery() {
    reading.begin {
      runtime.getOnce(LiveAggregation.listened(query, for: aggregations)) { [query, aggregations] result in
        completion(
          result.flatMap { view in
            do throws(StatusError) {
              return .success(try LiveAggregation.result(of: aggregations, over: query, in: view))
            } catch {
              return .failure(.firestore(error))
            }
          })
      }
    }
  }
}

extension AggregateResult {
  /// A result that the backend has computed.
  init(backend answer: (values: [String: Value], readTime: SnapshotVersion?)) {
    self.init(
      values: answer.values, isFromCache: false, hasPendingWrites: false,
      completeness: .complete(asOf: answer.readTime ?? .none))
  }
}

extension StatusError {
  fileprivate var meansOutOfReach: Bool { code == .unavailable || code == .deadlineExceeded }
}

extension NSError {
  fileprivate var meansOutOfReach: Bool {
    domain == FirestoreErrorDomain
      && [FirestoreErrorCode.unavailable.rawValue, FirestoreErrorCode.deadlineExceeded.rawValue].contains(code)
  }
}
