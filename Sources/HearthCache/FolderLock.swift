package import HearthStore

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The right of one process, and of one opener in it, to use a cache folder.
///
/// Held through an advisory lock on the file "cache.lock" in the folder, which the operating system gives back when the
/// process ends, however it ends. The file itself stays: removing it would let two openers lock two different files.
package final class FolderLock {
  private var descriptor: Int32

  /// - Throws: `StoreError`: `unavailable` while somebody else has the folder, `cannotOpen` when the lock file cannot be
  ///   made.
  package init(folder: String) throws(StoreError) {
    let path = folder + "/" + FolderLock.fileName
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw StoreError(
        kind: .cannotOpen,
        message: "Cache folder \"\(folder)\": cannot create the lock file (\(String(cString: strerror(errno)))). "
          + "Make the folder writable for this user, or choose another one.")
    }
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR { continue }
      close(descriptor)
      descriptor = -1
      guard code == EWOULDBLOCK else {
        throw StoreError(
          kind: .cannotOpen,
          message: "Cache folder \"\(folder)\": cannot be locked (\(String(cString: strerror(code)))). "
            + "Choose a folder on a local disk.")
      }
      throw StoreError(
        kind: .unavailable,
        message: "Cache folder \"\(folder)\" is in use by another process, or by another client of this one. "
          + "Stop the other one, or choose another folder.")
    }
  }

  static let fileName = "cache.lock"

  /// Gives the folder back. Does nothing the second time.
  package func release() {
    guard descriptor >= 0 else { return }
    close(descriptor)
    descriptor = -1
  }

  deinit { release() }
}
