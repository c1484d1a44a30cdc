internal import Foundation
internal import HearthCache
internal import HearthStore
internal import Synchronization

/// Listens for other processes that share the cache: they touch this client's file when there is news, and the file of the lease is closed
/// when the client that has the streams ends.
///
/// A thread of its own waits for both.
final class ClientWakeUps: Sendable {
  private let watcher: FileWatcher
  private let folder: String
  private let isWatchingLease = Mutex(false)
  private let isOver = DispatchSemaphore(value: 0)

  /// - Returns: Nil where files cannot be watched. Then the client looks for news at intervals only.
  init?(_ client: ClientFiles, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    guard let watcher = client.watcher else { return nil }
    self.watcher = watcher
    folder = client.folder
    let thread = Thread { [self] in run(post) }
    thread.name = "hearth.wake-ups"
    thread.stackSize = 256 << 10
    thread.start()
  }

  /// Watches the lease while another client holds it.
  ///
  /// - Parameters:
  ///   - isAgain: True to have it reported again on systems that report it only once.
  ///   - client: The files of this client.
  func watchLease(_ isWatched: Bool, isAgain: Bool = false, _ client: ClientFiles?) {
    guard let client else { return }
    let hasChanged = isWatchingLease.withLock { isWatching in
      defer { isWatching = isWatched }
      return isWatched != isWatching
    }
    if isWatched, hasChanged || isAgain && FileWatcher.reportsReleasesOnce {
      client.watchLease()
    } else if hasChanged {
      // Changes of the lease by this client itself are no news.
      client.stopWatchingLease()
    }
  }

  /// Ends the thread, and returns when it has ended.
  func end() {
    watcher.interrupt()
    isOver.wait()
  }

  private func run(_ post: @Sendable (RunningClient.Message) -> Void) {
    defer { isOver.signal() }
    while let events = watcher.wait() {
      if events.contains(.touched) { post(.othersChanged) }
      guard events.contains(.released), isWatchingLease.withLock({ $0 }) else { continue }
      if ClientFiles.leaseBecomesFree(in: folder, pause: { Thread.sleep(forTimeInterval: 0.0005) }) {
        post(.leaseEnded)
      }
    }
  }
}
