internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

/// Runs a transaction's block, commits what it wrote, and does both again after a conflict.
///
/// Between the attempts there is a pause that grows from one second by half up to a minute, moved by up to half of itself
/// (official SDK behaviour); before the first there is none.
final class TransactionRunner: Sendable {
  /// The block's result, its error, or the state in which it must not go on.
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

  /// Blocks of transactions wait for the network, so they get threads that nobody else needs.
  private static let queue = DispatchQueue(label: "hearth.transactions", attributes: .concurrent)

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
    let milliseconds = Int(delay / .milliseconds(1))
    TransactionRunner.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.attempt() }
  }

  private func attempt() {
    let transaction = Transaction(firestore: firestore)
    let outcome = block(transaction)
    let mutations: [Mutation]
    let value: Any?
    do {
      mutations = try transaction.finish()
      switch outcome.value {
      case .error(let error): return failed(error)
      case .value(let result): value = result
      }
    } catch {
      return failed(.firestore(error))
    }
    guard !mutations.isEmpty else { return succeeded(value) }
    let result = UncheckedSendableBox(value)
    do throws(ProgrammingError) {
      try firestore.startedRuntime().callBackend { transport throws(StatusError) in
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
    if isRetryable, state.withLock({ $0.remainingAttempts > 0 }) {
      run()
    } else {
      completion(UncheckedSendableBox(.failure(error)))
    }
  }
}
