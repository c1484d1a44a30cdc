package import HearthModel
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WireTranslator {
  /// The key of the label by which a backend recognises a batch that it has already applied, when the answer was lost
  /// and the client sends the batch again.
  package static let batchLabelName = "hearth-batch"

  /// The stream id in the handshake's answer of a backend that knows this label. The official SDKs ignore it, and no stream can be resumed
  /// by it.
  package static let batchLabelAnnouncement = "hearth-batch-labels-1"

  /// The message for one request on the Write stream. Only the handshake names the database.
  package func encode(_ request: WriteRequest) -> Google_Firestore_V1_WriteRequest {
    var message = Google_Firestore_V1_WriteRequest()
    switch request {
    case .handshake:
      message.database = database.resourceName
    case .writes(let mutations, let streamToken, let batchLabel):
      message.writes = mutations.map { encode($0) }
      message.streamToken = Data(streamToken)
      if let batchLabel {
        message.labels[Self.batchLabelName] = batchLabel
      }
    }
    return message
  }

  /// The answer in `message`. The answer to the handshake has no commit time and no results.
  package func decode(_ message: Google_Firestore_V1_WriteResponse) throws(WireError) -> WriteResponse {
    try at("WriteResponse") {
      let commitVersion: SnapshotVersion =
        message.hasCommitTime ? try decodeVersion(message.commitTime, at: "commit_time") : .none
      return WriteResponse(
        streamToken: [UInt8](message.streamToken), commitVersion: commitVersion,
        results: try decode(message.writeResults, commitVersion: commitVersion, at: "write_results"),
        knowsBatchLabels: message.streamID == Self.batchLabelAnnouncement)
    }
  }
}
