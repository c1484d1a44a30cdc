internal import Foundation
internal import HearthModel
internal import HearthStore
internal import HearthWire
internal import SwiftProtobuf

/// The answers to the latest labelled batches of each client cache.
///
/// An answer is stored in the transaction of its commit. So a client whose connection broke before it got the answer can
/// send the batch again, also after a restart of either side, and it is applied once.
struct BatchResponses {
  /// Clients have at most 10 batches on their way; this leaves room for more.
  static let keptPerCache: Int64 = 256

  let database: Database
  let translator: WireTranslator

  init(database: Database, databaseID: DatabaseID) {
    self.database = database
    self.translator = WireTranslator(database: databaseID)
  }

  func response(for label: BatchLabel) throws -> CommitOutcome? {
    let select = try database.prepare(
      "SELECT response FROM server_batch_responses WHERE cache_id = ? AND batch_id = ?")
    try select.bind(1, label.cacheID)
    try select.bind(2, label.batchID)
    guard try select.step() else { return nil }
    let message = try Google_Firestore_V1_CommitResponse(serializedBytes: try select.bytes(at: 0))
    let version = SnapshotVersion(try translator.decode(message.commitTime, at: "commit_time"))
    let results = try message.writeResults.map { result in
      // A stored result without an update time is that of a delete.
      var decoded = try translator.decode(result, commitVersion: version, at: "write_results")
      if !result.hasUpdateTime { decoded.version = .none }
      return decoded
    }
    return CommitOutcome(version: version, results: results)
  }

  func save(_ outcome: CommitOutcome, for label: BatchLabel) throws {
    var message = Google_Firestore_V1_CommitResponse()
    message.commitTime = translator.encode(outcome.version)
    message.writeResults = outcome.results.map { translator.encode($0) }
    let insert = try database.prepare(
      "INSERT INTO server_batch_responses (cache_id, batch_id, response) VALUES (?, ?, ?)")
    try insert.bind(1, label.cacheID)
    try insert.bind(2, label.batchID)
    try insert.bind(3, [UInt8](try message.serializedData()))
    try insert.run()
    let forget = try database.prepare("DELETE FROM server_batch_responses WHERE cache_id = ? AND batch_id <= ?")
    try forget.bind(1, label.cacheID)
    try forget.bind(2, label.batchID - Self.keptPerCache)
    try forget.run()
  }
}
