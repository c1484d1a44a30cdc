import HearthSync

/// The timers that the client has asked for. Nothing but a step lets time pass.
struct SpecTimers {
  private(set) var now = Duration.zero
  private var due: [(kind: TimerKind, time: Duration)] = []

  mutating func start(_ kind: TimerKind, after delay: Duration) {
    cancel(kind)
    due.append((kind, now + delay))
  }

  mutating func cancel(_ kind: TimerKind) {
    due.removeAll { $0.kind == kind }
  }

  func isRunning(_ kind: TimerKind) -> Bool {
    due.contains { $0.kind == kind }
  }

  /// The timers that fire when time passes until one of that name is due, in order; all of them for "all". Collectors
  /// run only when a step says so.
  func fired(until name: String) throws -> [(kind: TimerKind, time: Duration)] {
    let order = due.filter { Self.names[$0.kind] != nil }.enumerated()
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    if name == "all" { return order }
    guard Self.names.values.contains(name) || Self.foreignNames.contains(name) else {
      throw SpecFailure("unknown timer \"\(name)\"")
    }
    guard let last = order.firstIndex(where: { Self.names[$0.kind] == name }) else { return [] }
    return Array(order[...last])
  }

  /// Takes a timer whose time has come.
  ///
  /// - Returns: false if it has been cancelled or started anew since.
  mutating func take(_ timer: (kind: TimerKind, time: Duration)) -> Bool {
    guard let index = due.firstIndex(where: { $0 == timer }) else { return false }
    due.remove(at: index)
    now = max(now, timer.time)
    return true
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
