package import HearthModel

/// A failure of the database file or of its contents.
///
/// Every failure that a disk, another process or the contents of a file can cause is reported as this error; none traps. The message names
/// the file, the statement, or the table and key, and where it helps, a remedy.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure, for a caller to act on.
  package enum Kind: Sendable {
    /// The operation did not happen, but may succeed later: another process holds the file, or memory ran out.
    case unavailable
    /// The disk is full, or the database reached its largest size.
    case full
    /// The operating system failed to read or write.
    case io
    /// The file is a database but its pages or its rows are not what was written.
    case corrupt
    /// The file is not an SQLite database.
    case notADatabase
    /// A newer release wrote the file; this one must not touch it.
    case newerSchema
    /// The file cannot be opened: no such folder, no permission, or a database of another program.
    case cannotOpen
    /// The file can be read but not written.
    case readOnly
    /// A uniqueness or NOT NULL rule of a table was violated.
    case constraint
    /// The calling code used the database in a way that it does not allow.
    case misuse
  }

  package var kind: Kind
  package var message: String
  /// SQLite's extended result code; 0 when the failure was found by this library.
  package var sqliteCode: Int32

  package init(kind: Kind, message: String, sqliteCode: Int32 = 0) {
    self.kind = kind
    self.message = message
    self.sqliteCode = sqliteCode
  }

  package var description: String { message }

  /// The failure as a status for the caller: wait, make space, or change the set-up.
  package var statusCode: StatusCode {
    switch kind {
    case .unavailable, .io: .unavailable
    case .full: .resourceExhausted
    case .corrupt: .dataLoss
    case .newerSchema, .cannotOpen, .readOnly, .notADatabase: .failedPrecondition
    case .constraint, .misuse: .internal
    }
  }

  /// True if the system could not say whether what was written has reached the disk.
  ///
  /// It may then have forgotten those pages, so that a later attempt succeeds without writing them
  /// (https://wiki.postgresql.org/wiki/Fsync_Errors): nothing that is written afterwards is safe.
  package var isFailedSync: Bool { Self.isFailedSync(sqliteCode) }

  /// Returns true for SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC, which Swift does not import.
  static func isFailedSync(_ sqliteCode: Int32) -> Bool { [10 | 4 << 8, 10 | 5 << 8].contains(sqliteCode) }

  /// The same error with the place it happened at in front of its message.
  func at(_ place: String) -> StoreError {
    StoreError(kind: kind, message: "\(place): \(message)", sqliteCode: sqliteCode)
  }

  static func corrupt(_ message: String) -> StoreError {
    StoreError(kind: .corrupt, message: message)
  }

  static func misuse(_ message: String) -> StoreError {
    StoreError(kind: .misuse, message: message)
  }
}
