import Foundation
import Synchronization

/// A cache folder that is in use, as by another process: its lock file is locked through a descriptor of its own.
final class HeldFolder: Sendable {
  private let descriptor: Mutex<Int32>

  /// - Parameter isShared: True for a folder that others may use too, as by a process that shares the cache.
  init(_ folder: URL, isShared: Bool = false) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let opened = open(folder.appendingPathComponent("cache.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard opened >= 0, flock(opened, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    descriptor = Mutex(opened)
  }

  var isHeld: Bool { descriptor.withLock { $0 >= 0 } }

  func giveBack() {
    descriptor.withLock { descriptor in
      if descriptor >= 0 { close(descriptor) }
      descriptor = -1
    }
  }

  deinit { giveBack() }
}
