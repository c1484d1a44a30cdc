import Foundation
import Testing

@testable import Hearth

/// A cache folder for several clients of this process, as if each of them ran in a process of its own.
///
/// A folder belongs to the name of an app, and an app has one client. So the folders of several names are links to one folder. The
/// clients do not share a queue either, because queues belong to paths.
final class SharedCache {
  private let folder: TemporaryFolder
  /// The folder for ``PersistentCacheSettings/directory``.
  var directory: URL { folder.url }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: false)
  }

  private var shared: URL { folder.url.appendingPathComponent("shared") }

  /// Returns the name of a new app with this cache.
  func name() throws -> String {
    let name = UUID().uuidString
    try FileManager.default.createSymbolicLink(
      at: folder.url.appendingPathComponent(name), withDestinationURL: shared)
    return name
  }
}
