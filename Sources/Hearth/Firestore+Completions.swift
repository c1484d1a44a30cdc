internal import Foundation

/// The completions of the application, which run on the settings' queue, and the tasks that wait in their place.
extension Firestore {
  /// - Parameter function: The call that needs the client, for the message of a programming error.
  func onCallbackQueue(
    _ completion: (((any Error)?) -> Void)?, in function: StaticString = #function
  ) -> @Sendable (NSError?) -> Void {
    callback(completion, on: runtime(in: function).callbackQueue)
  }

  func onSettingsQueue(_ completion: (((any Error)?) -> Void)?) -> @Sendable (NSError?) -> Void {
    callback(completion, on: settingsQueue)
  }

  private func callback(
    _ completion: (((any Error)?) -> Void)?, on queue: DispatchQueue
  ) -> @Sendable (NSError?) -> Void {
    guard let completion else { return { _ in } }
    let box = UncheckedSendableBox(completion)
    return { error in queue.async { box.value(error) } }
  }

  /// The completion of a call that reads.
  func onCallbackQueue<Answer: Sendable>(
    answering completion: @escaping (Answer?, (any Error)?) -> Void, in function: StaticString = #function
  ) -> @Sendable (Result<Answer, NSError>) -> Void {
    let queue = runtime(in: function).callbackQueue
    let completion = UncheckedSendableBox(completion)
    return { [self] result in
      guard reports(result.failure) else { return }
      queue.async { result.pass(to: completion.value) }
    }
  }

  /// Returns whether the application's completion of a call that reads, or waits for the backend, is called with this end of it.
  ///
  /// Once this object is terminated, such calls end without a word, as in the official SDK: calls to the backend end without their
  /// observers (firebase-ios-sdk grpc_connection.cc, Shutdown), and what would follow from them is not run (async_queue.cc,
  /// EnterRestrictedMode). Tasks get the error, because they would wait permanently.
  func reports(_ error: NSError?) -> Bool { error == nil || !isTerminated }

  nonisolated(nonsending) func outcome(
    _ operation: (@escaping @Sendable (NSError?) -> Void) -> Void
  ) async throws {
    let outcome = Outcome<Void>()
    operation { outcome.resolve($0) }
    try await outcome.value()
  }
}

extension Result where Failure == NSError {
  /// Calls a completion or a listener of the official API, which takes a value or an error.
  func pass(to callback: (Success?, (any Error)?) -> Void) {
    switch self {
    case .success(let value): callback(value, nil)
    case .failure(let error): callback(nil, error)
    }
  }
}
