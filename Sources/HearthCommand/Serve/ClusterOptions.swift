#if PostgreSQL
  internal import ArgumentParser
  internal import Foundation
  internal import HearthServer

  /// The options of `hearth serve` for databases in PostgreSQL.
  struct ClusterOptions: ParsableArguments {
    /// The environment variable in place of `--storage`.
    static let variable = "HEARTH_STORAGE"

    @Option(
      help: ArgumentHelp(
        """
        Keep the databases in a PostgreSQL database that several servers share, such as postgres://user@host1,host2/name, made with \
        hearth storage create. The password comes from PGPASSFILE or PGPASSWORD. \(ClusterOptions.variable) may say it instead.
        """, valueName: "url"))
    var storage: String?

    @Option(
      help: """
        The name of this server among those that share the PostgreSQL database; that of the machine by default.
        """)
    var nodeName: String?

    @Option(
      help: """
        Milliseconds between looks for the commits of the other servers, which are heard of earlier as a rule.
        """)
    var pollMilliseconds = 100

    @Flag(help: "Serve although settings of the PostgreSQL server let it lose acknowledged commits in a crash.")
    var unsafeDurability = false

    @Flag(
      help: """
        Failovers of the PostgreSQL server lose no acknowledged commit, because its standbys are synchronous: listeners go on after \
        them instead of starting anew.
        """)
    var failoverKeepsCommits = false

    func validate() throws {
      guard (1...60_000).contains(pollMilliseconds) else {
        throw ValidationError("--poll-milliseconds is \(pollMilliseconds): choose a number between 1 and 60000.")
      }
    }

    /// The place that the option or the environment names.
    ///
    /// - Parameter isElsewhere: True if another option says where the databases are, which counts more than the environment.
    func location(isElsewhere: Bool) -> ClusterLocation? {
      let url = storage ?? (isElsewhere ? nil : ProcessInfo.processInfo.environment[Self.variable])
      guard let url, !url.isEmpty else { return nil }
      var location = ClusterLocation(url: url, nodeName: nodeName ?? ProcessInfo.processInfo.hostName)
      location.polling = .milliseconds(pollMilliseconds)
      location.allowsUnsafeDurability = unsafeDurability
      location.keepsCommitsAtFailover = failoverKeepsCommits
      return location
    }
  }
#endif
