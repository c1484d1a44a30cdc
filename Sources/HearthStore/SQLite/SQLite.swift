#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif
#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// SQLite's `SQLITE_TRANSIENT`, a macro that Swift does not import: SQLite copies what is bound before the call returns.
var sqliteTransient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

extension StoreError.Kind {
  /// The kind that belongs to a primary or extended result code (https://www.sqlite.org/rescode.html).
  ///
  /// - Parameter systemCode: The system's error behind it; 0 for none.
  init(sqliteCode: Int32, systemCode: Int32 = 0) {
    switch sqliteCode & 0xFF {
    // A log's index, for example, that finds no room on the disk. A sync that has failed, for whatever reason, is never only a full disk.
    case SQLITE_IOERR where [ENOSPC, EDQUOT].contains(systemCode) && !StoreError.isFailedSync(sqliteCode):
      self = .full
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_INTERRUPT, SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_ABORT, SQLITE_SCHEMA:
      self = .unavailable
    case SQLITE_FULL:
      self = .full
    case SQLITE_IOERR:
      self = .io
    case SQLITE_CORRUPT, SQLITE_FORMAT:
      self = .corrupt
    case SQLITE_NOTADB:
      self = .notADatabase
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH, SQLITE_NOLFS:
      self = .cannotOpen
    case SQLITE_READONLY:
      self = .readOnly
    case SQLITE_CONSTRAINT:
      self = .constraint
    default:
      self = .misuse
    }
  }

  /// Advice for the reader of the message about a result code.
  fileprivate func advice(for sqliteCode: Int32) -> String {
    switch self {
    case .unavailable:
      switch sqliteCode & 0xFF {
      case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: "Another process or connection is using it; try again."
      case SQLITE_NOMEM: "Free some memory, then try again."
      case SQLITE_INTERRUPT: ""
      default: "Try again."
      }
    case .full: "Free some disk space; nothing of the failed transaction was kept."
    case .io: "Check the disk or the network share that holds it."
    case .corrupt: "Restore it from a copy, or move it away to begin with an empty one."
    case .notADatabase: "Move the file away, or choose another folder."
    case .newerSchema: "Use the newer release, or another folder."
    case .cannotOpen:
      "Check that the folder exists and that this program may write to it and to its files, or choose another folder."
    case .readOnly: "Check the permissions of the file and of its folder, or choose another folder."
    case .constraint, .misuse: ""
    }
  }
}

extension StoreError {
  /// True if a statement names a table or an index that the file does not have.
  package var isMissingTable: Bool { sqliteCode & 0xFF == SQLITE_ERROR && message.contains(": no such ") }

  /// The error for a result code of SQLite.
  /// - Parameters:
  ///   - code: an extended result code.
  ///   - connection: the connection that returned it, for its text and the system's; nil when there is none.
  ///   - databaseName: the file or the words that stand for an in-memory database.
  ///   - statement: the SQL that failed, if there was one.
  init(sqliteCode code: Int32, connection: OpaquePointer?, databaseName: String, statement: String? = nil) {
    let systemCode = connection.map { sqlite3_system_errno($0) } ?? 0
    let kind = Kind(sqliteCode: code, systemCode: systemCode)
    var reason = String(cString: sqlite3_errstr(code))
    if let connection {
      let text = String(cString: sqlite3_errmsg(connection))
      // SQLite keeps the text of the latest call only; it is of use when that call is the one that failed.
      if sqlite3_extended_errcode(connection) & 0xFF == code & 0xFF { reason = text }
      if systemCode != 0, kind == .cannotOpen || kind == .io || kind == .full {
        reason += " (\(String(cString: strerror(systemCode))))"
      }
    }
    var message = "Database \(databaseName): \(reason)"
    if let statement { message += ", in: \(statement)" }
    message += "."
    let advice = kind.advice(for: code)
    if !advice.isEmpty { message += " \(advice)" }
    self.init(kind: kind, message: message, sqliteCode: code)
  }
}
