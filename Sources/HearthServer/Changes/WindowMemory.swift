internal import Synchronization

/// The memory for the results of a database's listeners with a limit, see ``DatabaseLimits/windowBytes``.
final class WindowMemory: Sendable {
  let maximumBytes: Int
  private let bytes = Mutex(0)
  private let noteFull: @Sendable () -> Void

  /// Windows up to this size may take all of the memory. Larger ones leave half of it to them.
  private static let smallBytes = 64 << 10

  /// - Parameter noteFull: Called when there is no room for a window.
  init(maximumBytes: Int, noteFull: @escaping @Sendable () -> Void = {}) {
    self.maximumBytes = maximumBytes
    self.noteFull = noteFull
  }

  var usedBytes: Int { bytes.withLock { $0 } }

  /// The size beyond which a window is not kept.
  var bytesPerWindow: Int { maximumBytes / 32 }

  fileprivate func resize(from old: Int, to new: Int) -> Bool {
    let allowed = new > Self.smallBytes ? maximumBytes / 2 : maximumBytes
    let hasRoom = bytes.withLock { bytes in
      guard new <= old || new <= bytesPerWindow && bytes + new - old <= allowed else { return false }
      bytes += new - old
      return true
    }
    if !hasRoom { noteFull() }
    return hasRoom
  }

  /// A part of the memory. It is released with its last reference.
  final class Share: Sendable {
    private let memory: WindowMemory
    private let bytes = Mutex(0)

    init(of memory: WindowMemory) {
      self.memory = memory
    }

    deinit { _ = resize(to: 0) }

    /// Makes the share so large.
    ///
    /// - Returns: False if there is no room for that. Then the share stays as it was.
    func resize(to count: Int) -> Bool {
      bytes.withLock { bytes in
        guard memory.resize(from: bytes, to: count) else { return false }
        bytes = count
        return true
      }
    }
  }
}
