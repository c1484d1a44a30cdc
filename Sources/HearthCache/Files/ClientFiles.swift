internal import Foundation
package import HearthStore

/// The files with which clients of a shared cache find out about each other, in the cache's folder.
///
/// | file | is |
/// |---|---|
/// | `cache.client-<name>` | locked as long as the client lives |
/// | `cache.wake-<name>` | a named pipe: a byte in it means that there is news |
/// | `cache.lease` | locked by the holder of the lease |
/// | `cache.end-request` | locked while somebody wants the folder for itself (`EndRequest`) |
/// | `cache.lease-pipe` | a named pipe that the holder of the lease keeps open: its readers reach the end when the holder ends |
///
/// Where the file system has no named pipes, clients look for news at intervals only.
package final class ClientFiles: ClientLocks {
  package let name: String
  private let folder: String
  private var life: LockFile?
  private var lease: LockFile?
  private var leasePipe: NamedPipe?
  /// The pipes of other clients that were woken before.
  private var pipes: [String: NamedPipe] = [:]
  /// The pipe through which others wake this client; nil where there are no pipes.
  package private(set) var wakePipe: NamedPipe?

  /// Makes the files of a new client.
  ///
  /// - Throws: `StoreError.cannotOpen` if the folder cannot be written or files in it cannot be locked.
  package init(folder: String, name: String) throws(StoreError) {
    self.folder = folder
    self.name = name
    life = try Self.lock(Self.lifePath(folder, name), folder)
    wakePipe = NamedPipe(path: Self.wakePath(folder, name), end: .both, creates: true)
  }

  static func lifePath(_ folder: String, _ name: String) -> String { "\(folder)/cache.client-\(name)" }
  private static func wakePath(_ folder: String, _ name: String) -> String { "\(folder)/cache.wake-\(name)" }
  private var leasePath: String { "\(folder)/cache.lease" }
  private var leasePipePath: String { "\(folder)/cache.lease-pipe" }

  /// The names of files that belong to clients.
  static func isClientFile(_ name: String) -> Bool {
    name.hasPrefix("cache.client-") || name.hasPrefix("cache.wake-") || name == "cache.lease"
      || name == "cache.lease-pipe" || name == EndRequest.fileName
  }

  private static func lock(_ path: String, _ folder: String) throws(StoreError) -> LockFile {
    do {
      return try LockFile(path: path)
    } catch {
      let reason =
        switch error {
        case .cannotOpen(let reason), .cannotLock(let reason): reason
        case .inUse: "another client has the same name"
        }
      throw StoreError(kind: .cannotOpen, message: "Cache folder \"\(folder)\": cannot lock \"\(path)\" (\(reason)).")
    }
  }

  // MARK: - Lives

  package func isAlive(_ name: String) -> Bool {
    if name == self.name { return life != nil }
    if LockFile.isLocked(path: Self.lifePath(folder, name)) { return true }
    remove(name)
    return false
  }

  /// Ends this client: it is not alive for the others any more.
  package func end() {
    releaseLease()
    guard life != nil else { return }
    // Removed while it is locked, so that nobody takes it for a client that died.
    remove(name)
    life?.release()
    life = nil
    wakePipe?.close()
    for pipe in pipes.values { pipe.close() }
  }

  /// Lets others take this client for dead until ``resume()``.
  package func suspend() {
    releaseLease()
    life?.release()
    life = nil
  }

  package func resume() throws(StoreError) {
    guard life == nil else { return }
    let path = Self.lifePath(folder, name)
    // Another client that has just found the lock free may remove the file that this one has opened.
    repeat { life = try Self.lock(path, folder) } while life?.isAt(path) == false
    wakePipe = NamedPipe(path: Self.wakePath(folder, name), end: .both, creates: true)
  }

  private func remove(_ name: String) {
    pipes[name] = nil
    _ = try? FileManager.default.removeItem(atPath: Self.wakePath(folder, name))
    _ = try? FileManager.default.removeItem(atPath: Self.lifePath(folder, name))
  }

  deinit { end() }

  // MARK: - The lease

  package func acquireLease() throws -> Bool {
    if lease != nil { return true }
    do {
      let lock = try LockFile(path: leasePath)
      leasePipe = NamedPipe(path: leasePipePath, end: .both, creates: true)
      lease = lock
      return true
    } catch LockFile.Failure.inUse {
      return false
    } catch {
      throw StoreError(
        kind: .io, message: "Cache folder \"\(folder)\": cannot lock \"\(leasePath)\" (\(error)).")
    }
  }

  package var leaseIsFree: Bool { lease == nil && !LockFile.isLocked(path: leasePath) }

  package func releaseLease() {
    guard lease != nil else { return }
    // Its name goes while the lease is locked, so that the next holder makes a pipe of its own: a pipe without a reader would keep
    // programs waiting that copy the folder. Then the lock: readers of the pipe try to take it when the pipe ends.
    _ = try? FileManager.default.removeItem(atPath: leasePipePath)
    lease?.release()
    lease = nil
    leasePipe?.close()
    leasePipe = nil
  }

  /// Opens the pipe whose end tells that the holder of the lease has ended.
  package func watchLease() -> NamedPipe? { NamedPipe(path: leasePipePath, end: .reading, creates: true) }

  // MARK: - Waking

  /// Tells other clients that there is news.
  package func wake(_ names: [String]) {
    if pipes.count > names.count { pipes = pipes.filter { names.contains($0.key) } }
    for name in names where name != self.name {
      if pipes[name]?.isRemoved != false {
        pipes[name] = NamedPipe(path: Self.wakePath(folder, name), end: .both, creates: false)
      }
      pipes[name]?.wake()
    }
  }

  /// Tells all clients of a folder to look for news, from outside.
  static func wakeAll(in folder: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix("cache.wake-") {
      NamedPipe(path: "\(folder)/\(name)", end: .both, creates: false)?.wake()
    }
  }
}
