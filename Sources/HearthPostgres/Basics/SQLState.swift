#if PostgreSQL
  /// The five characters by which PostgreSQL classifies an error (appendix A of its manual).
  package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let code: String

    package init(_ code: String) {
      self.code = code
    }

    package var description: String { code }

    /// The first two characters, for instance "08" for a lost connection.
    package var errorClass: Substring { code.prefix(2) }

    /// True if the server is about to stop, to restart or to start. SQLSTATEs of class 57 are not all of this kind.
    var endsSession: Bool { self == .adminShutdown || self == .crashShutdown || self == .cannotConnectNow }

    package static let featureNotSupported = SQLState("0A000")
    package static let uniqueViolation = SQLState("23505")
    package static let noActiveTransaction = SQLState("25P01")
    package static let failedTransaction = SQLState("25P02")
    package static let idleInTransactionTimeout = SQLState("25P03")
    package static let readOnlyTransaction = SQLState("25006")
    package static let invalidStatementName = SQLState("26000")
    package static let invalidAuthorization = SQLState("28000")
    package static let invalidPassword = SQLState("28P01")
    package static let unknownDatabase = SQLState("3D000")
    package static let serializationFailure = SQLState("40001")
    package static let deadlockDetected = SQLState("40P01")
    package static let duplicateStatement = SQLState("42P05")
    package static let insufficientPrivilege = SQLState("42501")
    package static let undefinedTable = SQLState("42P01")
    package static let diskFull = SQLState("53100")
    package static let outOfMemory = SQLState("53200")
    package static let tooManyConnections = SQLState("53300")
    package static let programLimitExceeded = SQLState("54000")
    package static let lockNotAvailable = SQLState("55P03")
    package static let queryCanceled = SQLState("57014")
    package static let adminShutdown = SQLState("57P01")
    package static let crashShutdown = SQLState("57P02")
    package static let cannotConnectNow = SQLState("57P03")
  }
#endif
