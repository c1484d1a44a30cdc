#if PostgreSQL
  internal import HearthPostgres

  /// A PostgreSQL database that several servers share, and how this one uses it.
  package struct ClusterLocation: Sendable, Equatable, CustomStringConvertible {
    /// A URL as libpq reads it, without a password: that comes from `PGPASSFILE` or `PGPASSWORD`.
    package var url: String
    /// The name of this node in logs.
    package var nodeName: String
    /// The interval at which the commits of other nodes are looked for. They are heard of earlier by NOTIFY, as a rule.
    package var polling: Duration = .milliseconds(100)
    /// The sessions for commits: as many databases commit at the same time.
    package var commitSessions = 8
    /// The sessions for reads.
    package var readSessions = 16
    /// True to serve although the server's settings allow it to lose acknowledged commits in a crash.
    package var allowsUnsafeDurability = false
    /// True if failovers of the server lose no acknowledged commit, because its standbys are synchronous. Listeners go on then; otherwise they
    /// start anew after each.
    package var keepsCommitsAtFailover = false

    package init(url: String, nodeName: String = "node") {
      self.url = url
      self.nodeName = nodeName
    }

    /// The user, hosts and name of the database.
    package var description: String {
      "in PostgreSQL: \((try? PostgresConfiguration(url: url))?.description ?? "an address that cannot be used")"
    }
  }
#endif
