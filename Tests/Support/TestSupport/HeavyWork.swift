import Foundation

/// Work that keeps a processor busy for seconds: one piece at a time in the whole test run, and on a thread of its own.
///
/// Tests run side by side on as many threads as there are processors. A test that computes for long would keep those waiting that
/// talk to a server, until their connections time out. Where no test of a run talks to one, `HEARTH_HEAVY_TESTS` allows as many pieces
/// at a time as it says; `scripts/test` sets it so.
package enum HeavyWork {
  private static let queue: OperationQueue = {
    let queue = OperationQueue()
    queue.name = "hearth.tests.heavy"
    let width = ProcessInfo.processInfo.environment["HEARTH_HEAVY_TESTS"].flatMap { Int($0) }
    queue.maxConcurrentOperationCount = max(width ?? 1, 1)
    return queue
  }()

  /// Runs the parts of a task that prefers it as pieces of this work.
  package static let executor: any TaskExecutor = Executor()

  /// True in a piece of this work.
  package static var isCurrent: Bool { OperationQueue.current === queue }

  private final class Executor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      HeavyWork.queue.addOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      queue.addOperation { continuation.resume(returning: body()) }
    }
  }
}
