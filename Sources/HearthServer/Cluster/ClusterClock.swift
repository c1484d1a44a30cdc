#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The time of a cluster: the earlier one of two clocks, that of the PostgreSQL server and that of the node. So one that jumps ahead moves
  /// nothing, and one that is behind only slows time down.
  struct ClusterClock: Sendable {
    let node: ServerClock

    init(_ node: ServerClock) {
      self.node = node
    }

    /// A clock that a test moves is the only one.
    private var isAlone: Bool { node.elapsed == nil }

    func time(server: Timestamp) -> Timestamp { isAlone ? node.now() : min(server, node.now()) }

    /// The time by which leases and ages of transactions are judged, the same for all nodes: that of the server alone.
    func leaseTime(server: Timestamp) -> Int64 { (isAlone ? node.now() : server).microseconds }

    func leaseTime(on session: PostgresSession) throws -> Int64 {
      leaseTime(server: Timestamp(microseconds: try session.run(Self.now.call()).only().microseconds(0)))
    }

    private static let now = PostgresStatement("time", "SELECT clock_timestamp()")

    /// The later one of the two.
    func latest(server: Timestamp) -> Timestamp { isAlone ? node.now() : max(server, node.now()) }

    /// The microseconds by which the two differ.
    func difference(server: Timestamp) -> Int64 {
      isAlone ? 0 : abs(server.microseconds - node.now().microseconds)
    }
  }

  extension PostgresServerFacts {
    var time: Timestamp { Timestamp(microseconds: clockMicroseconds) }
  }
#endif
