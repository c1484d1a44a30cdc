import EngineHarness
import HearthSync

/// The timers by the names that the files give them.
extension DeviceTimers {
  /// The timers that fire when time passes until one of that name is due, in order; all of them for "all". Collectors
  /// run only when a step says so.
  func fired(until name: String) throws -> [Timer] {
    let order = running.filter { Self.names[$0.kind] != nil }.enumerated()
      .sorted { ($0.element.due, $0.offset) < ($1.element.due, $1.offset) }.map(\.element)
    if name == "all" { return order }
    guard Self.names.values.contains(name) || Self.foreignNames.contains(name) else {
      throw SpecFailure("unknown timer \"\(name)\"")
    }
    guard let last = order.firstIndex(where: { Self.names[$0.kind] == name }) else { return [] }
    return Array(order[...last])
  }

  private static let names: [TimerKind: String] = [
    .listenStreamIdle: "listen_stream_idle", .listenStreamConnectionBackoff: "listen_stream_connection_backoff",
    .writeStreamIdle: "write_stream_idle", .writeStreamConnectionBackoff: "write_stream_connection_backoff",
    .onlineStateTimeout: "online_state_timeout", .asyncQueueRetry: "async_queue_retry",
    .clientMetadataRefresh: "client_metadata_refresh",
  ]

  /// Timers of the official clients that this one does not need.
  private static let foreignNames: Set<String> = [
    "health_check_timeout", "lru_garbage_collection", "transaction_retry", "index_backfill",
  ]
}
