internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

/// Runs a transaction's block, commits its writes, and repeats both after a conflict.
///
/// Between the attempts there is a pause that grows from one second by half up to a minute, varied by up to half of itself
/// (firebase-ios-sdk transaction_runner.cc and exponential_backoff.cc); before the first there is none.
final class TransactionRunner: Sendable {
  /// The block's result, its error, or the state in which it must not continue.
  enum BlockOutcome {
    case value(Any?)
    case error(NSError)
  }

  private struct State {
    var remainingAttempts: Int
    var backoff = ExponentialBackoff(parameters: .init(), now: .zero)
  }

  private let firestore: Firestore
  private let block: @Sendable (Transaction) -> UncheckedSendableBox<BlockOutcome>
  private let completion: @Sendable (UncheckedSendableBox<Result<Any?, NSError>>) -> Void
  private let state: Mutex<State>

  /// The threads of transaction blocks, which wait for the network.
  private static let threads = WaitingThreads(name: "hearth.transactions")

  /// - Parameter completion: Called once, from any thread.
  init(
    firestore: Firestore, maxAttempts: Int,
    block: @escaping @Sendable (Transaction) -> UncheckedSendableBox<BlockOutcome>,
    completion: @escaping @Sendable (UncheckedSendableBox<Result<Any?, NSError>>) -> Void
  ) {
    self.firestore = firestore
    self.block = block
    self.completion = completion
    state = Mutex(State(remainingAttempts: maxAttempts))
  }

  func run() {
    let delay = state.withLock { state in
      state.remainingAttempts -= 1
      return state.backoff.nextDelay(now: .zero, jitter: Double.random(in: -0.5...0.5))
    }
    guard delay > .zero else { return Self.threads.run(attempt) }
    do throws(ProgrammingError) {
      try firestore.startedRuntime().pauses.run(after: delay) { [self] in Self.threads.run(attempt) }
    } catch {
      failed(.terminated)
    }
  }

  private func attempt() {
    // The block is not run for a client that has ended: it usually begins by using references, which would stop the process.
    guard !firestore.isTerminated else { return failed(.terminated) }
    let transaction = Transaction(firestore: firestore)
    let outcome = block(transaction)
    let commit = Result { () throws(StatusError) in try transaction.finish() }
    switch (outcome.value, commit) {
    case (.error(let error), _): failed(error)
    case (.value, .failure(let refusal)): failed(.firestore(refusal))
    case (.value(let value), .success(let mutations)): send(mutations, value, for: transaction.user)
    }
  }

  private func send(_ mutations: [Mutation], _ value: Any?, for user: TransactionUser) {
    guard !mutations.isEmpty else { return succeeded(value) }
    if let refusal = OutgoingWriteLimits.refusal(of: mutations, databaseID: firestore.databaseID) {
      return failed(refusal)
    }
    let result = UncheckedSendableBox(value)
    do throws(ProgrammingError) {
      try firestore.startedRuntime().callBackend { transport throws(StatusError) in
        try user.hold()
        _ = try await transport.commit(mutations)
      } _: { answer in
        switch answer {
        case .success: self.succeeded(result.value)
        case .failure(let error): self.failed(error)
        }
      }
    } catch {
      failed(.terminated)
    }
  }

  private func succeeded(_ value: Any?) {
    completion(UncheckedSendableBox(.success(value)))
  }

  private func failed(_ error: NSError) {
    let isRetryable =
      error.domain == FirestoreErrorDomain
      && StatusCode(rawValue: error.code).map(TransactionRecord.mayRetry(after:)) ?? false
    if isRetryable, !firestore.isTerminated, state.withLock({ $0.remainingAttempts > 0 }) {
      run()
    } else {
      completion(UncheckedSendableBox(.failure(error)))
    }
  }
}
