internal import HearthStore

/// The right to use a cache folder, alone or together with others: a ``LockFile`` "cache.lock" in the folder.
///
/// The file holds a number. Each holder that has the folder for itself increments it. So a holder that released the folder for a while can
/// tell whether such a holder had it in between. A holder that failed before it changed anything writes the former number back, so the
/// others continue.
final class FolderLock {
  private let folder: String
  private let mode: LockFile.Mode
  /// Nil while the folder is given back.
  private var file: LockFile?
  /// The number that this holder has written into the file; nil if writing failed.
  private var number: Int?
  /// There as long as the number may be written back.
  private var trial: Trial?

  /// The period in which a holder that has the folder for itself has not changed anything yet.
  private struct Trial {
    var formerNumber: Int
    var check: ChangeCheck
  }

  /// - Throws: `StoreError`: `unavailable` while another process or client has the folder, `cannotOpen` when the lock file
  ///   cannot be created or locked.
  init(folder: String, mode: LockFile.Mode = .exclusive) throws(StoreError) {
    self.folder = folder
    self.mode = mode
    let file = try Self.lock(folder, mode)
    self.file = file
    number = Self.readNumber(in: file) ?? 0
    if mode == .exclusive { beginTrial(file) }
  }

  /// Does something for which the folder must not be shared.
  ///
  /// - Parameter replacesFile: True if the database is left as it is or replaced by a new file, which holders that gave the folder back notice by
  ///   themselves. Then the number stays as it is.
  /// - Throws: `StoreError.unavailable` while others have it; then this one has lost it too. The errors of `body`; after one of these, the
  ///   caller gives the folder back.
  func exclusively<T>(replacesFile: Bool = false, _ body: () throws -> T) throws -> T {
    guard mode == .shared else { return try body() }
    guard let file, file.change(to: .exclusive) else { throw Self.inUse(folder) }
    if !replacesFile { beginTrial(file) }
    let result = try body()
    keepNumber()
    guard file.change(to: .shared) else { throw Self.inUse(folder) }
    return result
  }

  /// Raises the number. ``release()`` writes the former one back if the database is unchanged then.
  private func beginTrial(_ file: LockFile) {
    // Its own trial may go on: a file whose migration fails can turn out to be damaged.
    guard trial == nil else { return }
    let former = Self.readNumber(in: file) ?? 0
    trial = ChangeCheck(CacheFiles(folder: folder)).map { Trial(formerNumber: former, check: $0) }
    number = Self.raiseNumber(in: file)
  }

  /// Ends the time in which the number may be written back: this holder uses the folder, or is about to replace files in it.
  func keepNumber() {
    trial?.check.close()
    trial = nil
  }

  /// True while the file with the lock's name is the locked one. Without it others could take the folder for themselves.
  var isInPlace: Bool { file?.isAt(path) ?? false }

  /// Locks the file that has, or gets, the place of the locked one.
  ///
  /// - Returns: False if another holder may have had the folder for itself in between.
  /// - Throws: As ``init(folder:mode:)``.
  func renew() throws(StoreError) -> Bool {
    let present = try Self.lock(folder, mode)
    guard (Self.readNumber(in: present) ?? 0) == 0 else { return false }
    number = mode == .exclusive ? Self.raiseNumber(in: present) : 0
    file?.release()
    file = present
    return true
  }

  private var path: String { "\(folder)/\(Self.fileName)" }

  /// Takes the folder again after ``release()``.
  ///
  /// - Returns: false, without the lock, when another holder had it, or may have had it, in between.
  /// - Throws: As ``init(folder:mode:)``.
  func acquireUnchanged() throws(StoreError) -> Bool {
    assert(file == nil, "the lock of \"\(folder)\" is acquired again before it is released")
    let file = try Self.lock(folder, mode)
    guard let number, number == Self.readNumber(in: file) ?? 0 else { return false }
    self.file = file
    return true
  }

  private static func lock(_ folder: String, _ mode: LockFile.Mode) throws(StoreError) -> LockFile {
    do {
      return try LockFile(path: "\(folder)/\(fileName)", mode: mode)
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
        throw inUse(folder)
      }
    }
  }

  private static func inUse(_ folder: String) -> StoreError {
    StoreError(
      kind: .unavailable,
      message: "Cache folder \"\(folder)\" is in use by another process, or by another client of this one. "
        + "Stop the other one, or choose another folder.")
  }

  static let fileName = "cache.lock"

  private static let numberByteCount = 32

  private static func readNumber(in file: LockFile) -> Int? { readNumber(file.read(count: numberByteCount)) }

  private static func readNumber(_ bytes: [UInt8]) -> Int? { Int(String(decoding: bytes, as: UTF8.self)) }

  /// True while the folder is given back and no opener has changed anything in it, as far as the number says. One that recovers the database
  /// from a damaged file has the folder for itself and leaves the number as it is.
  var isUnchanged: Bool {
    number.map { $0 == Self.readNumber(LockFile.read(path: path, count: Self.numberByteCount)) ?? 0 } ?? false
  }

  /// The text never gets shorter, so the new one replaces the old one.
  private static func raiseNumber(in file: LockFile) -> Int? {
    let number = (readNumber(in: file) ?? 0) &+ 1
    return file.write(Array("\(number)".utf8)) ? number : nil
  }

  /// Writes a former number over a raised one, with as many digits.
  private static func restore(_ number: Int, in file: LockFile) {
    let text = "\(number)"
    let length = file.read(count: 32).count
    _ = file.write(Array((String(repeating: "0", count: max(0, length - text.utf8.count)) + text).utf8))
  }

  var isHeld: Bool { file != nil }

  /// True if others may have the folder as well.
  var isShared: Bool { mode == .shared }

  /// Gives the folder back. Does nothing the second time.
  func release() {
    if let file, let trial, trial.check.isUnchanged { Self.restore(trial.formerNumber, in: file) }
    keepNumber()
    file?.release()
    file = nil
  }

  deinit { release() }
}
