internal import Foundation
package import HearthStore

/// The files with which clients of a shared cache find out about each other, in the cache's folder. All are regular files, so that any
/// program can copy the folder.
///
/// | file | is |
/// |---|---|
/// | `cache.client-<name>` | locked as long as the client lives |
/// | `cache.wake-<name>` | watched by this client: another client touches it to say that there is news |
/// | `cache.lease` | locked by the holder of the lease, which alone has it open for writing. The others watch for the moment when it is closed |
/// | `cache.end-request` | locked while a process wants the folder for itself (`EndRequest`) |
///
/// Where files cannot be watched, clients look for news at intervals only.
package final class ClientFiles: ClientLocks {
  package let name: String
  package let folder: String
  private var life: LockFile?
  private var lease: LockFile?
  /// Reports that others wake this client, and that the holder of the lease has ended; nil where files cannot be watched.
  package private(set) var watcher: FileWatcher?
  /// The file that is watched for that.
  private var wakeFile: FileIdentity?

  /// Makes the files of a new client.
  ///
  /// - Throws: `StoreError.cannotOpen` if the folder cannot be written or files in it cannot be locked.
  package init(folder: String, name: String) throws(StoreError) {
    self.folder = folder
    self.name = name
    life = try Self.lock(Self.lifePath(folder, name), folder)
    watchWakeUps()
  }

  private func watchWakeUps() {
    let path = Self.wakePath(folder, name)
    watcher = nil
    guard FileWatcher.makeFile(path), let watcher = FileWatcher(), watcher.watchTouches(of: path) else { return }
    self.watcher = watcher
    wakeFile = FileIdentity(path: path)
  }

  private static let lifePrefix = "cache.client-"
  private static let wakePrefix = "cache.wake-"
  private static let leasePipeName = "cache.lease-pipe"
  static func lifePath(_ folder: String, _ name: String) -> String { "\(folder)/\(lifePrefix)\(name)" }
  private static func wakePath(_ folder: String, _ name: String) -> String { "\(folder)/\(wakePrefix)\(name)" }
  private static func leasePath(_ folder: String) -> String { "\(folder)/cache.lease" }
  private var leasePath: String { Self.leasePath(folder) }

  /// The names of files that belong to clients, also of those that earlier builds made.
  static func isClientFile(_ name: String) -> Bool {
    name.hasPrefix(lifePrefix) || name.hasPrefix(wakePrefix) || name == "cache.lease" || name == leasePipeName
      || name == EndRequest.fileName
  }

  /// Removes the named pipes through which earlier builds woke each other: programs that copy the folder cannot read them, or wait for them.
  static func removePipes(in folder: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(wakePrefix) || name == leasePipeName {
      let path = "\(folder)/\(name)"
      let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
      if let type, type != .typeRegular, type != .typeDirectory {
        _ = try? FileManager.default.removeItem(atPath: path)
      }
    }
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
    let path = Self.lifePath(folder, name)
    if LockFile.isLocked(path: path) { return true }
    do {
      // Its files are removed under its lock: it may be alive and create them again in this moment (``makeMissing()``).
      let lock = try LockFile(path: path)
      if lock.isAt(path) { remove(name) }
      lock.release()
      return false
    } catch {
      // In a folder that cannot be written nothing can be removed.
      return error == .inUse
    }
  }

  /// Returns true while any client of a folder is alive, besides one with this name.
  static func anyIsAlive(in folder: String, besides name: String? = nil) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let own = name.map { lifePrefix + $0 }
    return names.contains { $0.hasPrefix(lifePrefix) && $0 != own && LockFile.isLocked(path: "\(folder)/\($0)") }
  }

  /// Ends this client: it is not alive for the others any more.
  package func end() {
    releaseLease()
    guard life != nil else { return }
    // Removed while it is locked, so that nobody takes it for a client that died.
    remove(name)
    life?.release()
    life = nil
    watcher = nil
  }

  /// Lets others take this client for dead until ``resume()``.
  package func suspend() {
    releaseLease()
    life?.release()
    life = nil
    watcher = nil
  }

  package func resume() throws(StoreError) {
    guard life == nil else { return }
    let path = Self.lifePath(folder, name)
    // Another client that has just found the lock free may remove the file that this one has opened.
    repeat { life = try Self.lock(path, folder) } while life?.isAt(path) == false
    watchWakeUps()
  }

  /// Creates the deleted files of this client again. Without the first file the others take this client for dead. Without the second they
  /// cannot wake it. Without the file of the lease they take the lease from this client.
  ///
  /// - Returns: True if there is another watcher to listen to.
  package func makeMissing() throws(StoreError) -> Bool {
    guard let life else { return false }
    let path = Self.lifePath(folder, name)
    if !life.isAt(path) {
      var made: LockFile
      // Another client that takes this one for dead may remove the file that was just made.
      repeat { made = try Self.lock(path, folder) } while !made.isAt(path)
      self.life = made
      life.release()
    }
    // Nothing is lost if another client was faster: it has the lease then.
    if let lease, !lease.isAt(leasePath), let made = try? LockFile(path: leasePath) {
      self.lease = made
      lease.release()
    }
    guard watcher != nil, wakeFile != FileIdentity(path: Self.wakePath(folder, name)) else { return false }
    watchWakeUps()
    return true
  }

  private func remove(_ name: String) {
    _ = try? FileManager.default.removeItem(atPath: Self.wakePath(folder, name))
    _ = try? FileManager.default.removeItem(atPath: Self.lifePath(folder, name))
  }

  deinit { end() }

  // MARK: - The lease

  package func acquireLease() throws -> Bool {
    if let lease {
      if lease.isAt(leasePath) { return true }
      // The file was deleted, and another client may hold the one that is there now.
      releaseLease()
    }
    // Looked at first: to open the file for writing and to close it again would tell the others that its holder has ended.
    if LockFile.isLocked(path: leasePath) { return false }
    do {
      lease = try LockFile(path: leasePath)
      return true
    } catch LockFile.Failure.inUse {
      return false
    } catch {
      throw StoreError(
        kind: .io, message: "Cache folder \"\(folder)\": cannot lock \"\(leasePath)\" (\(error)).")
    }
  }

  package var leaseIsFree: Bool {
    if let lease, lease.isAt(leasePath) { return false }
    return !LockFile.isLocked(path: leasePath)
  }

  package func releaseLease() {
    lease?.release()
    lease = nil
  }

  /// Lets the watcher report that the holder of the lease has closed its file, however that came about.
  package func watchLease() {
    guard let watcher, !watcher.watchReleases(of: leasePath) else { return }
    // Nobody has had the lease yet, so that there is no file.
    if FileWatcher.makeFile(leasePath) { _ = watcher.watchReleases(of: leasePath) }
  }

  package func stopWatchingLease() { watcher?.stopWatchingReleases() }

  /// Returns true if no client holds the lease of a folder a moment after its file was closed: the system may report the close before it
  /// frees the lock. False if the file was closed by a client that only tried to get the lease.
  package static func leaseBecomesFree(in folder: String, pause: () -> Void) -> Bool {
    for _ in 0..<releaseAttempts {
      if !LockFile.isLocked(path: leasePath(folder)) { return true }
      pause()
    }
    return false
  }

  private static let releaseAttempts = 20

  // MARK: - Waking

  /// Tells other clients that there is news.
  package func wake(_ names: [String]) {
    for name in names where name != self.name { FileWatcher.touch(Self.wakePath(folder, name)) }
  }

  /// Tells all clients of a folder to look for news, from outside.
  static func wakeAll(in folder: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(wakePrefix) { FileWatcher.touch("\(folder)/\(name)") }
  }
}
