internal import Foundation
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// The version at which a read happens, from the consistency selector of its request.
struct ReadPlan {
  /// The version to read at; nil for the present.
  var version: SnapshotVersion?
  /// The transaction that the request has opened.
  var newTransaction: [UInt8]?
  /// The version is that of a transaction's snapshot.
  private var isInTransaction = false

  private init() {}

  /// Chooses the version and prepares the database for the read.
  ///
  /// In a transaction it locks or records what is read: nobody changes these documents before the commit, or the commit is refused. A request
  /// that opens a transaction opens it here.
  static func prepare(_ selector: Selector, for access: Access, in database: Session) async throws -> ReadPlan {
    var plan = ReadPlan()
    switch selector {
    case .latest:
      break
    case .readTime(let time):
      plan.version = try await database.snapshot(at: database.translator.decode(time, at: "read_time"))
    case .transaction(let id):
      try await plan.record(access, in: [UInt8](id), of: database)
    case .newTransaction(let options):
      let id = try await begin(options, in: database)
      plan.newTransaction = id
      do {
        try await plan.record(access, in: id, of: database)
      } catch {
        // Nobody has heard of it.
        try? await database.rollback(id)
        throw error
      }
    }
    return plan
  }

  /// Ends the transaction that the request has opened, because it failed before its client heard of it.
  func abandon(in database: Session) async {
    if let newTransaction { try? await database.rollback(newTransaction) }
  }

  /// Records a read in a transaction and takes the transaction's version.
  private mutating func record(
    _ access: Access, in transaction: [UInt8], of database: Session
  ) async throws {
    version = try await database.read(access, in: transaction)
    isInTransaction = version != nil
  }

  /// Opens a transaction with the options of a request.
  static func begin(
    _ options: Google_Firestore_V1_TransactionOptions, in database: Session
  ) async throws -> [UInt8] {
    let readOnly: Google_Firestore_V1_TransactionOptions.ReadOnly
    switch options.mode {
    case .readOnly(let mode)?: readOnly = mode
    case .readWrite(let mode)?:
      return try await database.beginTransaction(
        mode.concurrencyMode == .optimistic ? .optimistic : .pessimistic, repeating: [UInt8](mode.retryTransaction))
    case nil: return try await database.beginTransaction(.pessimistic)
    }
    guard case .readTime(let time)? = readOnly.consistencySelector else {
      return try await database.beginTransaction(.readOnly)
    }
    let timestamp = try database.translator.decode(time, at: "options.read_only.read_time")
    return try await database.beginTransaction(.readOnly, at: database.snapshot(at: timestamp))
  }

  /// Runs a read that is a piece of a larger one.
  ///
  /// - Parameter version: The version of the first piece; nil for that piece itself.
  /// - Throws: UNAVAILABLE if the version of the first piece is no longer kept, because the client was so slow.
  func reading<T>(
    laterAt later: SnapshotVersion?, _ body: (SnapshotVersion?) async throws(StatusError) -> T
  ) async throws(StatusError) -> T {
    guard let later, !isInTransaction else { return try await reading(body) }
    do {
      return try await body(later)
    } catch {
      throw error.code == .failedPrecondition ? Self.slowReader : error
    }
  }

  private static let slowReader = StatusError(
    code: .unavailable,
    message: "The result was read so slowly that its version is no longer kept; try again.")

  /// Runs a read. A transaction whose snapshot has become too old ends with ABORTED, so that the client retries it.
  func reading<T>(_ body: (SnapshotVersion?) async throws(StatusError) -> T) async throws(StatusError) -> T {
    do {
      return try await body(version)
    } catch {
      guard isInTransaction, error.code == .failedPrecondition else { throw error }
      throw StatusError(
        code: .aborted, message: "The snapshot of the transaction is no longer kept; try the transaction again.")
    }
  }
}
