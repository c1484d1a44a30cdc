package import HearthModel
internal import SwiftProtobuf

extension CacheCodec {
  /// The backend's answer to a batch, as a `google.firestore.v1.CommitResponse`.
  package static func encode(
    commit version: SnapshotVersion, results: [MutationResult], database: DatabaseID
  ) throws -> [UInt8] {
    let translator = WireTranslator(database: database)
    var message = Google_Firestore_V1_CommitResponse()
    message.commitTime = translator.encode(version)
    message.writeResults = results.map { translator.encode($0) }
    return try message.serializedBytes()
  }

  /// - Throws: a ``WireError`` when the bytes are not the answer to a batch.
  package static func decodeCommit(
    _ bytes: [UInt8], database: DatabaseID
  ) throws(WireError) -> (version: SnapshotVersion, results: [MutationResult]) {
    let message: Google_Firestore_V1_CommitResponse
    do {
      message = try Google_Firestore_V1_CommitResponse(serializedBytes: bytes)
    } catch {
      throw WireError(field: "stored answer", message: "\(error)")
    }
    let (version, results) = try WireTranslator(database: database).decode(message)
    return (version, results)
  }
}
