import Dispatch

/// Work that keeps a processor busy for seconds: one piece at a time in the whole test run, and on a thread of its own.
///
/// Tests run side by side on as many threads as there are processors. A test that computes for long would keep those waiting that
/// talk to a server, until their connections time out.
package enum HeavyWork {
  private static let queue = DispatchQueue(label: "hearth.tests.heavy")

  package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: body()) }
    }
  }
}
