internal import HearthStore

/// The right of one process, and of one opener in it, to use a cache folder: a ``LockFile`` "cache.lock" in the folder.
///
/// The file holds a number that each holder raises. So a holder that gave the folder back for a while knows afterwards
/// whether another one had it meanwhile.
final class FolderLock {
  private let folder: String
  /// Nil while the folder is given back.
  private var file: LockFile?
  /// The number that this holder has written into the file; nil if writing failed.
  private var number: Int?

  /// - Throws: `StoreError`: `unavailable` while another process or client has the folder, `cannotOpen` when the lock file
  ///   cannot be created or locked.
  init(folder: String) throws(StoreError) {
    self.folder = folder
    let file = try Self.lock(folder)
    self.file = file
    number = Self.raiseNumber(in: file)
  }

  /// Takes the folder again after ``release()``.
  ///
  /// - Returns: false, without the lock, when another holder had it meanwhile, or may have had.
  /// - Throws: As ``init(folder:)``.
  func acquireUnchanged() throws(StoreError) -> Bool {
    assert(file == nil, "the lock of \"\(folder)\" is acquired again before it is released")
    let file = try Self.lock(folder)
    guard let number, number == Self.readNumber(in: file) else { return false }
    self.file = file
    return true
  }

  private static func lock(_ folder: String) throws(StoreError) -> LockFile {
    do {
      return try LockFile(path: "\(folder)/\(fileName)")
    } catch {
      switch error {
      case .cannotOpen(let reason):
        throw StoreError(
          kind: .cannotOpen,
          message: "Cache folder \"\(folder)\": cannot create the lock file (\(reason)). "
            + "Make the folder writable for this user, or choose another one.")
      case .cannotLock(let reason):
        throw StoreError(
          kind: .cannotOpen,
          message: "Cache folder \"\(folder)\": cannot be locked (\(reason)). Choose a folder on a local disk.")
      case .inUse:
        throw StoreError(
          kind: .unavailable,
          message: "Cache folder \"\(folder)\" is in use by another process, or by another client of this one. "
            + "Stop the other one, or choose another folder.")
      }
    }
  }

  static let fileName = "cache.lock"

  private static func readNumber(in file: LockFile) -> Int? {
    Int(String(decoding: file.read(count: 32), as: UTF8.self))
  }

  /// The text never gets shorter, so the new one replaces the old one.
  private static func raiseNumber(in file: LockFile) -> Int? {
    let number = (readNumber(in: file) ?? 0) &+ 1
    return file.write(Array("\(number)".utf8)) ? number : nil
  }

  /// Gives the folder back. Does nothing the second time.
  func release() {
    file?.release()
    file = nil
  }

  deinit { release() }
}
