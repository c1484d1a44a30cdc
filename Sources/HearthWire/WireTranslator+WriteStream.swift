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

  /// The request in `message`.
  ///
  /// A message with neither writes nor a token is a handshake. The caller checks whether a handshake may come at this point of the stream.
  ///
  /// - Throws: a ``WireError`` when a stream is to be resumed, which the protocol does not offer, when the
  ///   database is another one, or when a write is malformed.
  package func decode(_ message: Google_Firestore_V1_WriteRequest) throws(WireError) -> WriteRequest {
    try at("WriteRequest") {
      guard message.streamID.isEmpty else {
        throw WireError(
          field: "stream_id", message: "Resuming streams is not supported, do not set stream ID.")
      }
      if !message.database.isEmpty {
        try checkDatabase(message.database, at: "database")
      }
      if message.writes.isEmpty, message.streamToken.isEmpty {
        try checkDatabase(message.database, at: "database")
        return .handshake
      }
      return .writes(
        try decode(message.writes), streamToken: [UInt8](message.streamToken),
        batchLabel: message.labels[Self.batchLabelName])
    }
  }

  /// The mutations of a request's `writes`, in order.
  package func decode(_ messages: [Google_Firestore_V1_Write]) throws(WireError) -> [Mutation] {
    var mutations: [Mutation] = []
    mutations.reserveCapacity(messages.count)
    for (index, message) in messages.enumerated() {
      mutations.append(try at("writes[\(index)]") { try decode(write: message) })
    }
    return mutations
  }

  /// The message for one answer on the Write stream.
  package func encode(_ response: WriteResponse) -> Google_Firestore_V1_WriteResponse {
    var message = Google_Firestore_V1_WriteResponse()
    message.streamToken = Data(response.streamToken)
    if response.knowsBatchLabels { message.streamID = Self.batchLabelAnnouncement }
    message.writeResults = response.results.map { encode($0) }
    if response.commitVersion != .none {
      message.commitTime = encode(response.commitVersion)
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
