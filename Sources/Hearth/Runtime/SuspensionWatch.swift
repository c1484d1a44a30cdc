#if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
  internal import Foundation

  /// Notifies a client that the system is about to suspend the process, and again when the process is resumed.
  ///
  /// The system ends a process that it suspends while it holds a lock on a file that processes share (0xdead10cc), such as the lock
  /// on a cache in the container of an app group.
  final class SuspensionWatch: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - suspend: Called from another thread; must call its argument when the lock is released.
    ///   - resume: Called when the process runs again, or still: the system may change its mind.
    init(
      suspend: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void,
      resume: @escaping @Sendable () -> Void
    ) {
      let isOver = isOver
      ProcessInfo.processInfo.performExpiringActivity(withReason: "The Firestore cache is open") { isExpired in
        guard isExpired else { return isOver.wait() }
        let isReleased = DispatchSemaphore(value: 0)
        suspend { isReleased.signal() }
        _ = isReleased.wait(timeout: .now() + 1)
        isOver.signal()
        DispatchQueue.global().asyncAfter(deadline: .now() + 2, execute: resume)
      }
    }

    /// The client has released its folder.
    deinit { isOver.signal() }
  }
#endif
