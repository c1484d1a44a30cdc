/// A limit of the server, by the name that its metrics have for it (docs/server.md, "Limits and metrics").
///
/// Here are the limits of connections and calls. What carries out calls has further ones.
struct ServerLimit: RawRepresentable, Hashable, Sendable {
  let rawValue: String

  init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The limits of connections and calls.
  static let ofCalls: [ServerLimit] = [
    .connections, .streamsPerConnection, .pings, .unsentPingAnswers, .resets, .emptyFrames, .strayFrames, .keepAlive,
    .webIdle, .calls, .requestBytes, .receivedBytes, .requestBytesInProgress, .queuedBytesPerStream, .queuedBytes,
    .unreadBytes, .unread, .webBody,
  ]

  // Of connections.
  static let connections = ServerLimit(rawValue: "connections")
  static let streamsPerConnection = ServerLimit(rawValue: "streams_per_connection")
  static let pings = ServerLimit(rawValue: "pings")
  static let unsentPingAnswers = ServerLimit(rawValue: "unsent_ping_answers")
  static let resets = ServerLimit(rawValue: "resets")
  static let emptyFrames = ServerLimit(rawValue: "empty_frames")
  static let strayFrames = ServerLimit(rawValue: "stray_frames")
  static let keepAlive = ServerLimit(rawValue: "keep_alive")
  static let webIdle = ServerLimit(rawValue: "web_idle")
  // Of calls.
  static let calls = ServerLimit(rawValue: "calls")
  static let requestBytes = ServerLimit(rawValue: "request_bytes")
  static let receivedBytes = ServerLimit(rawValue: "received_bytes")
  static let requestBytesInProgress = ServerLimit(rawValue: "request_bytes_in_progress")
  static let queuedBytesPerStream = ServerLimit(rawValue: "queued_bytes_per_stream")
  static let queuedBytes = ServerLimit(rawValue: "queued_bytes")
  static let unreadBytes = ServerLimit(rawValue: "unread_bytes")
  static let unread = ServerLimit(rawValue: "unread")
  static let webBody = ServerLimit(rawValue: "web_body")
}
