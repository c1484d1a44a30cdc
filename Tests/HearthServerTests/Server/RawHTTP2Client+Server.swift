import HearthServer
import HearthWire
import RawHTTP2

extension RawHTTP2Client {
  /// Runs `body` with a connection that has sent its preface.
  static func withConnection<R>(
    to server: EmbeddedServer, answersPings: Bool = true, acknowledgesSettings: Bool = true, reads: Bool = true,
    streamWindow: UInt32 = UInt32(Int32.max), connectionWindow: UInt32 = UInt32(Int32.max),
    _ body: (RawHTTP2Client) async throws -> R
  ) async throws -> R {
    try await withConnection(
      toPort: server.port, answersPings: answersPings, acknowledgesSettings: acknowledgesSettings, reads: reads,
      streamWindow: streamWindow, connectionWindow: connectionWindow, body)
  }
}

extension RawHTTP2Client.Frame {
  /// A whole call that reads a document.
  static func getCall(_ streamID: UInt32) throws -> [RawHTTP2Client.Frame] {
    [headers(streamID), try getMessage(streamID)]
  }

  static func getMessage(_ streamID: UInt32) throws -> RawHTTP2Client.Frame {
    var request = Google_Firestore_V1_GetDocumentRequest()
    request.name = name("rooms/eros")
    return try message(request, streamID)
  }
}
