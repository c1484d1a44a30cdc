/// A limit of the server, by its name in the metrics (docs/server.md, "Limits and metrics").
///
/// These are the limits of connections and calls. The services have further limits.
package struct ServerLimit: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The limits of connections and calls.
  package static let ofCalls: [ServerLimit] = [
    .connections, .streamsPerConnection, .pings, .unsentPingAnswers, .resets, .emptyFrames, .strayFrames, .keepAlive,
    .webIdle, .calls, .failedAuthenticationsPerMinute, .requestBytes, .receivedBytes, .requestBytesInProgress,
    .queuedBytesPerStream, .queuedBytes, .unreadBytes, .unread, .webBody,
  ]

  // Limits of connections.
  package static let connections = ServerLimit(rawValue: "connections")
  package static let streamsPerConnection = ServerLimit(rawValue: "streams_per_connection")
  package static let pings = ServerLimit(rawValue: "pings")
  package static let unsentPingAnswers = ServerLimit(rawValue: "unsent_ping_answers")
  package static let resets = ServerLimit(rawValue: "resets")
  package static let emptyFrames = ServerLimit(rawValue: "empty_frames")
  package static let strayFrames = ServerLimit(rawValue: "stray_frames")
  package static let keepAlive = ServerLimit(rawValue: "keep_alive")
  package static let webIdle = ServerLimit(rawValue: "web_idle")
  // Limits of calls.
  package static let calls = ServerLimit(rawValue: "calls")
  package static let failedAuthenticationsPerMinute = ServerLimit(rawValue: "failed_authentications_per_minute")
  package static let requestBytes = ServerLimit(rawValue: "request_bytes")
  package static let receivedBytes = ServerLimit(rawValue: "received_bytes")
  package static let requestBytesInProgress = ServerLimit(rawValue: "request_bytes_in_progress")
  package static let queuedBytesPerStream = ServerLimit(rawValue: "queued_bytes_per_stream")
  package static let queuedBytes = ServerLimit(rawValue: "queued_bytes")
  package static let unreadBytes = ServerLimit(rawValue: "unread_bytes")
  package static let unread = ServerLimit(rawValue: "unread")
  package static let webBody = ServerLimit(rawValue: "web_body")
}
