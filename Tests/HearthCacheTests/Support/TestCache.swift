import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// Every behaviour of the store is checked on each of these.
enum Backing: String, CaseIterable, CustomStringConvertible {
  case memory, file
  var description: String { rawValue }
}

/// A folder that goes with the test.
final class TemporaryFolder {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "hearth-cache-" + UUID().uuidString
  }

  func file(_ name: String) -> String { path + "/" + name }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A local store under test, with what is needed to look inside and to start it again.
final class TestCache {
  static let databaseID = DatabaseID(projectID: "test-project")
  static let lru = GarbageCollection.leastRecentlyUsed(thresholdBytes: 100 << 20)

  let folder = TemporaryFolder()
  let backing: Backing
  let garbageCollection: GarbageCollection
  private var opened: OpenedCache?
  private(set) var database: Database
  private(set) var store: LocalStore

  init(_ backing: Backing, _ garbageCollection: GarbageCollection = TestCache.lru, user: String? = nil) throws {
    self.backing = backing
    self.garbageCollection = garbageCollection
    switch backing {
    case .memory:
      database = try Database(.memory)
    case .file:
      let opened = try CacheFile.open(folder: folder.path, databaseID: Self.databaseID)
      self.opened = opened
      database = opened.database
    }
    store = try Self.makeStore(database, garbageCollection, user: user, newCacheID: "first start")
    try store.start()
  }

  /// Ends the process, as far as the file can tell, and starts another. A cache in memory starts on what it has.
  func restart(user: String? = nil) throws {
    if backing == .file {
      opened?.close()
      let opened = try CacheFile.open(folder: folder.path, databaseID: Self.databaseID)
      self.opened = opened
      database = opened.database
    }
    store = try Self.makeStore(database, garbageCollection, user: user, newCacheID: "after a restart")
    try store.start()
  }

  /// To be called at the end of each test: it also keeps the cache open until there.
  func close() {
    opened?.close()
    database.close()
  }

  private static func makeStore(
    _ database: Database, _ garbageCollection: GarbageCollection, user: String?, newCacheID: String
  ) throws -> LocalStore {
    try LocalStore(
      database: database, databaseID: databaseID, garbageCollection: garbageCollection, user: user,
      newCacheID: newCacheID)
  }

  // MARK: Looking inside

  /// Every row of every table, in a form that shows any difference.
  func dump() throws -> [String] {
    var tables: [String] = []
    try database.forEachRow("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
      tables.append(try $0.string(at: 0))
      return true
    }
    var rows: [String] = []
    for table in tables {
      var columns: [String] = []
      try database.forEachRow("SELECT name FROM pragma_table_info('\(table)')") {
        columns.append(try $0.string(at: 0))
        return true
      }
      let all = columns.map { "quote(\($0))" }.joined(separator: " || '|' || ")
      try database.forEachRow("SELECT \(all) FROM \(table) ORDER BY 1") {
        rows.append("\(table): \(try $0.string(at: 0))")
        return true
      }
    }
    return rows
  }

  /// Counts the steps of statements in the body.
  func statementSteps(_ body: () throws -> Void) rethrows -> Int {
    var count = 0
    database.injectFailure = { point in
      if case .statement = point { count += 1 }
      return nil
    }
    defer { database.injectFailure = nil }
    try body()
    return count
  }

  /// Makes the body fail at its `index`th statement, counted from 0.
  /// - Returns: false when the body has fewer statements.
  func failing(atStatement index: Int, _ body: () throws -> Void) -> Bool {
    var count = 0
    database.injectFailure = { point in
      guard case .statement = point else { return nil }
      defer { count += 1 }
      return count == index ? injected : nil
    }
    defer { database.injectFailure = nil }
    do {
      try body()
      return false
    } catch {
      return true
    }
  }

  func failing(at point: Database.FailurePoint, _ body: () throws -> Void) throws {
    database.injectFailure = { $0 == point ? injected : nil }
    defer { database.injectFailure = nil }
    try body()
  }
}

let injected = StoreError(kind: .unavailable, message: "injected")

// MARK: - Builders

func key(_ path: String) -> DocumentKey {
  do { return try DocumentKey(parsing: path) } catch { fatalError("\(error)") }
}

func path(_ path: String) -> ResourcePath {
  do { return try ResourcePath(parsing: path) } catch { fatalError("\(error)") }
}

func field(_ path: String) -> FieldPath {
  do { return try FieldPath(parsingServerFormat: path) } catch { fatalError("\(error)") }
}

func mask(_ paths: String...) -> FieldMask { FieldMask(paths.map(field)) }

func version(_ microseconds: Int64) -> SnapshotVersion { SnapshotVersion(microseconds: microseconds) }

func time(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds, nanoseconds: 0) }

func found(_ path: String, _ microseconds: Int64, _ fields: MapValue) -> Document {
  .found(key(path), version: version(microseconds), fields: EncodedFields(fields))
}

func missing(_ path: String, _ microseconds: Int64) -> Document {
  .missing(key(path), version: version(microseconds))
}

func collection(_ name: String) -> Query { Query(path: path(name)) }

extension LocalStore {
  @discardableResult
  func write(_ mutations: Mutation..., at seconds: Int64 = 1) throws -> (batchID: BatchID, changes: DocumentMap) {
    try write(mutations, localWriteTime: time(seconds))
  }

  /// A batch of the current user's queue.
  func batch(_ batchID: BatchID) throws -> MutationBatch {
    try #require(try nextMutationBatch(after: batchID - 1))
  }

  /// Acknowledges the first batch of the queue, every mutation at the same version.
  @discardableResult
  func acknowledgeNext(at microseconds: Int64, transformResults: [[Value]] = []) throws -> DocumentMap {
    guard let batch = try nextMutationBatch(after: -1) else { return [:] }
    let results = batch.mutations.indices.map {
      MutationResult(
        version: version(microseconds), transformResults: $0 < transformResults.count ? transformResults[$0] : [])
    }
    return try acknowledge(
      MutationBatchResult(batch: batch, commitVersion: version(microseconds), results: results))
  }

  /// Applies a snapshot with these documents, which it adds to the targets.
  @discardableResult
  func receive(
    _ documents: Document..., at microseconds: Int64, for targets: [TargetID] = [], token: String = ""
  ) throws -> DocumentMap {
    var event = RemoteEvent(snapshotVersion: version(microseconds))
    for document in documents { event.documentUpdates[document.key] = document }
    for target in targets {
      event.targetChanges[target] = TargetChange(
        resumeToken: [UInt8](token.utf8), isCurrent: true,
        added: Set(documents.filter(\.isFound).map(\.key)), removed: Set(documents.filter(\.isMissing).map(\.key)))
    }
    return try apply(event)
  }

  /// The number of batches of the current user that wait for an answer.
  func pendingBatchCount() throws -> Int { try pendingBatches().count }

  func read(_ path: String) throws -> Document { try readDocument(key(path)) }

  /// The paths of the documents that a query finds.
  func found(_ query: Query, usePreviousResults: Bool = true) throws -> [String] {
    try execute(query, usePreviousResults: usePreviousResults).documents.keys.map(\.canonicalString).sorted()
  }
}

extension Document {
  var values: MapValue? { isFound ? try? fields.decoded() : nil }
}
