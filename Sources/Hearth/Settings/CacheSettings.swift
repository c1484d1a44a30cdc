public import Foundation
internal import HearthCache

/// The common protocol of ``PersistentCacheSettings`` and ``MemoryCacheSettings``. Only the library's own classes are supported.
public protocol LocalCacheSettings {}

/// The common protocol of ``MemoryEagerGCSetting`` and ``MemoryLRUGCSettings``. Only the library's own classes are supported.
public protocol MemoryGarbageCollectorSettings {}

/// -1. A cache of this size has no garbage collection.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let FirestoreCacheSizeUnlimited: Int64 = -1

enum CacheSize {
  /// 100 MiB.
  static let defaultBytes: Int64 = 104_857_600
  /// 1 MiB.
  static let minimumBytes: Int64 = 1_048_576

  static func validate(_ bytes: Int64) throws(ProgrammingError) {
    guard bytes == FirestoreCacheSizeUnlimited || bytes >= minimumBytes else {
      throw ProgrammingError(
        "Cache size must be set to at least \(minimumBytes) bytes, or to FirestoreCacheSizeUnlimited; it was \(bytes).")
    }
  }
}

/// The number of processes that may use one persistent cache at the same time.
public enum CacheProcesses: Hashable, Sendable {
  /// One process. A second process gets the error `failedPrecondition`, and the first continues.
  case single
  /// One process, which takes the cache from the processes that have it. They are asked to end: each of their operations then reports
  /// `failedPrecondition`. If they do not release the cache within five seconds, this process gets `failedPrecondition`, and later
  /// operations ask them again.
  case singleForcingOwnership
  /// Several processes. They see each other's writes, even without a network; one of them is connected to the backend for all. The default.
  ///
  /// On a network file system only one process can use a cache; a second process gets `failedPrecondition`. See <doc:SharingACache>.
  case multiple

  var sharing: CacheSharing {
    switch self {
    case .single: .alone
    case .singleForcingOwnership: .takingOver
    case .multiple: .shared
    }
  }
}

/// Keeps documents and queued writes in a file, so that they survive a restart. This is the default.
///
/// The file is in a folder of the app's name, the project and the database:
///
/// | platform | base folder |
/// |---|---|
/// | Linux and other systems without an application-support folder | `$XDG_DATA_HOME/hearth`, by default `~/.local/share/hearth` |
/// | Apple platforms | `Library/Application Support/hearth` of the user or the app's container |
///
/// followed by `<app name>/<project id>/<database id>`. ``init(directory:sizeBytes:)`` chooses another base folder. The backend's address
/// is not part of the path. Only the user who runs the program can read the folder.
public final class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings, Sendable {
  /// The size in bytes above which the least recently used documents are removed, or ``FirestoreCacheSizeUnlimited``.
  public let sizeBytes: Int64
  /// The base folder, or nil for the platform's default.
  public let directory: URL?
  /// The number of processes that may use the cache.
  public let processes: CacheProcesses

  /// A cache of 100 MiB in the platform's folder, for any number of processes.
  public override init() {
    sizeBytes = CacheSize.defaultBytes
    directory = nil
    processes = .multiple
  }

  /// A cache with another threshold.
  ///
  /// - Parameter size: Bytes; at least 1,048,576 or ``FirestoreCacheSizeUnlimited``, anything else is a programming error. The size is a
  ///   threshold for the periodic garbage collection (the first a minute after the start, then every five), not a hard limit. Queued
  ///   writes and documents that listeners use are never removed.
  public init(sizeBytes size: NSNumber) {
    requireValid { () throws(ProgrammingError) in try CacheSize.validate(size.int64Value) }
    sizeBytes = size.int64Value
    directory = nil
    processes = .multiple
  }

  /// A cache in a chosen folder.
  ///
  /// ```swift
  /// settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: "/var/lib/till"))
  /// ```
  ///
  /// - Parameters:
  ///   - directory: The base folder; it and `<app name>/<project id>/<database id>` inside are created when missing. If that
  ///     fails, reads, writes and listeners report `failedPrecondition` with the folder's path, and nothing on disk changes.
  ///   - size: As in ``init(sizeBytes:)``.
  public convenience init(directory: URL, sizeBytes size: NSNumber = 104_857_600) {
    self.init(directory: directory, sizeBytes: size, processes: .multiple)
  }

