internal import Foundation
internal import HearthModel
internal import HearthWire

/// A write stream after its handshake: one response for each request, in order.
struct WriteSession {
  let database: Session
  /// The number in the token of the latest response. Clients send the token back, and the server ignores it.
  private var responseCount = 0

  init(database: Session) {
    self.database = database
  }

  /// The response to the first message.
  func greeting(to message: Google_Firestore_V1_WriteRequest) throws -> Google_Firestore_V1_WriteResponse {
    guard message.writes.isEmpty else {
      throw StatusError.invalid("'writes' must not be set on an initial write request.")
    }
    guard message.streamID.isEmpty else {
      throw StatusError.invalid("Resuming streams is not supported, do not set stream ID.")
    }
    var response = Google_Firestore_V1_WriteResponse()
    response.streamID = WireTranslator.batchLabelAnnouncement
    response.streamToken = token(0)
    return response
  }

  private func token(_ number: Int) -> Data { Data("\(number)".utf8) }

  /// Commits the writes of one message. A message without writes closes the stream.
  ///
  /// A labelled batch that was committed before is not applied again; its answer is the stored one.
  mutating func answer(
    _ message: Google_Firestore_V1_WriteRequest
  ) async throws -> (response: Google_Firestore_V1_WriteResponse, isLast: Bool) {
    var response = Google_Firestore_V1_WriteResponse()
    responseCount += 1
    response.streamToken = token(responseCount)
    if message.writes.isEmpty { return (response, true) }
    let mutations = try await database.checkedMutations(of: message.writes)
    let label = try message.labels[WireTranslator.batchLabelName].map { text throws(StatusError) in
      try RequestLabel(parsing: text, mutations: mutations, database: database.id)
    }
    let outcome = try await database.commit(CommitRequest(mutations: mutations, label: label))
    response.writeResults = outcome.results.map { database.translator.encode($0) }
    response.commitTime = database.translator.encode(outcome.version)
    return (response, false)
  }
}
