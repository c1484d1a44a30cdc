internal import Dispatch

/// Runs an actor's jobs one after the other on a dispatch queue of its own, so that blocking calls of SQLite (a durable
/// commit waits for the disk) do not hold a thread of the cooperative pool.
final class DatabaseExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Runs `body` behind the actor's jobs. It may take the actor's isolation (`assumeIsolated`).
  func run(_ body: @escaping @Sendable () -> Void) {
    queue.async(execute: body)
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
