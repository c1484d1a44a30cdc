internal import Foundation
package import HearthModel
internal import HearthStore

/// An overview of a cache: its sizes, the release that wrote it, its users and the processes that have it open.
package struct CacheOverview: Equatable, Sendable {
  package struct Component: Equatable, Sendable {
    package var name: String
    package var version: Int64
  }

  package struct User: Equatable, Sendable {
    /// The ``OutboxOwner/name`` of an identity; nil for the signed-out user.
    package var id: String?
    package var pending: WriteCount
    /// Batches of the user that could not be read and were set aside.
    package var unreadableBatchCount: Int
    /// Batches that the backend has refused and that are kept.
    package var rejected: WriteCount
    /// Conflicts that rules have resolved and that are kept.
    package var resolvedConflictCount: Int
  }

  /// A client of a shared cache.
  package struct Client: Equatable, Sendable {
    package var name: String
    /// The ``OutboxOwner/name`` of its identity; nil for the signed-out user.
    package var user: String?
    /// False for one that ended without leaving the cache.
    package var isAlive: Bool
    /// The process of a client that is alive, where the system tells it, as Linux does.
    package var processID: Int32?
    /// True for the client that is connected with the backend for all.
    package var isPrimary: Bool
    package var wantsNetwork: Bool
    package var targetCount: Int
  }

  /// A query that garbage collection spares.
  package struct PinnedQuery: Equatable, Sendable {
    /// In words.
    package var query: String
    /// The documents that the backend has confirmed for it.
    package var documentCount: Int
  }

  /// A process that has the folder for itself.
  package struct ExclusiveUse: Equatable, Sendable {
    /// Its id, where the system tells it.
    package var processID: Int32?
  }

  package var folder: String
  package var databaseID: DatabaseID?
  /// Empty for a cache that no client has named yet.
  package var cacheID: String
  package var schema: [Component]
  /// The file with its unused pages.
  package var fileBytes: Int64
  /// The part of the file that holds something.
  package var usedBytes: Int64
  /// The write-ahead log.
  package var logBytes: Int64
  /// About how many documents there are, never fewer; nil for a cache with too many collections to say.
  package var estimatedDocumentCount: Int?
  package var targetCount: Int64
  package var users: [User]
  /// Batches of all users, known or not, that wait for the backend.
  package var pending: WriteCount
  /// Batches of all users that the backend has refused and that are kept until a program deals with them.
  package var rejected: WriteCount
  /// Conflicts of all users that rules have resolved and that are kept until a program discards them.
  package var resolvedConflictCount: Int
  /// Batches of all users, known or not, that are kept and not sent: unreadable ones, or those of an unknown user.
  package var setAsideBatchCount: Int
  package var pinnedQueries: [PinnedQuery]
  /// Nil unless a process has the folder for itself.
  package var exclusiveUse: ExclusiveUse?
  package var clients: [Client]
  /// The backend of the clients; empty for a cache that is not shared.
  package var backend: String
  /// The damage that a client has found; nil if none.
  package var knownDamage: String?
  /// The damaged files that earlier recoveries have kept.
  package var filesSetAside: [String]
}

extension CacheInspection {
  /// Reads counters, indexes and the writes that wait or were refused, but no documents, so that its cost hardly grows with the cache.
  package func overview() throws -> CacheOverview {
    let files = CacheFiles(folder: folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let (clients, backend) = try clients()
    let lock = "\(folder)/\(FolderLock.fileName)"
    let isLocked = LockFile.isLocked(path: lock)
    let (pending, rejected, resolved) = (try pendingCounts(), try rejectedCounts(), try resolvedConflictCounts())
    return CacheOverview(
      folder: folder, databaseID: databaseID, cacheID: try globals.cacheID(),
      schema: try Self.versions(in: database).map { .init(name: $0.component, version: $0.version) },
      fileBytes: try database.fileSizeBytes, usedBytes: try database.usedBytes,
      logBytes: Self.size(of: files.main + "-wal"),
      estimatedDocumentCount: try documents.estimatedDocumentCount(in: .everything(under: ResourcePath())),
      targetCount: try globals.targetCount(), users: try users(pending.byOwner, rejected.byOwner, resolved.byOwner),
      pending: pending.total, rejected: rejected.total, resolvedConflictCount: resolved.total,
      setAsideBatchCount: try setAsideBatchCount(),
      pinnedQueries: try pinnedQueries(),
      exclusiveUse: isLocked ? CacheOverview.ExclusiveUse(processID: LockHolder.processID(path: lock)) : nil,
      clients: clients, backend: backend,
      knownDamage: files.knownDamage,
      filesSetAside: names.filter { $0.hasPrefix(CacheFile.fileName + ".corrupt") }.sorted())
  }

  /// The number of batches of all users, known or not, that are kept and not sent.
  func setAsideBatchCount() throws -> Int {
    Int(clamping: try database.firstRow("SELECT count(*) FROM cache_unreadable_batches") { try $0.int64(at: 0) } ?? 0)
  }

  private static func size(of path: String) -> Int64 {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
  }

  private func pinnedQueries() throws -> [CacheOverview.PinnedQuery] {
    let pins = PinTable(database: database, databaseID: nameForValues)
    return try pins.queries().map { query in
      let target = try targets.target(query.target)
      return CacheOverview.PinnedQuery(
        query: query.inWords, documentCount: try target.map { try targets.keyCount(of: $0.targetID, limit: .max) } ?? 0)
    }
  }

  /// The users that have ever written, in the order of their first write.
  private func users(
    _ pending: [OutboxOwner: WriteCount], _ rejected: [OutboxOwner: WriteCount], _ resolved: [OutboxOwner: Int]
  ) throws -> [CacheOverview.User] {
    var users: [CacheOverview.User] = []
    try database.forEachRow(
      """
      SELECT user_key,
        (SELECT count(*) FROM cache_unreadable_batches AS b WHERE b.user_id = u.user_id)
      FROM cache_users AS u ORDER BY user_id
      """
    ) {
      let key = try $0.string(at: 0)
      let owner = OutboxOwner(key: key)
      users.append(
        CacheOverview.User(
          id: Self.user(ofKey: key), pending: pending[owner] ?? WriteCount(),
          unreadableBatchCount: Int(clamping: try $0.int64(at: 1)), rejected: rejected[owner] ?? WriteCount(),
          resolvedConflictCount: resolved[owner] ?? 0))
      return true
    }
    return users
  }

  private func clients() throws -> (clients: [CacheOverview.Client], backend: String) {
    let hasClients = try database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'cache_clients'") { _ in true }
    guard hasClients != nil else { return ([], "") }
    let table = ClientTable(database: database)
    let sharing = try table.sharing(except: 0)
    let clients = try table.clients().map { client in
      let path = ClientFiles.lifePath(folder, client.name)
      let isAlive = LockFile.isLocked(path: path)
      return CacheOverview.Client(
        name: client.name, user: Self.user(ofKey: client.userKey), isAlive: isAlive,
        processID: isAlive ? LockHolder.processID(path: path) : nil,
        isPrimary: isAlive && sharing.leaseHolder == client.id, wantsNetwork: client.wantsNetwork,
        targetCount: try table.targets(of: client.id).count)
    }
    return (clients, try table.backend())
  }
}
