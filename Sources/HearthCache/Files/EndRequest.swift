internal import Foundation
internal import HearthStore
internal import Synchronization

/// A request to all clients of a cache folder to release it, because the cache is about to be deleted, taken over or migrated.
///
/// A notice reports it to them (``Notice/end``). They release the folder as long as the file `cache.end-request` is locked. If no process
/// had the folder for itself in that time, they continue; otherwise they end. So a request that fails because one process is stopped ends
/// no client, and a process that reads the notice later ignores it.
package final class EndRequest: Sendable {
  private struct State {
    var isMade = false
    var path = ""
    var lock: LockFile?
  }

  private let state = Mutex(State())

  package init() {}

  static let fileName = "cache.end-request"

  private static func path(_ folder: String) -> String { "\(folder)/\(fileName)" }

  /// True from the time when clients were asked until ``withdraw()``.
  package var isMade: Bool { state.withLock { $0.isMade } }

  /// Returns true while a process wants the folder.
  static func isOpen(in folder: String) -> Bool { LockFile.isLocked(path: path(folder)) }

  /// Asks the clients that have the folder now. Returns at once.
  package func ask(clientsOf folder: String) {
    let files = CacheFiles(folder: folder)
    // Without a file there is nothing that a client could hear.
    guard files.hasMain else { return }
    let path = Self.path(folder)
    state.withLock {
      // One that was locked while another request was withdrawn may be gone from the folder.
      if let lock = $0.lock, lock.isAt($0.path) { return }
      $0.lock?.release()
      // If another one asks as well, its lock does.
      $0 = State(isMade: true, path: path, lock: Self.locked(path))
    }
    // The process that is about to open the folder may find its log damaged, and saves what follows the damage. Until then no other process
    // may write.
    guard ClientFiles.anyIsAlive(in: folder) else { return }
    // A process that is stopped in a transaction must not hold up the caller, and no file must appear.
    var options = Database.Options(busyTimeout: .milliseconds(100))
    options.mustExist = true
    guard let database = try? Database(.file(path: files.main), options: options) else { return }
    defer { files.close(database) }
    try? LocalStore.askAllToEnd(database)
    ClientFiles.wakeAll(in: folder)
  }

  private static let attempts = 3

  /// - Returns: Nil if another request has the file.
  private static func locked(_ path: String) -> LockFile? {
    for _ in 0..<attempts {
      guard let lock = try? LockFile(path: path) else { return nil }
      if lock.isAt(path) { return lock }
      lock.release()
    }
    return nil
  }

  /// Ends the request. Does nothing the second time.
  package func withdraw() {
    state.withLock {
      $0.isMade = false
      guard let lock = $0.lock else { return }
      // Removed while it is locked, so that nobody else's file is.
      if lock.isAt($0.path) { _ = try? FileManager.default.removeItem(atPath: $0.path) }
      lock.release()
      $0.lock = nil
    }
  }

  deinit { withdraw() }
}
