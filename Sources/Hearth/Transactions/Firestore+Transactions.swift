internal import HearthModel

#if canImport(ObjectiveC)
  // For `NSErrorPointer`, which elsewhere is declared in this module.
  public import Foundation
#else
  internal import Foundation
#endif

extension Firestore {
  /// Runs a block that reads documents and then writes documents. The writes take effect together, and only if the documents that were read
  /// are unchanged.
  ///
  /// ```swift
  /// db.runTransaction { transaction, errorPointer in
  ///   do {
  ///     let snapshot = try transaction.getDocument(city)
  ///     let population = snapshot.get("population") as? Int ?? 0
  ///     transaction.updateData(["population": population + 1], forDocument: city)
  ///     return population + 1
  ///   } catch {
  ///     errorPointer?.pointee = error as NSError
  ///     return nil
  ///   }
  /// } completion: { result, error in
  ///   print(result ?? error ?? "nothing")
  /// }
  /// ```
  ///
  /// No documents are locked: if a document that was read changes before the commit, the block runs again, after a pause that grows from
  /// about a second; at most five times altogether. It runs on a thread of its own, at most 64 blocks at once, and must not change the
  /// program's state. Transactions need the backend: nothing is queued, listeners see the writes after the backend's commit, and offline
  /// the attempts end with `unavailable`.
  ///
  /// As with the official SDK, an attempt whose commit ends with a transient error is repeated, even if only the answer was lost. Then the
  /// backend may have committed the writes, and the block runs again on their result. So a value that must not be counted twice needs a
  /// document that records that it has been counted, or a write through the outbox, which `hearth serve` applies once.
  ///
  /// - Parameters:
  ///   - updateBlock: Returns the result. If it stores an error, nothing is written. After a retryable error of ``FirestoreErrorDomain``,
  ///     such as `aborted`, the block runs again; every other error ends the transaction.
  ///   - completion: Called once on the settings' queue with the result of the last run, or with an error: `aborted` or
  ///     `failedPrecondition` when the documents kept changing, and errors of the backend. Not called with an error once the client is
  ///     terminated.
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?, completion: @escaping (Any?, (any Error)?) -> Void
  ) {
    runTransaction(with: nil, block: updateBlock, completion: completion)
  }

  /// Same as ``runTransaction(_:completion:)``, with options; nil means the default options.
  public func runTransaction(
    with options: TransactionOptions?, block updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    completion: @escaping (Any?, (any Error)?) -> Void
  ) {
    let queue = runtime().callbackQueue
    let completion = UncheckedSendableBox(completion)
    run(updateBlock, options) { [self] result in
      guard reports(result.value.failure) else { return }
      queue.async {
        switch result.value {
        case .success(let value): completion.value(value, nil)
        case .failure(let error): completion.value(nil, error)
        }
      }
    }
  }

  /// Same as ``runTransaction(_:completion:)``. A cancelled task gets `CancellationError`, but the transaction itself goes on.
  nonisolated(nonsending) public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?
  ) async throws -> sending Any? {
    _ = runtime()
    let outcome = Outcome<UncheckedSendableBox<Any?>>()
    run({ updateBlock($0, $1) }, nil) { result in
      outcome.resolve(result.value.map { UncheckedSendableBox($0) }.mapError { $0 })
    }
    // The block sends its result, `TransactionRunner` passes it on without keeping it, and an `Outcome` gives it out once: this is the
    // only reference that is used from here on.
    nonisolated(unsafe) let value = try await outcome.value().value
    return value
  }

  private func run(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?, _ options: TransactionOptions?,
    _ completion: @escaping @Sendable (UncheckedSendableBox<Result<Any?, NSError>>) -> Void
  ) {
    let updateBlock = UncheckedSendableBox(updateBlock)
    let report = (try? startedRuntime())?.instruments.transaction()
    TransactionRunner(
      firestore: self, maxAttempts: options?.maxAttempts ?? TransactionOptions().maxAttempts,
      block: { transaction in UncheckedSendableBox(Firestore.outcome(of: updateBlock.value, transaction)) },
      completion: { result in
        report?(result.value.failure)
        completion(result)
      }
    ).run()
  }

  private static func outcome(
    of updateBlock: (Transaction, NSErrorPointer) -> Any?, _ transaction: Transaction
  ) -> TransactionRunner.BlockOutcome {
    var error: NSError?
    #if canImport(ObjectiveC)
      let value = updateBlock(transaction, &error)
    #else
      let value = withUnsafeMutablePointer(to: &error) { updateBlock(transaction, $0) }
    #endif
    return error.map { .error($0) } ?? .value(value)
  }
}
