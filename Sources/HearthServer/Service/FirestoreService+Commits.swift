internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import NIOCore
internal import SwiftProtobuf

extension FirestoreService {
  /// The writes of a request, which may wait for locks and for the writer.
  struct PreparedWrites: Sendable {
    let database: Session
    let mutations: [Mutation]
    /// Empty if there is none.
    var transaction: [UInt8] = []
  }

  func prepareCommit(
    _ message: inout Google_Firestore_V1_CommitRequest, _ call: ServerCall
  ) async throws -> PreparedWrites {
    let database = try await sessions.open(ResourceName.database(message.database, at: "database"), for: call)
    let mutations = try await database.checkedMutations(of: Self.takeAll(&message.writes))
    return PreparedWrites(
      database: database, mutations: mutations, transaction: [UInt8](message.transaction))
  }

  /// Moves writes out of a message, so that each can be given up when it is decoded.
  private static func takeAll(_ writes: inout [Google_Firestore_V1_Write]) -> [Google_Firestore_V1_Write] {
    defer { writes = [] }
    return writes
  }

  func commit(_ writes: PreparedWrites) async throws -> Google_Firestore_V1_CommitResponse {
    let database = writes.database
    let outcome = try await database.commit(writes.mutations, endingTransaction: writes.transaction)
    var response = Google_Firestore_V1_CommitResponse()
    response.writeResults = outcome.results.map { database.translator.encode($0) }
    response.commitTime = database.translator.encode(outcome.version)
    return response
  }

  /// The number of the field `transaction` of `CommitRequest`.
  private static let transactionField = 3

  /// Returns true for a `CommitRequest` that names a transaction.
  static func endsTransaction(_ request: ByteBuffer) -> Bool {
    let names = try? request.withUnsafeReadableBytes { bytes throws(WireFormatError) in
      var reader = WireReader(bytes)
      while let tag = try reader.readTag("CommitRequest") {
        guard tag == WireTag(field: transactionField, type: .lengthDelimited) else {
          try reader.skip(tag, "CommitRequest")
          continue
        }
        if try !reader.readMessage("CommitRequest.transaction").isAtEnd { return true }
      }
      return false
    }
    return names ?? false
  }

  func prepareBatchWrite(
    _ message: inout Google_Firestore_V1_BatchWriteRequest, _ call: ServerCall
  ) async throws -> PreparedWrites {
    let database = try await sessions.open(ResourceName.database(message.database, at: "database"), for: call)
    let mutations = try await database.separateMutations(of: Self.takeAll(&message.writes))
    guard Set(mutations.map(\.key)).count == mutations.count else {
      throw StatusError.invalid("the same document cannot be written more than once in a single request")
    }
    return PreparedWrites(database: database, mutations: mutations)
  }

  func batchWrite(_ writes: PreparedWrites) async throws -> Google_Firestore_V1_BatchWriteResponse {
    let database = writes.database
    let outcomes = await commitEach(writes.mutations, in: database)
    var response = Google_Firestore_V1_BatchWriteResponse()
    for outcome in outcomes {
      switch outcome {
      case .success(let outcome):
        let result = outcome.results.first ?? MutationResult(version: outcome.version, transformResults: [])
        response.writeResults.append(database.translator.encode(result))
        response.status.append(database.translator.encode(nil as StatusError?))
      case .failure(let error):
        response.writeResults.append(Google_Firestore_V1_WriteResult())
        response.status.append(database.translator.encode(error))
      }
    }
    return response
  }

  /// As many writes as the official SDKs put into one BatchWrite. More of one request are not in progress at once: each has a task.
  private static let writesAtOnce = 500

  /// Commits each write by itself. They are handed over together, so that the storage can make them durable together.
  private func commitEach(
    _ mutations: [Mutation], in database: Session
  ) async -> [Result<CommitOutcome, StatusError>] {
    let batch = BatchEffort()
    return await withTaskGroup(of: (Int, Result<CommitOutcome, StatusError>).self) { group in
      var outcomes: [Result<CommitOutcome, StatusError>?] = Array(repeating: nil, count: mutations.count)
      for (index, mutation) in mutations.enumerated() {
        if index >= Self.writesAtOnce, let (ended, outcome) = await group.next() { outcomes[ended] = outcome }
        group.addTask {
          do throws(StatusError) {
            let request = CommitRequest(mutations: [mutation])
            return (index, .success(try await database.commit(request, in: batch)))
          } catch {
            return (index, .failure(error))
          }
        }
      }
      for await (index, outcome) in group { outcomes[index] = outcome }
      return outcomes.compactMap { $0 }
    }
  }

  // MARK: - Transactions

  func beginTransaction(
    _ message: Google_Firestore_V1_BeginTransactionRequest, _ call: ServerCall
  ) async throws -> Google_Firestore_V1_BeginTransactionResponse {
    let database = try await sessions.open(ResourceName.database(message.database, at: "database"), for: call)
    var response = Google_Firestore_V1_BeginTransactionResponse()
    response.transaction = Data(try await ReadPlan.begin(message.options, in: database))
    return response
  }

  func rollback(
    _ message: Google_Firestore_V1_RollbackRequest, _ call: ServerCall
  ) async throws -> Google_Protobuf_Empty {
    let database = try await sessions.open(ResourceName.database(message.database, at: "database"), for: call)
    try await database.rollback([UInt8](message.transaction))
    return Google_Protobuf_Empty()
  }
}
