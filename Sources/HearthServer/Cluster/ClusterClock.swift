#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The time of a cluster: the earlier one of two clocks, that of the PostgreSQL server and that of the node. So one that jumps ahead moves
  /// nothing, and one that is behind only slows time down.
  struct ClusterClock: Sendable {
    let node: ServerClock
    /// False in tests, which choose the time.
    let usesServerClock: Bool

    init(_ node: ServerClock, usesServerClock: Bool = true) {
      self.node = node
      self.usesServerClock = usesServerClock
    }

    func time(server: Timestamp) -> Timestamp { usesServerClock ? min(server, node.now()) : node.now() }

    /// The microseconds by which the two differ.
    func difference(server: Timestamp) -> Int64 {
      usesServerClock ? abs(server.microseconds - node.now().microseconds) : 0
    }
  }

  extension PostgresServerFacts {
    var time: Timestamp { Timestamp(microseconds: clockMicroseconds) }
  }
#endif
