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

/// Reads a file, or standard input, line by line.
final class LineReader {
  /// Longer lines than a document's 1 MiB can be in any form of writing are not read into memory.
  static let maximumLineBytes = 64 << 20
  private static let chunkBytes = 1 << 20

  let path: String
  private let descriptor: Int32
  private let isOwned: Bool
  private var buffer: [UInt8] = []
  /// The place of the next line in the buffer.
  private var position = 0
  private var isAtEnd = false
  /// The place of the next line in the file.
  private(set) var offset: Int

  /// Standard input.
  init() {
    path = "standard input"
    descriptor = STDIN_FILENO
    isOwned = false
    offset = 0
  }

  /// - Parameter offset: The place of the first line to read, in bytes.
  init(path: String, offset: Int = 0) throws(DataError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .file(path, "cannot be read: \(Self.reason).") }
    self.path = path
    self.descriptor = descriptor
    isOwned = true
    self.offset = offset
    if offset > 0, lseek(descriptor, off_t(offset), SEEK_SET) < 0 {
      throw .file(path, "cannot be read from byte \(offset): \(Self.reason).")
    }
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  private static var reason: String { String(cString: strerror(errno)) }

  struct Line {
    /// Without the line feed.
    var bytes: ArraySlice<UInt8>
    /// The place behind the line and its line feed.
    var end: Int
    /// False for the last line of a file that does not end in a line feed.
    var isComplete: Bool
  }

  /// The next line; nil at the end.
  func next() throws(DataError) -> Line? {
    var searched = position
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        let bytes = buffer[position..<end]
        offset += end + 1 - position
        position = end + 1
        return Line(bytes: bytes, end: offset, isComplete: true)
      }
      if isAtEnd {
        guard position < buffer.count else { return nil }
        let bytes = buffer[position...]
        offset += bytes.count
        position = buffer.count
        return Line(bytes: bytes, end: offset, isComplete: false)
      }
      guard buffer.count - position <= Self.maximumLineBytes else {
        throw DataError(
          "\(path), byte \(offset): a line has more than \(Self.maximumLineBytes >> 20) MiB, and a document has at most 1 MiB."
        )
      }
      searched = buffer.count - position
      try fill()
    }
  }

  /// Reads more, and forgets what was read before. Lines that were given out keep their bytes.
  private func fill() throws(DataError) {
    let rest = buffer[position...]
    var count = 0
    let next = [UInt8](unsafeUninitializedCapacity: rest.count + Self.chunkBytes) { bytes, initialized in
      _ = bytes.initialize(fromContentsOf: rest)
      repeat {
        count = bytes.baseAddress.map { read(descriptor, $0 + rest.count, Self.chunkBytes) } ?? 0
      } while count < 0 && errno == EINTR
      initialized = rest.count + max(count, 0)
    }
    guard count >= 0 else { throw .file(path, "cannot be read: \(Self.reason).") }
    isAtEnd = count == 0
    buffer = next
    position = 0
  }
}
