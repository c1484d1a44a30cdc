internal import HearthModel
internal import HearthRPC

/// The databases of a server, wherever they are stored: the interface for calls, for the upkeep of the server and for its metrics.
///
/// All methods may be called concurrently from any task, even on event loops: none blocks the thread of its caller.
protocol Databases: AnyObject, Sendable {
  /// The limits of what calls do in each of the databases.
  var limits: DatabaseLimits { get }

  /// The availability of the databases; nil if nothing is known of it: they can be reached.
  var availability: Availability? { get }

  /// A secret that all servers of these databases know, so that each of them accepts what another one has given to clients; nil if this is the
  /// only server.
  var secret: [UInt8]? { get }

  /// The database of this name. Any project and database id names one, and reading from it leaves nothing behind: a database exists from its
  /// first commit on.
  ///
  /// It does not suspend if the database is open. The database stays usable as long as the caller holds it; calls for one name that overlap
  /// get databases that agree, because all of them work on the same documents and know the same transactions.
  ///
  /// - Throws: `StatusError`: INVALID_ARGUMENT for a name that cannot be used, RESOURCE_EXHAUSTED if too many are open, CANCELLED when the
  ///   task is cancelled while it waits, UNAVAILABLE when the server ends or the databases are out of reach, or the failure of the storage.
  ///   A failure is that of this call: the next one tries again.
  func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase

  /// The names of the databases that exist, in order: those with a commit.
  ///
  /// - Throws: `StatusError`: UNAVAILABLE when the databases are out of reach, INTERNAL when their folder cannot be read.
  func names() async throws(StatusError) -> [DatabaseID]

  /// Makes these the declared indexes of all databases, also of those that are opened later. The latest declaration counts.
  ///
  /// It returns when the open databases know them. They are filled afterwards; queries are answered the same before, in between and then. A
  /// failure is logged, and the databases keep the indexes that they have.
  func declare(_ indexes: IndexFile.Contents) async

  /// The use of the databases now, for metrics. It costs a few locks of each open database.
  func use() -> DatabasesUse

  /// Reports to the metrics what only these databases have.
  func report()

  /// Does what falls due by itself, such as closing databases that nobody uses. The server calls it about once a minute, one call after the other.
  func tend() async

  /// Looks at what may change without a call, such as the place of the databases, until the task is cancelled.
  func watch(every interval: Duration) async

  /// Finishes the commits in progress and closes all databases, also those that are still being opened. Calls that wait for a database and all
  /// later ones get UNAVAILABLE. It returns when everything is released, even if its task is cancelled.
  func close() async
}

extension Databases {
  var availability: Availability? { nil }
  var secret: [UInt8]? { nil }

  func report() {}

  func watch(every interval: Duration) async {}
}

/// The use of a server's databases at a moment.
struct DatabasesUse: Sendable {
  /// The databases that count against ``DatabaseLimits/databases``.
  var count: Int
  /// The bytes of sort keys of all databases, see ``DatabaseLimits/sortBytes``.
  var sortBytes: Int
  /// One for each open database.
  var databases: [DatabaseUse]
}

/// The use of one database at a moment.
struct DatabaseUse: Sendable {
  var storage: StorageUse
  var transactions: TransactionUse
  /// See ``DatabaseLimits/windowBytes``.
  var windowBytes: Int
}
