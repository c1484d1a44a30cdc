#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Logging
  internal import Synchronization

  /// Tries whether a PostgreSQL server does what a cluster needs: `hearth storage check`.
  package struct ClusterCheck: Sendable {
    private let location: ClusterLocation
    private let trial: EngineTrial?

    /// - Parameter seconds: The time for which the history of transactions is checked; nil to leave out that and the comparison of random
    ///   requests.
    package init(_ location: ClusterLocation, historySeconds seconds: Int?) {
      self.location = location
      trial = seconds.map { EngineTrial(location, historySeconds: $0) }
    }

    /// The findings, in the order in which they are made.
    package struct Report: Sendable {
      private let onLine: @Sendable (String) -> Void
      /// False if the server cannot be used as it is.
      package private(set) var isGood = true

      fileprivate init(_ onLine: @escaping @Sendable (String) -> Void) {
        self.onLine = onLine
      }

      mutating func add(_ name: String, _ finding: String, isGood: Bool = true) {
        onLine("\(isGood ? "ok " : "BAD") \(name): \(finding)")
        if !isGood { self.isGood = false }
      }
    }

    /// The transactions of each of the writers that are compared.
    private static let commits = 200
    private static let writers = 4

    /// - Parameter onLine: Gets each finding.
    /// - Throws: `ServerError` if the server cannot be reached.
    package func run(onLine: @escaping @Sendable (String) -> Void) async throws(ServerError) -> Report {
      var report = Report(onLine)
      let facts = try await ClusterSetup(location).perform { try $0.facts() }
      check(facts, &report)
      guard !facts.isInRecovery, !facts.isReadOnly else { return report }
      do throws(ServerError) {
        try await ClusterSetup(location).checkSchema()
        let faults = try await ClusterSetup(location).perform { try TableCheck.differences(on: $0) }
        for fault in faults { report.add("tables", fault, isGood: false) }
        guard faults.isEmpty else { return report }
        report.add("tables", "schema \(ClusterSchema.version)")
      } catch {
        report.add("tables", error.description, isGood: false)
        return report
      }
      do {
        try await checkOrder(&report)
        try await checkHints(&report)
      } catch {
        throw ServerError(storage: error)
      }
      guard let trial else { return report }
      guard report.isGood || location.allowsUnsafeDurability else {
        report.add("requests and history", "left out: the server cannot be used as it is", isGood: false)
        return report
      }
      try await trial.run(&report)
      return report
    }

    private func check(_ facts: PostgresServerFacts, _ report: inout Report) {
      report.add("version", "\(facts.version / 10_000)", isGood: facts.version >= ClusterHistory.oldestServer)
      report.add(
        "writes", facts.isInRecovery || facts.isReadOnly ? "the server takes none" : "taken",
        isGood: !facts.isInRecovery && !facts.isReadOnly)
      report.add("fsync", facts.fsync, isGood: facts.fsync == "on")
      report.add("full_page_writes", facts.fullPageWrites, isGood: facts.fullPageWrites == "on")
      report.add(
        "synchronous_commit",
        facts.synchronousCommit == "off" ? "off: the nodes commit with on" : facts.synchronousCommit)
      report.add(
        "synchronous_standby_names",
        facts.synchronousStandbyNames.isEmpty
          ? "none: a failover may lose the newest commits" : facts.synchronousStandbyNames)
      let milliseconds = ClusterClock(.system).difference(server: facts.time) / 1000
      report.add("clocks", "\(milliseconds) ms apart", isGood: milliseconds < 1_000)
    }

    /// Writers append to a table under the lock of a row, as commits do, while readers look for versions that come late.
    private func checkOrder(_ report: inout Report) async throws {
      let order = OrderCheck(location, commits: Self.commits, writers: Self.writers)
      let found = try await order.run()
      report.add(
        "order", "\(found.commits) commits, \(found.reads) reads, \(found.late) late versions", isGood: found.late == 0)
    }

    private func checkHints(_ report: inout Report) async throws {
      let configuration = try PostgresConfiguration(url: location.url)
      let (events, event) = AsyncStream.makeStream(of: PostgresListener.Event.self)
      let listener = try PostgresListener(configuration, label: "hearth check", channels: [Self.channel]) {
        event.yield($0)
      }
      let timer = Task {
        try await Task.sleep(for: .seconds(5))
        event.finish()
      }
      var isHeard = false
      for await found in events {
        if found == .listening { try await notify() }
        guard case .notification = found else { continue }
        isHeard = true
        break
      }
      timer.cancel()
      await listener.close()
      report.add(
        "notifications",
        isHeard ? "heard" : "not heard within 5 s: is there a pooler in transaction mode? Commits are found by polling")
    }

    private static let channel = "hearth_check"

    private func notify() async throws {
      try await ClusterSetup(location).perform { session in
        _ = try session.run(HintSender.notify.call(.text(Self.channel), .text("check")))
      }
    }
  }
#endif
