internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A file, or a pipe, that is only written at its end.
final class FileWriting: Sendable {
  let path: String
  private let descriptor: Int32
  private let isOwned: Bool

  /// Standard output.
  init() {
    path = "standard output"
    descriptor = STDOUT_FILENO
    isOwned = false
  }

  /// Opens a file for writing at its end, and makes it if there is none.
  ///
  /// - Parameter isNew: True if the file must not exist.
  init(path: String, isNew: Bool) throws(DataError) {
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (isNew ? O_EXCL : 0)
    let descriptor = open(path, flags, 0o600)
    guard descriptor >= 0 else { throw .file(path, "cannot be made: \(Self.reason).") }
    self.path = path
    self.descriptor = descriptor
    isOwned = true
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  private static var reason: String { String(cString: strerror(errno)) }

  /// Writes all bytes, or throws.
  func write(_ bytes: [UInt8]) throws(DataError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        guard let base = buffer.baseAddress else { return 0 }
        #if canImport(Darwin)
          return Darwin.write(descriptor, base + written, buffer.count - written)
        #elseif canImport(Glibc)
          return Glibc.write(descriptor, base + written, buffer.count - written)
        #elseif canImport(Musl)
          return Musl.write(descriptor, base + written, buffer.count - written)
        #else
          return Android.write(descriptor, base + written, buffer.count - written)
        #endif
      }
      if count < 0 {
        if errno == EINTR { continue }
        var error = DataError.file(path, "cannot be written: \(Self.reason).")
        error.isBrokenPipe = errno == EPIPE && !isOwned
        throw error
      }
      written += count
    }
  }

  /// Cuts the file off behind so many bytes.
  func truncate(to byteCount: Int) throws(DataError) {
    guard ftruncate(descriptor, off_t(byteCount)) == 0 else {
      throw .file(path, "cannot be shortened: \(Self.reason).")
    }
  }

  /// Waits until the file's bytes are on the disk.
  func synchronize() throws(DataError) {
    guard fsync(descriptor) == 0 else { throw .file(path, "cannot be saved: \(Self.reason).") }
  }

  // MARK: - Whole files

  /// Replaces a file at once: a reader sees either the former bytes or these, also after a loss of power.
  static func replace(_ path: String, with data: Data) throws(DataError) {
    let new = path + ".new"
    unlink(new)
    let file = try FileWriting(path: new, isNew: true)
    do {
      try file.write([UInt8](data))
      try file.synchronize()
      try move(new, to: path)
    } catch {
      unlink(new)
      throw error
    }
  }

  /// Gives a file another name; one of that name is replaced.
  static func move(_ path: String, to other: String) throws(DataError) {
    guard rename(path, other) == 0 else { throw .file(path, "cannot be renamed to \"\(other)\": \(reason).") }
    synchronizeFolder(of: other)
  }

  static func remove(_ path: String) {
    unlink(path)
  }

  /// Makes a new name last. Not all file systems can; then the name is as durable as they make it.
  private static func synchronizeFolder(of path: String) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
