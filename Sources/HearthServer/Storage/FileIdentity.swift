internal import HearthStore

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// What tells a file from a copy of it: its number in the file system, and the time at which it was created, because file systems give the
/// number of a removed file to the next one. Neither changes while the file is written.
struct FileIdentity: Hashable {
  /// Compared as a whole.
  let bytes: [UInt8]

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Nil for a database in memory and for a file that cannot be looked at.
  init?(of location: Database.Location) {
    guard case .file(let path) = location else { return nil }
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    let birth = Self.birth(of: path, status)
    let numbers = [UInt64(status.st_ino), UInt64(bitPattern: birth.seconds), UInt64(bitPattern: birth.nanoseconds)]
    self.init(bytes: numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } })
  }

  /// Zero where the system or the file system does not know.
  private static func birth(of path: String, _ status: stat) -> (seconds: Int64, nanoseconds: Int64) {
    #if canImport(Darwin)
      return (Int64(status.st_birthtimespec.tv_sec), Int64(status.st_birthtimespec.tv_nsec))
    #else
      return linuxBirth(of: path) ?? (0, 0)
    #endif
  }

  #if !canImport(Darwin)
    /// The function is looked up at run time, and its result read as the bytes that the kernel writes (`man 2 statx`): neither
    /// is among the declarations that Swift imports.
    private static func linuxBirth(of path: String) -> (seconds: Int64, nanoseconds: Int64)? {
      typealias Statx = @convention(c) (CInt, UnsafePointer<CChar>, CInt, CUnsignedInt, UnsafeMutableRawPointer) -> CInt
      guard let symbol = dlsym(nil, "statx") else { return nil }
      let statx = unsafeBitCast(symbol, to: Statx.self)
      let birthMask: UInt32 = 0x800
      return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        guard let base = buffer.baseAddress, statx(AT_FDCWD, path, 0, birthMask, base) == 0 else { return nil }
        let raw = UnsafeRawBufferPointer(buffer)
        guard raw.load(as: UInt32.self) & birthMask != 0 else { return nil }
        return (raw.load(fromByteOffset: 80, as: Int64.self), Int64(raw.load(fromByteOffset: 88, as: UInt32.self)))
      }
    }
  #endif
}
