internal import NIOCore

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The number of files and sockets that the process may have open, and the share of connections in it.
///
/// If there are too many connections, one is refused. If a file cannot be opened, reads fail on all connections. So files take precedence.
package enum DescriptorLimit {
  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif

  /// Raises the soft limit of this process to the hard one. The usual 1,024 is for programs that call `select`, which this one does not.
  package static func raise() {
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return }
    var most = limits.rlim_max
    #if canImport(Darwin)
      // More is refused there, although the hard limit may be unlimited (man 2 setrlimit).
      most = min(most, rlim_t(OPEN_MAX))
    #endif
    guard limits.rlim_cur < most else { return }
    limits.rlim_cur = most
    // If it fails, the limit is what it was, and connections are fewer.
    _ = setrlimit(resource, &limits)
  }

  /// The soft limit of this process; nil if it is not known.
  static var current: Int? {
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return nil }
    return Int(clamping: limits.rlim_cur)
  }

  /// The number of connections that leave enough descriptors for the files: for those of all databases that may be open if the limit allows
  /// it, and in any case five eighths of the limit.
  ///
  /// - Parameters:
  ///   - wanted: The number that is asked for.
  ///   - files: See ``StorageLocation/descriptors(databases:openFiles:)``.
  static func connections(wanted: Int, files: Int, limit: Int) -> Int {
    max(min(wanted, max(limit - descriptorsOfProcess - files, limit / 8 * 3)), 1)
  }

  /// Standard streams, the listening sockets and the lock of the folder, and three for each event loop.
  private static var descriptorsOfProcess: Int { 16 + 3 * System.coreCount }

  /// The connections that may be open beyond the limit while their clients read that they are refused; later ones are closed at once.
  static func refusals(beyond connections: Int) -> Int {
    min(max(connections / 16, 1), 256)
  }
}
