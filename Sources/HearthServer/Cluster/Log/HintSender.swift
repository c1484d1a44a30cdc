#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  /// Tells the other nodes that there are commits, by NOTIFY.
  ///
  /// Never in the transaction of a commit: a transaction with a NOTIFY holds a lock of the whole server until it is flushed. So a hint may be
  /// lost, and nodes look for commits regularly, too.
  final class HintSender: Sendable {
    static let channel = "hearth"
    /// No caller's name: hints wait for no transactions.
    private static let sender = "hints of hearth"

    private struct State {
      /// The databases with news.
      var pending: [Int64: SnapshotVersion] = [:]
      /// A hint is on its way, or about to be.
      var isSending = false
    }

    private let pool: PostgresPool
    private let node: Int64
    private let isOn: Bool
    private let state = Mutex(State())

    /// The least time between two hints: commits that follow each other closely share one.
    private static let interval = Duration.milliseconds(2)
    /// The databases that one hint names: its text has at most 8,000 bytes.
    private static let databasesPerHint = 150

    init(_ pool: PostgresPool, node: Int64, isOn: Bool) {
      (self.pool, self.node, self.isOn) = (pool, node, isOn)
    }

    /// Tells of the present version of a database, soon.
    func announce(_ version: SnapshotVersion, of database: Int64) {
      guard isOn else { return }
      let isFirst = state.withLock { state in
        state.pending[database] = max(version, state.pending[database] ?? .none)
        defer { state.isSending = true }
        return !state.isSending
      }
      if isFirst { Task { await send() } }
    }

    private func send() async {
      while let hint = next() {
        // A hint that is lost is found by polling.
        _ = try? await pool.withSession(deadline: .now + .seconds(2), sender: Self.sender) { session in
          _ = try session.run(Self.notify.call(.text(Self.channel), .text(hint.text)))
        }
        try? await Task.sleep(for: Self.interval)
      }
    }

    private func next() -> Hint? {
      state.withLock { state in
        guard !state.pending.isEmpty else {
          state.isSending = false
          return nil
        }
        let databases = state.pending.sorted { $0.key < $1.key }.prefix(Self.databasesPerHint)
        for (database, _) in databases { state.pending[database] = nil }
        return Hint(node: node, databases: databases.map { ($0.key, $0.value) })
      }
    }

    static let notify = PostgresStatement("notify", "SELECT pg_notify($1, $2)", [.text, .text])
  }

  /// The contents of a notification: the databases with news, and their versions.
  struct Hint: Sendable {
    let node: Int64
    let databases: [(number: Int64, version: SnapshotVersion)]

    init(node: Int64, databases: [(number: Int64, version: SnapshotVersion)]) {
      (self.node, self.databases) = (node, databases)
    }

    var text: String {
      "\(node);" + databases.map { "\($0.number):\($0.version.microseconds)" }.joined(separator: ",")
    }

    /// Nil for a text that is no hint: any user of the PostgreSQL database can send one.
    init?(_ text: String) {
      let parts = text.split(separator: ";", omittingEmptySubsequences: false)
      guard parts.count == 2, let node = Int64(parts[0]) else { return nil }
      var databases: [(number: Int64, version: SnapshotVersion)] = []
      for entry in parts[1].split(separator: ",") {
        let numbers = entry.split(separator: ":", omittingEmptySubsequences: false)
        guard numbers.count == 2, let number = Int64(numbers[0]), let version = Int64(numbers[1]) else { return nil }
        databases.append((number, SnapshotVersion(microseconds: version)))
      }
      self.init(node: node, databases: databases)
    }
  }
#endif
