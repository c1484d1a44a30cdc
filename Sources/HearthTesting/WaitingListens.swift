internal import Synchronization

/// The requests of one stream for listeners that the script keeps waiting, by their targets.
final class WaitingListens: Sendable {
  private let tasks = Mutex<[Int32: Task<Void, Never>]>([:])

  /// - Parameter wait: Goes on at once when its task is cancelled.
  func add(_ target: Int32, _ wait: @escaping @Sendable () async -> Void) {
    tasks.withLock { $0[target] = Task { await wait() } }
  }

  /// Ends the waiting of a target, if it waits.
  func letGo(_ target: Int32) async {
    guard let task = tasks.withLock({ $0.removeValue(forKey: target) }) else { return }
    task.cancel()
    await task.value
  }

  /// Ends all waiting.
  func end() {
    let tasks = tasks.withLock { tasks in
      defer { tasks = [:] }
      return Array(tasks.values)
    }
    for task in tasks { task.cancel() }
  }
}
