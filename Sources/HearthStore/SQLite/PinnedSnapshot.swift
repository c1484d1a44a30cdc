internal import Synchronization

/// One state of a database file, held by a read-only connection of its own, for one reading on any thread.
///
/// SQLite fixes the state of a read transaction at its first read. That read happens when the snapshot is created. So a writer of the file
/// can create snapshots between two of its transactions, hand them over and go on writing. Several snapshots that are created without a
/// transaction in between show the same state. While a snapshot is open, later pages stay in the write-ahead log; it releases its state as
/// soon as it has been read.
///
/// The connection is confined by the mutex: it is created here, never shared, and used under the lock only. SQLite asks no more of a
/// connection without locks of its own ("multi-thread" mode, https://www.sqlite.org/threadsafe.html).
package final class PinnedSnapshot: Sendable {
  private let connection: Mutex<Database?>
  private let interruption = Interruption()
  private let name: String

  /// Opens a second connection to the file of a database, as it is now, without the changes of a running transaction.
  ///
  /// - Throws: ``StoreError``: `misuse` for a database in memory, which only its own connection sees; `cannotOpen` and
  ///   others as ``Database/init(_:options:)``.
  package init(of database: Database) throws(StoreError) {
    guard case .file = database.location else {
      throw .misuse("Database \(database.name) has no file that a second connection could read.")
    }
    var options = database.options
    options.isReadOnly = true
    let reader = try Database(database.location, options: options)
    try reader.pin("Read snapshot")
    reader.interruption = interruption
    name = database.name
    connection = Mutex(reader)
  }

  /// Reads once, then closes the connection, also when `body` throws.
  ///
  /// - Throws: The errors of `body`; ``StoreError`` `unavailable` after ``interrupt()``, `misuse` after ``close()`` or the
  ///   first reading.
  package func read<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) throws -> Result {
    try connection.withLock { connection in
      guard let database = connection else {
        throw StoreError.misuse("Database \(name): its snapshot was read or closed before. A snapshot is read once.")
      }
      defer {
        database.close()
        connection = nil
      }
      return try body(database)
    }
  }

  /// Makes a reading that is under way, or still to come, fail at its next row. Returns at once.
  package func interrupt() {
    interruption.set()
  }

  /// Closes the connection. Waits for a reading that is under way.
  package func close() {
    connection.withLock { connection in
      connection?.close()
      connection = nil
    }
  }
}

/// Stops the statements of a connection from another thread.
final class Interruption: Sendable {
  private let flag = Atomic<Bool>(false)

  var isSet: Bool { flag.load(ordering: .relaxed) }

  func set() {
    flag.store(true, ordering: .relaxed)
  }
}
