internal import Foundation
package import HearthModel
internal import HearthStore
internal import HearthWire
package import Logging
internal import Synchronization

/// All databases of a server. Any project and database id is accepted; a database comes into being on its first use.
package final class EmbeddedBackend: Sendable {
  package let shutdownSignal = ShutdownSignal()

  private struct State {
    var databases: [DatabaseID: HostedDatabase] = [:]
    var isClosed = false
  }

  private let location: StorageLocation
  private let folder: DataFolder?
  private let clock: ServerClock
  private let logger: Logger
  private let state = Mutex(State())

  /// So many databases can be open at a time.
  private static let maximumDatabases = 1000

  /// - Throws: `ServerError` when the folder cannot be created, written or locked.
  package init(location: StorageLocation, clock: ServerClock, logger: Logger) throws(ServerError) {
    self.location = location
    self.clock = clock
    self.logger = logger
    switch location {
    case .memory: folder = nil
    case .folder(let path): folder = try DataFolder(path: path)
    }
  }

  /// The database of this name, opened or created if need be.
  ///
  /// - Throws: `StatusError`: INVALID_ARGUMENT for a name that cannot be a file's, or the storage's trouble.
  package func database(_ id: DatabaseID) throws(StatusError) -> HostedDatabase {
    let result = state.withLock { state -> Result<HostedDatabase, StatusError> in
      if let known = state.databases[id] { return .success(known) }
      guard !state.isClosed else {
        return .failure(StatusError(code: .unavailable, message: "the server is shutting down"))
      }
      guard state.databases.count < Self.maximumDatabases else {
        return .failure(
          StatusError(
            code: .resourceExhausted,
            message: "\(Self.maximumDatabases) databases are open, the most that one server serves"))
      }
      do throws(StatusError) {
        let opened = try open(id)
        state.databases[id] = opened
        return .success(opened)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func open(_ id: DatabaseID) throws(StatusError) -> HostedDatabase {
    let place: Database.Location
    switch folder {
    case nil: place = .memory
    case let folder?: place = .file(path: try folder.file(for: id))
    }
    do {
      let storage = try EmbeddedStorage(location: place, databaseID: id, clock: clock, logger: logger)
      logger.debug("database opened", metadata: ["database": "\(id)"])
      return HostedDatabase(id: id, storage: storage, clock: clock)
    } catch {
      logger.error("database cannot be opened", metadata: ["database": "\(id)", "error": "\(error)"])
      throw StatusError(storage: error)
    }
  }

  /// Closes all databases; later calls get UNAVAILABLE.
  package func close() async {
    let databases = state.withLock { state in
      state.isClosed = true
      defer { state.databases = [:] }
      return state.databases
    }
    for database in databases.values { await database.storage.close() }
    folder?.unlock()
  }
}

/// One database with all that serves it.
package struct HostedDatabase: Sendable {
  package let id: DatabaseID
  package let storage: any ServerStorage
  package let transactions: TransactionRegistry
  let translator: WireTranslator

  package init(id: DatabaseID, storage: any ServerStorage, clock: ServerClock) {
    self.id = id
    self.storage = storage
    self.transactions = TransactionRegistry(clock: clock)
    self.translator = WireTranslator(database: id)
  }
}
