import Foundation
import HearthModel
import HearthStore

@testable import HearthCache

/// A cache folder with documents, an index and pending writes of two users, to look into.
final class InspectedFolder {
  let folder = TemporaryFolder()
  private var cache: OpenedCache?

  var path: String { folder.path }
  var file: String { folder.file(CacheFile.fileName) }

  /// - Parameter isOpen: True if a client of the cache is still there.
  init(isOpen: Bool = false) throws {
    let (cache, store) = try Self.open(folder)
    self.cache = cache
    try Self.fill(store)
    if !isOpen { close() }
  }

  static func open(_ folder: TemporaryFolder, _ sharing: CacheSharing = .alone, client: String? = nil) throws
    -> (OpenedCache, LocalStore)
  {
    let opened = try CacheFile.openStore(
      folder: folder.path, databaseID: TestCache.databaseID,
      options: CacheFile.Options(sharing: sharing, clientName: client)
    ) { database, files in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "inspected", locks: files, backend: files == nil ? "" : "backend")
    }
    return (opened.cache, opened.store)
  }

  private static func fill(_ store: LocalStore) throws {
    try store.setIndexes([
      IndexDefinition(collectionGroup: "cities", fields: [IndexDefinition.Field(path: field("n"), kind: .ascending)])
    ])
    let target = try store.allocateTarget(collection("cities").target).targetID
    for number in 0..<10 {
      try store.receive(
        found("cities/c\(number)", 50, ["n": .integer(Int64(number)), "name": .string("city \(number)")]),
        at: Int64(100 + number), for: [target])
    }
    try store.write(.set(key("cities/c1"), ["n": 100]), .delete(key("cities/c2")))
    try store.write(.set(key("towns/t1"), ["n": 7]))
    _ = try store.changeUser("alice")
    try store.write(.patch(key("cities/c3"), ["n": 33], mask: mask("n")))
    _ = try store.changeUser(nil)
    while try store.advanceIndexFill() {}
    try store.releaseTarget(target)
  }

  func close() {
    cache?.close()
    cache = nil
  }

  deinit { close() }

  /// Every file of the folder with its bytes.
  func contents() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try folder.names() {
      contents[name] = try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
    }
    return contents
  }

  func read<Result>(_ body: (CacheInspection) throws -> Result) throws -> Result {
    try CacheInspection.read(folder: path, body)
  }
}

/// The error of an inspection; nil if there is none.
func inspectionError(_ body: () throws -> Void) throws -> CacheInspectionError? {
  do {
    try body()
    return nil
  } catch let error as CacheInspectionError {
    return error
  }
}
