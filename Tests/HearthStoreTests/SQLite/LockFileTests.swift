import Foundation
import HearthStore
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

@Suite("Locks on files")
struct LockFileTests {
  /// Copies of all descriptors of a file, as a process has them that is being started.
  private static func copies(of path: String) -> [Int32] {
    var named = stat()
    guard stat(path, &named) == 0 else { return [] }
    return (0..<min(getdtablesize(), 1 << 16)).filter { descriptor in
      var opened = stat()
      return fstat(descriptor, &opened) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }
    .map { dup($0) }
  }

  @Test("a lock that was released is free though a process that is being started has copies of its descriptor")
  func released() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("lock")
    let lock = try LockFile(path: path)
    let copies = Self.copies(of: path)
    #expect(copies.count == 1)
    #expect(throws: LockFile.Failure.inUse) { try LockFile(path: path, pause: {}) }
    lock.release()
    #expect(!LockFile.isLocked(path: path))
    let next = try LockFile(path: path, pause: {})
    #expect(LockFile.isLocked(path: path))
    next.release()
    for copy in copies { close(copy) }
  }
}
