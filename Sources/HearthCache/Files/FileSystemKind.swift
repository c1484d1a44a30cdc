internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#endif

/// Tells file systems of this machine from those of a network, on which processes of several machines cannot share a write-ahead log:
/// its index is memory that they would have to have in common (https://www.sqlite.org/wal.html).
enum FileSystemKind {
  /// Returns the kind of the network file system that a folder lies on; nil for one of this machine, or if that is not known.
  static func network(of folder: String) -> String? {
    #if canImport(Darwin)
      var status = statfs()
      guard statfs(folder, &status) == 0, status.f_flags & UInt32(MNT_LOCAL) == 0 else { return nil }
      return withUnsafeBytes(of: status.f_fstypename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    #else
      guard let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8) else { return nil }
      let path = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
      return kind(of: path, mounts: mounts).flatMap { networkKinds.contains($0) ? $0 : nil }
    #endif
  }

  /// File systems whose files other machines may have open at the same time.
  private static let networkKinds: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs",
    "fuse.s3fs",
    "fuse.rclone", "lustre", "gpfs", "beegfs", "orangefs", "ocfs2", "gfs2", "davfs", "coda",
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
