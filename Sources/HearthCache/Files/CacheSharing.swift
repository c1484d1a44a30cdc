/// The number of openers that may have a cache folder at the same time.
package enum CacheSharing: Hashable, Sendable {
  /// One. Others get an error.
  case alone
  /// One, which asks those that have the folder to end.
  case takingOver
  /// Any number, on a file system of this machine; one on that of a network.
  case shared
}