  /// Makes a cache with a choice of the number of processes that may use it. (The counterpart of the Web SDK's tab managers.)
  ///
  /// - Parameters:
  ///   - directory: As in ``init(directory:sizeBytes:)``; nil is the platform's folder.
  ///   - size: As in ``init(sizeBytes:)``.
  ///   - processes: The number of processes that may use the cache at the same time. All of them must name the same backend.
  public init(directory: URL? = nil, sizeBytes size: NSNumber = 104_857_600, processes: CacheProcesses) {
    requireValid { () throws(ProgrammingError) in
      try CacheSize.validate(size.int64Value)
      if let directory { try PersistentCacheSettings.validate(directory: directory) }
    }
    sizeBytes = size.int64Value
    self.directory = directory
    self.processes = processes
  }

  static func validate(directory: URL) throws(ProgrammingError) {
    guard directory.isFileURL else {
      throw ProgrammingError("The cache folder \(directory) is not a file URL.")
    }
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Two settings are equal when size, folder and processes are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PersistentCacheSettings else { return false }
    return sizeBytes == other.sizeBytes && directory == other.directory && processes == other.processes
  }

  /// A hash of size, folder and processes.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(sizeBytes)
    hasher.combine(directory)
    hasher.combine(processes)
    return hasher.finalize()
  }
}

/// Keeps documents and queued writes in memory only: nothing survives a restart.
public final class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings, Sendable {
  let collector: MemoryCollector

  /// A memory cache with the default collector, ``MemoryLRUGCSettings`` of 100 MiB.
  public override init() {
    collector = .leastRecentlyUsed(sizeBytes: CacheSize.defaultBytes)
  }

  /// A memory cache with this collector.
  ///
  /// - Parameter settings: ``MemoryEagerGCSetting`` or ``MemoryLRUGCSettings``; other classes are a programming error.
  public init(garbageCollectorSettings settings: any MemoryGarbageCollectorSettings & NSObjectProtocol) {
    collector = requireValid { () throws(ProgrammingError) in try MemoryCollector(settings) }
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Two settings are equal when their collectors are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? MemoryCacheSettings else { return false }
    return collector == other.collector
  }

  /// A hash of the collector.
  public override var hash: Int { collector.hashValue }
}

enum MemoryCollector: Hashable, Sendable {
  case eager
  case leastRecentlyUsed(sizeBytes: Int64)

  init(_ settings: any MemoryGarbageCollectorSettings) throws(ProgrammingError) {
    switch settings {
    case is MemoryEagerGCSetting: self = .eager
    case let settings as MemoryLRUGCSettings: self = .leastRecentlyUsed(sizeBytes: settings.sizeBytes)
    default: throw ProgrammingError("Unsupported garbage collector settings: \(type(of: settings)).")
    }
  }
}

/// Removes a document from a memory cache as soon as no listener and no queued write uses it.
public final class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings, Sendable {
  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// All eager collectors are equal.
  public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

  /// The same for all.
  public override var hash: Int { 1 }
}

/// The plural spelling of release notes.
public typealias MemoryEagerGCSettings = MemoryEagerGCSetting

/// Removes the least recently used documents of a memory cache when it is larger than the threshold.
public final class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings, Sendable {
  /// The threshold in bytes, or ``FirestoreCacheSizeUnlimited``.
  public let sizeBytes: Int64

  /// A threshold of 100 MiB.
  public override init() {
    sizeBytes = CacheSize.defaultBytes
  }

  /// A threshold in bytes of stored documents, or ``FirestoreCacheSizeUnlimited`` to keep everything. Any size is legal.
  public init(sizeBytes size: NSNumber) {
    sizeBytes = size.int64Value
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Two settings are equal when their thresholds are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? MemoryLRUGCSettings else { return false }
    return sizeBytes == other.sizeBytes
  }

  /// A hash of the threshold.
  public override var hash: Int { sizeBytes.hashValue }
}
