import Foundation
import HearthStore
import Synchronization
import Testing

@testable import HearthCache

/// Two clients of one folder. Locks belong to openers, so that both may be in one process.
@Suite("The files of clients that share a cache", .timeLimit(.minutes(1)))
struct ClientFilesTests {
  private let folder = TemporaryFolder()

  init() throws {
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
  }

  private func client(_ name: String) throws -> ClientFiles { try ClientFiles(folder: folder.path, name: name) }
  private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder.path)/\(name)") }

  @Test("a client is alive until it ends, and leaves no file of its own")
  func lives() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(first.isAlive("first") && first.isAlive("second") && second.isAlive("first"))
    #expect(exists("cache.client-second") && exists("cache.wake-second"))
    second.end()
    #expect(!first.isAlive("second"))
    #expect(!exists("cache.client-second") && !exists("cache.wake-second"))
    #expect(!first.isAlive("third"))
  }

  @Test("files of a client that was killed are removed by another")
  func killed() throws {
    let first = try client("first")
    for name in ["cache.client-second", "cache.wake-second"] {
      try Data().write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
    }
    #expect(!first.isAlive("second"))
    #expect(!exists("cache.client-second") && !exists("cache.wake-second"))
  }

  @Test("deleted files of a living client are created again")
  func deleted() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(try !second.makeMissing())
    for name in ["cache.client-second", "cache.wake-second"] {
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
    }
    #expect(!first.isAlive("second"))
    #expect(try second.makeMissing())
    #expect(first.isAlive("second") && second.isAlive("second"))
    #expect(exists("cache.client-second") && exists("cache.wake-second"))
    #expect(try !second.makeMissing())
    first.wake(["second"])
    second.end()
    #expect(!first.isAlive("second"))
    #expect(!exists("cache.client-second") && !exists("cache.wake-second"))
    #expect(try !second.makeMissing(), "it has ended")
  }

  @Test("files that a client creates again stay, although another client finds them missing in this moment")
  func createdWhileLookedAt() throws {
    let second = try client("second")
    let looks = Atomic(0)
    let isOver = Atomic(false)
    let observers = DispatchGroup()
    DispatchQueue.global().async(group: observers) { [path = folder.path] in
      guard let first = try? ClientFiles(folder: path, name: "first") else { return }
      while !isOver.load(ordering: .relaxed) {
        _ = first.isAlive("second")
        looks.add(1, ordering: .relaxed)
      }
    }
    defer {
      isOver.store(true, ordering: .relaxed)
      observers.wait()
    }
    for _ in 0..<200 {
      try? FileManager.default.removeItem(atPath: "\(folder.path)/cache.client-second")
      // While another client looks for longer than this one waits, it is left for the next time.
      while (try? second.makeMissing()) == nil { sched_yield() }
      // A look that had begun before has ended.
      let count = looks.load(ordering: .relaxed)
      while looks.load(ordering: .relaxed) < count + 2 { sched_yield() }
      try #require(exists("cache.client-second"))
    }
  }

  @Test("one client holds the lease also if its file is deleted: the holder creates it again, or has lost it")
  func deletedLease() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(try first.acquireLease())
    try FileManager.default.removeItem(atPath: "\(folder.path)/cache.lease")
    _ = try first.makeMissing()
    #expect(try !second.acquireLease() && !second.leaseIsFree)
    #expect(try first.acquireLease())

    try FileManager.default.removeItem(atPath: "\(folder.path)/cache.lease")
    #expect(try second.acquireLease())
    _ = try first.makeMissing()
    #expect(try !first.acquireLease() && !first.leaseIsFree)
    #expect(try second.acquireLease())
    second.releaseLease()
    #expect(try first.leaseIsFree && first.acquireLease())
  }

  @Test("one client holds the lease, until it gives it back or ends")
  func lease() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(first.leaseIsFree)
    #expect(try first.acquireLease())
    #expect(try first.acquireLease(), "it has it already")
    #expect(!first.leaseIsFree && !second.leaseIsFree)
    #expect(try !second.acquireLease())
    first.releaseLease()
    #expect(second.leaseIsFree)
    #expect(try second.acquireLease())
    second.end()
    #expect(try first.acquireLease())
  }

  @Test("a client that goes on after a suspension is alive and can be woken, also if it was taken for dead")
  func suspension() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(try first.acquireLease())
    first.suspend()
    #expect(second.leaseIsFree)
    #expect(!second.isAlive("first"))
    try first.resume()
    #expect(second.isAlive("first"))
    #expect(exists("cache.wake-first"))
  }

  private func watcher(_ client: ClientFiles) throws -> FileWatcher {
    try #require(client.watcher, "no more files can be watched")
  }

  @Test("a client that is woken is told at once, as often as it looks, and its file does not grow")
  func wakeUps() throws {
    let (first, second) = (try client("first"), try client("second"))
    for _ in 0..<100 { first.wake(["first", "second", "missing"]) }
    #expect(try watcher(second).wait() == .touched)
    for _ in 0..<3 {
      first.wake(["second"])
      #expect(try watcher(second).wait() == .touched)
    }
    ClientFiles.wakeAll(in: folder.path)
    #expect(try watcher(first).wait() == .touched)
    #expect(try watcher(second).wait() == .touched)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("cache.wake-second"))
    #expect(attributes[.size] as? Int ?? 2 <= 1)
    #expect(!exists("cache.wake-missing"))
  }

  @Test("the end of the holder of the lease is told to the others, and what they do themselves is not")
  func releases() throws {
    let (first, second, third) = (try client("first"), try client("second"), try client("third"))
    second.watchLease()
    third.watchLease()
    #expect(try first.acquireLease())
    // Looking for the lease, and not getting it, is no end.
    for client in [second, third] {
      for _ in 0..<10 {
        #expect(try !client.acquireLease())
        #expect(!client.leaseIsFree && client.isAlive("first"))
      }
    }
    first.wake(["second", "third"])
    #expect(try watcher(second).wait() == .touched)
    #expect(try watcher(third).wait() == .touched)
    #expect(!ClientFiles.leaseBecomesFree(in: folder.path) {})
    first.end()
    #expect(try watcher(second).wait()?.contains(.released) == true)
    #expect(ClientFiles.leaseBecomesFree(in: folder.path) {})
    // The next holder does not hear of itself.
    #expect(try second.acquireLease())
    second.stopWatchingLease()
    second.releaseLease()
    third.wake(["second"])
    #expect(try watcher(second).wait() == .touched)
    #expect(try watcher(third).wait()?.contains(.released) == true)
  }

  @Test("waiting for others ends when it is interrupted")
  func interruption() throws {
    let first = try client("first")
    let watcher = try watcher(first)
    watcher.interrupt()
    #expect(watcher.wait() == nil && watcher.wait() == nil)
  }

  @Test("a folder in use has only regular files")
  func regularFiles() throws {
    let (first, second) = (try client("first"), try client("second"))
    #expect(try first.acquireLease())
    second.watchLease()
    first.wake(["second"])
    let names = try folder.names()
    #expect(
      names == ["cache.client-first", "cache.client-second", "cache.lease", "cache.wake-first", "cache.wake-second"])
    for name in names {
      let type = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.type] as? FileAttributeType
      #expect(type == .typeRegular, "\(name)")
    }
    withExtendedLifetime((first, second)) {}
  }

  @Test("named pipes that an earlier build has left are gone when the cache is opened", arguments: [true, false])
  func formerPipes(_ isShared: Bool) throws {
    for name in ["cache.lease-pipe", "cache.wake-former"] { #expect(mkfifo(folder.file(name), 0o600) == 0) }
    let options = CacheFile.Options(sharing: isShared ? .shared : .alone, clientName: isShared ? "client" : nil)
    let cache = try CacheFile.open(folder: folder.path, databaseID: TestCache.databaseID, options: options)
    defer { cache.close() }
    #expect(!exists("cache.lease-pipe") && !exists("cache.wake-former"))
    #expect(exists("cache.wake-client") == isShared)
  }

  @Test(
    "the kind of file system is that of the last mount above a folder",
    arguments: [
      ("/data/till", "nfs4"), ("/data", "nfs4"), ("/database", "ext4"), ("/", "ext4"), ("/with space/a", "cifs"),
      ("/data/local/x", "xfs"),
    ])
  func fileSystems(path: String, kind: String) {
    let mounts = """
      22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
      40 22 0:35 / /data rw shared:20 - tmpfs tmpfs rw
      41 22 0:36 / /data rw shared:21 master:3 - nfs4 server:/export rw
      42 22 0:37 / /with\\040space rw - cifs //server/share rw
      43 41 8:2 / /data/local rw - xfs /dev/sdb1 rw
      """
    #expect(FileSystemKind.kind(of: path, mounts: mounts) == kind)
  }

  @Test(
    "file systems of networks, of a virtual machine's host and in user space may be open elsewhere",
    arguments: [
      "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "virtiofs", "vboxsf", "prl_fs", "fakeowner", "fuse",
      "fuse.vmhgfs-fuse", "fuse.sshfs", "fuse.gvfsd-fuse", "fuse.juicefs", "fuse.mergerfs", "fuse.grpcfuse",
      "fuse.of-a-later-year",
    ])
  func otherMachines(kind: String) {
    #expect(FileSystemKind.reachesOtherMachines(kind))
  }

  @Test(
    "file systems of this machine may be shared by its processes",
    arguments: [
      "ext4", "btrfs", "xfs", "zfs", "f2fs", "tmpfs", "overlay", "ecryptfs", "apfs", "hfs", "fuseblk", "fuse.gocryptfs",
      "fuse.fuse-overlayfs", "fuse.bindfs",
    ])
  func thisMachine(kind: String) {
    #expect(!FileSystemKind.reachesOtherMachines(kind))
  }
}
