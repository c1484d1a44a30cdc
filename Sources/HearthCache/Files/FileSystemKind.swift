internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#endif

/// Distinguishes file systems of one kernel from those whose files other machines may have open: network file systems, and folders that a
/// virtual machine or a container shares with its host. Processes on both sides cannot share a write-ahead log, because its index is shared
/// memory (https://www.sqlite.org/wal.html).
enum FileSystemKind {
  /// Returns the kind of the file system that a folder lies on if other machines may have its files open; nil for one of this kernel, or if
  /// that is not known.
  static func network(of folder: String) -> String? {
    #if canImport(Darwin)
      var status = statfs()
      guard statfs(folder, &status) == 0 else { return nil }
      let kind = withUnsafeBytes(of: status.f_fstypename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      // In a virtual machine the host's folders may count as local.
      return status.f_flags & UInt32(MNT_LOCAL) == 0 || reachesOtherMachines(kind) ? kind : nil
    #else
      guard let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8) else { return nil }
      let path = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
      return kind(of: path, mounts: mounts).flatMap { reachesOtherMachines($0) ? $0 : nil }
    #endif
  }

  /// Returns whether other machines may have files of such a file system open at the same time.
  ///
  /// A file system in user space (FUSE) is one of them unless it is known to store its files on this machine: most lead to a network, and a
  /// wrong guess damages the file, where the other one only keeps a second process away.
  static func reachesOtherMachines(_ kind: String) -> Bool {
    if otherMachines.contains(kind) { return true }
    return (kind == "fuse" || kind.hasPrefix("fuse.")) && !localUserSpace.contains(kind)
  }

  private static let otherMachines: Set<String> = [
    // Networks and clusters.
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "ncpfs", "afs", "afpfs", "ceph", "lustre", "gpfs", "beegfs",
    "orangefs", "pvfs2", "ocfs2", "gfs2", "gfs", "davfs", "webdav", "coda", "panfs",
    // Folders of the host, in virtual machines and containers: QEMU and Apple's framework, VirtualBox, VMware, Parallels, Windows, Docker.
    "virtiofs", "9p", "v9fs", "vboxsf", "vmhgfs", "hgfs", "prl_fs", "prl_fs_freeze", "drvfs", "wslfs", "fakeowner",
    "osxfs", "grpcfuse",
  ]

  /// File systems in user space that lay a view over folders of this machine.
  private static let localUserSpace: Set<String> = [
    "fuse.bindfs", "fuse.fuse-overlayfs", "fuse.encfs", "fuse.gocryptfs", "fuse.cryfs", "fuse.ntfs-3g", "fuse.exfat",
  ]

  /// The kind of the file system that a path lies on, from the text of Linux's `mountinfo`.
  static func kind(of path: String, mounts: String) -> String? {
    var longest = -1
    var kind: String?
    for line in mounts.split(separator: "\n") {
      // "<id> <parent> <device> <root> <mount point> <options> … - <kind> <source> <options>"
      let fields = line.split(separator: " ")
      guard fields.count > 4, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
      let point = unescape(fields[4])
      let isAbove = point == "/" || path == point || path.hasPrefix(point + "/")
      // A later mount hides an earlier one at the same place.
      if isAbove, point.utf8.count >= longest {
        longest = point.utf8.count
        kind = String(fields[dash + 1])
      }
    }
    return kind
  }

  /// Spaces and the like are written as three octal digits.
  private static func unescape(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.count >= 3,
        let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
      {
        bytes.append(code)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
