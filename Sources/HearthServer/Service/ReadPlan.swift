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
  private var isInTransaction = false

  /// Chooses the version. In a transaction it also records the keys or the query: the commit is refused if their documents
  /// change after this version. A request that opens a transaction opens it here.
  init(
    _ selector: Selector, in database: HostedDatabase, keys: [DocumentKey] = [], query: Query? = nil
  ) async throws {
    switch selector {
    case .latest:
      version = nil
    case .readTime(let time):
      version = try await database.storage.snapshot(at: database.translator.decode(time, at: "read_time"))
    case .transaction(let id):
      try await read(in: [UInt8](id), database, keys: keys, query: query)
    case .newTransaction(let options):
      let id = try await Self.begin(options, in: database)
      newTransaction = id
      try await read(in: id, database, keys: keys, query: query)
    }
  }

  private mutating func read(
    in transaction: [UInt8], _ database: HostedDatabase, keys: [DocumentKey], query: Query?
  ) async throws {
    isInTransaction = true
    let latest = try await database.storage.currentVersion()
    version = try database.transactions.read(transaction, keys: keys, query: query, latest: latest)
  }

  /// Opens a transaction with the options of a request.
  static func begin(
    _ options: Google_Firestore_V1_TransactionOptions, in database: HostedDatabase
  ) async throws -> [UInt8] {
    guard case .readOnly(let readOnly)? = options.mode else {
      return try database.transactions.begin(isReadOnly: false)
    }
    guard case .readTime(let time)? = readOnly.consistencySelector else {
      return try database.transactions.begin(isReadOnly: true)
    }
    let timestamp = try database.translator.decode(time, at: "options.read_only.read_time")
    return try database.transactions.begin(isReadOnly: true, at: try await database.storage.snapshot(at: timestamp))
  }

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
