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
///
/// The file holds a number that each holder raises. So a holder that gave the folder back for a while knows afterwards
/// whether another one had it meanwhile.
package final class FolderLock {
  private let folder: String
  private var descriptor: Int32 = -1
  /// The number that this holder has written into the file; nil if writing failed.
  private var number: Int?

  /// - Throws: `StoreError`: `unavailable` while another opener has the folder, `cannotOpen` when the lock file cannot be
  ///   made.
  package init(folder: String) throws(StoreError) {
    self.folder = folder
    try acquire()
    number = raiseNumber()
  }

  /// Takes the folder again after ``release()``.
  ///
  /// - Returns: false, without the lock, when another holder had it meanwhile, or may have had.
  /// - Throws: As ``init(folder:)``.
  package func acquireUnchanged() throws(StoreError) -> Bool {
    try acquire()
    if let number, number == readNumber() { return true }
    release()
    return false
  }

  private func acquire() throws(StoreError) {
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

  private func readNumber() -> Int? {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    return Int(String(decoding: bytes[..<count], as: UTF8.self))
  }

  /// The text never gets shorter, so the new one replaces the old one.
  private func raiseNumber() -> Int? {
    let number = (readNumber() ?? 0) &+ 1
    let text = Array("\(number)".utf8)
    return pwrite(descriptor, text, text.count, 0) == text.count ? number : nil
  }

  /// Gives the folder back. Does nothing the second time.
  package func release() {
    guard descriptor >= 0 else { return }
    close(descriptor)
    descriptor = -1
  }

  deinit { release() }
}
