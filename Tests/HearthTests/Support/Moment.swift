import Foundation

/// Something that happens once, on any thread. A test waits for it with a limit, so that a deadlock fails the test and does not hold it up.
final class Moment: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func comes() { semaphore.signal() }

  /// Blocks the thread.
  ///
  /// - Returns: False if it has not come within the limit.
  @discardableResult
  func wait(seconds: Int = 60) -> Bool {
    guard semaphore.wait(timeout: .now() + .seconds(seconds)) == .success else { return false }
    semaphore.signal()
    return true
  }

  /// Returns whether it has come within the limit, and blocks no thread of the task.
  func hasCome(withinSeconds seconds: Int = 60) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.wait(seconds: seconds)) }
    }
  }
}
