internal import Foundation
internal import HearthCache
internal import HearthStore
internal import Synchronization

/// Listens for other processes that share the cache: they write into this client's pipe when there is news, and the pipe of the lease
/// reaches its end when the client that has the streams ends.
///
/// A thread of its own waits for both. It is not a dispatch source, because that of Linux crashes when the last writer of a pipe ends.
final class ClientWakeUps: Sendable {
  private struct State {
    /// The pipe of the lease, while another client holds it.
    var lease: NamedPipe?
    /// The bytes in the pipe that this client has put there itself, so that its thread looks at what follows here.
    var ownByteCount = 0
    var isEnded = false
  }

  private let news: NamedPipe
  private let state = Mutex(State())
  private let isOver = DispatchSemaphore(value: 0)

  /// - Returns: Nil where there are no pipes. Then the client looks for news at intervals only.
  init?(_ client: ClientFiles, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    guard let news = client.wakePipe else { return nil }
    self.news = news
    let thread = Thread { [self] in run(post) }
    thread.name = "hearth.wake-ups"
    thread.stackSize = 256 << 10
    thread.start()
  }

  /// Watches the lease while another client holds it.
  ///
  /// - Parameter open: Opens the pipe of the lease.
  func watchLease(_ isWatched: Bool, open: () -> NamedPipe?) {
    let hasChanged = state.withLock { state in
      guard isWatched == (state.lease == nil) else { return false }
      state.lease = isWatched ? open() : nil
      state.ownByteCount += 1
      return true
    }
    if hasChanged { news.wake() }
  }

  /// Ends the thread, and returns when no pipe is open any more.
  func end() {
    state.withLock { $0.isEnded = true }
    news.wake()
    isOver.wait()
    news.close()
    state.withLock { $0.lease?.close() }
  }

  private func run(_ post: @Sendable (RunningClient.Message) -> Void) {
    defer { isOver.signal() }
    while true {
      let (lease, isEnded) = state.withLock { ($0.lease, $0.isEnded) }
      if isEnded { return }
      let (byteCount, leaseHasEnded) = NamedPipe.wait(for: news, orEndOf: lease)
      let (hasNews, isOver) = state.withLock { state in
        defer { state.ownByteCount = max(state.ownByteCount - byteCount, 0) }
        // A watch that begins later has another pipe.
        if leaseHasEnded, state.lease === lease { state.lease = nil }
        return (byteCount > state.ownByteCount, state.isEnded)
      }
      if isOver { return }
      if leaseHasEnded { post(.leaseEnded) }
      if hasNews { post(.othersChanged) }
    }
  }
}
