internal import Foundation
package import HearthModel
internal import HearthStore

/// One state of a cache, read without becoming one of its clients, even while clients use it.
///
/// It opens the file for reading only, takes no part in the lease and repairs nothing. A file without a write-ahead log is read as
/// immutable, so that SQLite creates no files next to it; afterwards the inspection checks that the file has not changed. A file with a log
/// has clients, or had clients that were killed, and is read as a client reads it. SQLite may then rebuild its index of the log.
package final class CacheInspection {
  package let folder: String
  /// The database that the cache is one of. In a cache that no client of this release has opened, the first target or write says it; nil if it
  /// has neither.
  package let databaseID: DatabaseID?
  /// The database that references without a project are of. A cache that does not know its name holds no such references, so that any name reads
  /// its values.
  package let nameForValues: DatabaseID

  let database: Database
  let documents: DocumentStore
  let globals: CacheGlobals
  let queue: MutationQueue
  let overlays: OverlayTable
  let targets: TargetTable

  private init(folder: String, database: Database) throws {
    self.folder = folder
    self.database = database
    // On the version that this is, it only checks that the tables are there.
    documents = try CacheSchema.migrate(database)
    databaseID = try Self.findDatabaseID(in: database)
    let known = databaseID ?? DatabaseID(projectID: "unknown")
    nameForValues = known
    globals = CacheGlobals(database: database)
    queue = MutationQueue(database: database, databaseID: known, globals: globals)
    overlays = OverlayTable(database: database, databaseID: known)
    targets = TargetTable(database: database, databaseID: known, globals: globals)
  }

  // MARK: - Opening

  private static let attempts = 5

  /// Calls `body` with one unchanging state of the cache in a folder.
  ///
  /// - Parameter isRepeatable: False if `body` has effects, such as output. By default `body` may be called several times, because
  ///   the file has changed under it.
  /// - Throws: ``CacheInspectionError``; the errors of `body`.
  package static func read<Result>(
    folder: String, isRepeatable: Bool = true, _ body: (CacheInspection) throws -> Result
  ) throws -> Result {
    let files = CacheFiles(folder: folder)
    for _ in 0..<attempts {
      try CacheFolderCheck.run(files)
      let before = FileState(files)
      var isStarted = false
      do {
        let result = try open(files, isImmutable: !before.hasLog) {
          isStarted = true
          return try body($0)
        }
        // With a log, SQLite itself has kept the state.
        if before.hasLog || FileState(files) == before { return result }
      } catch  where before.hasLog || FileState(files) == before {
        throw CacheInspectionError.translating(error, path: files.main)
      } catch {
        // The error does not matter: it was read from a file that another process was writing.
      }
      guard isRepeatable || !isStarted else { break }
    }
    throw CacheInspectionError.busy(path: files.main, reason: "a client opened or closed it while it was read")
  }

  private static func open<Result>(
    _ files: CacheFiles, isImmutable: Bool, _ body: (CacheInspection) throws -> Result
  ) throws -> Result {
    var options = Database.Options(isReadOnly: true)
    options.isImmutable = isImmutable
    let database = try Database(.file(path: files.main), options: options)
    defer { database.close() }
    return try database.readTransaction("Inspect cache") {
      try checkRelease(database, path: files.main)
      return try body(CacheInspection(folder: files.folder, database: database))
    }
  }

  // MARK: - The release

  /// The versions of the components that every cache has, in this release.
  private static func knownVersions() throws -> [(component: String, version: Int64)] {
    let template = try Database(.memory)
    defer { template.close() }
    _ = try CacheSchema.migrate(template)
    return try versions(in: template)
  }

  static func versions(in database: Database) throws -> [(component: String, version: Int64)] {
    var versions: [(String, Int64)] = []
    try database.forEachRow("SELECT component, version FROM schema_versions ORDER BY component") {
      versions.append((try $0.string(at: 0), try $0.int64(at: 1)))
      return true
    }
    return versions
  }

  private static func checkRelease(_ database: Database, path: String) throws {
    guard try database.firstRow("SELECT 1 FROM sqlite_master LIMIT 1", body: { _ in true }) != nil else {
      throw CacheInspectionError.unfinished(path: path)
    }
    let hasVersions = try database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'schema_versions'") { _ in true }
    guard hasVersions != nil else {
      throw CacheInspectionError.damaged(path: path, reason: "its list of tables lacks \"schema_versions\"")
    }
    let found = try Dictionary(versions(in: database).map { ($0.component, $0.version) }, uniquingKeysWith: { $1 })
    // The server's data folder has the same mark in its header.
    let hasOutbox =
      try database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'cache_mutation_batches'") { _ in true } != nil
    guard found["cache"] != nil || found["store"] == nil || hasOutbox else {
      throw CacheInspectionError.notACache(
        path: path, reason: "it has documents and no outbox, as the files of `hearth serve` have")
    }
    for (component, known) in try knownVersions() where found[component] != known {
      guard let version = found[component] else {
        guard hasOutbox else { throw CacheInspectionError.unfinished(path: path) }
        let reason = "its list of versions lacks \"\(component)\""
        throw CacheInspectionError.damaged(path: path, reason: reason)
      }
      throw CacheInspectionError.otherRelease(path: path, component: component, found: version, known: known)
    }
    for schema in [ClientSchema.schema, DatabaseNameTable.schema, ConflictSchema.schema] {
      guard let version = found[schema.component], version != Int64(schema.currentVersion) else { continue }
      throw CacheInspectionError.otherRelease(
        path: path, component: schema.component, found: version, known: Int64(schema.currentVersion))
    }
  }

  // MARK: - The database's name

  private static func findDatabaseID(in database: Database) throws -> DatabaseID? {
    if let name = try? DatabaseNameTable(database: database).databaseID() { return name }
    // Targets and writes begin with resource names, before any data of the user.
    for sql in [
      "SELECT target FROM cache_targets LIMIT 1", "SELECT batch FROM cache_mutation_batches LIMIT 1",
      "SELECT batch FROM cache_rejected_batches LIMIT 1", "SELECT target FROM cache_pinned_queries LIMIT 1",
      "SELECT batch FROM cache_unreadable_batches WHERE batch IS NOT NULL LIMIT 1",
      "SELECT target FROM named_queries LIMIT 1",
    ] {
      // A damaged row is for the reader of its table to report.
      if let bytes = try? database.firstRow(sql, body: { try $0.bytes(at: 0) }), let id = databaseID(in: bytes) {
        return id
      }
    }
    return nil
  }

  static func databaseID(in bytes: [UInt8]) -> DatabaseID? {
    let beginning = Array("projects/".utf8)
    guard bytes.count > beginning.count,
      let start = (0...bytes.count - beginning.count).first(where: {
        bytes[$0..<$0 + beginning.count].elementsEqual(beginning)
      })
    else { return nil }
    let parts = bytes[start...].split(separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[4].starts(with: "documents".utf8) else { return nil }
    let names = parts.prefix(4).map { String(decoding: $0, as: UTF8.self) }
    return try? DatabaseID(resourceName: names.joined(separator: "/"))
  }

  // MARK: - Users

  /// The row of a user in the outbox; nil for one who has never written.
  func row(of user: String?) throws -> MutationQueue.UserRow? {
    try database.firstRow("SELECT user_id FROM cache_users WHERE user_key = ?", .text(MutationQueue.userKey(user))) {
      try $0.int64(at: 0)
    }
  }

  /// The name of the identity with a key of the table: nil for the signed-out user.
  static func user(ofKey key: String) -> String? { OutboxOwner(key: key).name }
}

/// The properties of a file that show whether it was written between two moments.
private struct FileState: Equatable {
  let hasLog: Bool
  private let size: UInt64
  private let number: UInt64
  private let date: Date

  init(_ files: CacheFiles) {
    let attributes = (try? FileManager.default.attributesOfItem(atPath: files.main)) ?? [:]
    size = (attributes[.size] as? NSNumber)?.uint64Value ?? 0
    number = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
    date = attributes[.modificationDate] as? Date ?? .distantPast
    hasLog = FileManager.default.fileExists(atPath: files.main + "-wal")
  }
}
