/// The destination of a listen stream's messages.
struct ListenOutput: Sendable {
  /// Returns true if much of what was sent still waits for the client.
  let isBehind: @Sendable () -> Bool
  /// Sends messages to the client; waits while the client does not read.
  let send: @Sendable ([ListenMessage]) async throws -> Void
}
