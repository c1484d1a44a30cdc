import Foundation
import HearthCache
import HearthModel
import HearthStore

@testable import HearthSync

/// A cache for a part of the engine that is tested by itself.
final class PartCache {
  let database: Database
  let store: LocalStore
  private let folder: String?

  /// - Parameter durable: True for a file, which queries in the background need.
  init(durable: Bool = false) throws {
    folder = durable ? NSTemporaryDirectory() + "hearth-part-" + UUID().uuidString : nil
    if let folder { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    database = try Database(folder.map { .file(path: $0 + "/cache") } ?? .memory)
    store = try LocalStore(
      database: database, databaseID: TestClient.database,
      garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil, newCacheID: "cache")
  }

  deinit {
    database.close()
    if let folder { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Stores a write for each number, as batches 1, 2, ….
  @discardableResult
  func write(_ numbers: ClosedRange<Int>) throws -> [MutationBatch] {
    let writes = numbers.map { LocalWrite(mutations: [set("rooms/\($0)", Int64($0))], localWriteTime: .epoch) }
    return try store.write(many: writes).map(\.batch)
  }

  /// Everything that is done to the cache fails until the next call.
  func fail(with error: StoreError?) {
    database.injectFailure = error.map { error in { _ in error } }
  }
}
