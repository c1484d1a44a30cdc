import HearthHistory
import TestSupport
import Testing

/// A store in which clients take turns at random. It has a flaw that the checker must find without knowing it.
private struct FlawedStore {
  enum Flaw: CaseIterable {
    case none
    /// Commits do not look at what was read.
    case lostUpdate
    /// Commits look only at what they change (snapshot isolation).
    case writeSkew
    /// Transactions that only read may see the state of earlier times.
    case staleRead
    /// A commit is carried out twice.
    case doubledWrite
    /// A commit is refused after it was carried out.
    case abortedRead
  }

  private struct Client {
    var began: UInt64 = 0
    var start = 0
    var reads: [String: [Int]] = [:]
    var wishes: [String] = []
    var writes: [String] = []
  }

  let flaw: Flaw
  private var generator: SeededGenerator
  private var states: [[String: [Int]]] = [[:]]
  private var changes: [String: Int] = [:]
  private var events: UInt64 = 0
  private var lastNumber = 0
  private(set) var history: [ListTransaction] = []

  init(flaw: Flaw, seed: UInt64) {
    self.flaw = flaw
    generator = SeededGenerator(seed: seed)
  }

  private var state: [String: [Int]] { states.last ?? [:] }

  mutating func run() {
    var clients = [Client?](repeating: nil, count: 4)
    while history.count < 200 {
      let index = generator.below(clients.count)
      guard var client = clients[index] else {
        clients[index] = begin()
        continue
      }
      if let key = client.wishes.popLast() {
        client.reads[key] = states[client.start][key] ?? []
        clients[index] = client
      } else {
        commit(client, name: "\(index)")
        clients[index] = nil
      }
    }
    events += 1
    history.append(
      ListTransaction(client: "last", began: events, ended: events + 1, outcome: .committed, reads: state))
  }

  private mutating func begin() -> Client {
    events += 1
    var client = Client(began: events, start: states.count - 1)
    let keys = (0..<5).map { "k\($0)" }.shuffled(using: &generator)
    client.wishes = Array(keys.prefix(2))
    if generator.chance(70) { client.writes = [keys[0]] }
    if flaw == .staleRead, client.writes.isEmpty, generator.chance(30) { client.start = max(0, client.start - 5) }
    return client
  }

  private mutating func commit(_ client: Client, name: String) {
    let looked: [String] =
      switch flaw {
      case .lostUpdate: []
      case .writeSkew: client.writes
      case .none, .staleRead, .doubledWrite, .abortedRead: client.writes.isEmpty ? [] : Array(client.reads.keys)
      }
    var appends: [String: [Int]] = [:]
    var outcome = ListTransaction.Outcome.committed
    if looked.contains(where: { (changes[$0] ?? 0) > client.start }) {
      outcome = .failed
    } else if !client.writes.isEmpty {
      var next = state
      for key in client.writes {
        lastNumber += 1
        appends[key] = [lastNumber]
        let isTwice = flaw == .doubledWrite && generator.chance(20)
        next[key] = (client.reads[key] ?? []) + [lastNumber] + (isTwice ? [lastNumber] : [])
        changes[key] = states.count
      }
      states.append(next)
      if flaw == .abortedRead, generator.chance(20) { outcome = .failed }
    }
    events += 1
    history.append(
      ListTransaction(
        client: name, began: client.began, ended: events, outcome: outcome, reads: client.reads, appends: appends))
  }
}

@Suite("The checker of histories")
struct HistoryCheckerTests {
  private func anomalies(_ flaw: FlawedStore.Flaw, seed: UInt64) -> Set<HistoryChecker.Anomaly> {
    var store = FlawedStore(flaw: flaw, seed: seed)
    store.run()
    return Set(HistoryChecker.findings(in: store.history).map(\.anomaly))
  }

  @Test("finds nothing in histories of a store without a flaw")
  func sound() {
    for seed in SeededGenerator.seeds(100) { #expect(anomalies(.none, seed: seed) == [], "seed \(seed)") }
  }

  @Test(
    "finds planted anomalies and names them",
    arguments: [
      (FlawedStore.Flaw.lostUpdate, [HistoryChecker.Anomaly.lostUpdate, .lostOrder]), (.writeSkew, [.writeSkew]),
      (.staleRead, [.staleRead]), (.doubledWrite, [.doubledNumber]), (.abortedRead, [.numberFromNowhere]),
    ])
  fileprivate func planted(_ flaw: FlawedStore.Flaw, _ expected: [HistoryChecker.Anomaly]) {
    for seed in SeededGenerator.seeds(100) {
      let found = anomalies(flaw, seed: seed)
      #expect(!found.isDisjoint(with: expected), "seed \(seed): \(found)")
    }
  }

  private func transaction(
    _ began: UInt64, _ ended: UInt64, _ outcome: ListTransaction.Outcome = .committed, reads: [String: [Int]] = [:],
    appends: [String: [Int]] = [:]
  ) -> ListTransaction {
    ListTransaction(client: "c", began: began, ended: ended, outcome: outcome, reads: reads, appends: appends)
  }

  @Test("a committed number that a later read does not have is an anomaly; one of an unknown outcome is none")
  func missingNumbers() {
    let late = transaction(5, 6, reads: ["a": [1]])
    let first = transaction(1, 2, appends: ["a": [1]])
    let lost = transaction(3, 4, appends: ["a": [2]])
    #expect(HistoryChecker.findings(in: [first, lost, late]).map(\.anomaly) == [.staleRead])
    let unknown = transaction(3, 4, .unknown, appends: ["a": [2]])
    #expect(HistoryChecker.findings(in: [first, unknown, late]).isEmpty)
    let seen = transaction(7, 8, reads: ["a": [1, 2]])
    #expect(HistoryChecker.findings(in: [first, unknown, late, seen]).isEmpty, "it was carried out later")
    let failed = transaction(3, 4, .failed, appends: ["a": [2]])
    let findings = HistoryChecker.findings(in: [first, failed, late, seen])
    #expect(findings.map(\.anomaly) == [.numberFromNowhere])
    #expect(findings.map(\.description) == ["a number that no committed transaction has appended: 2 in a"])
  }
}
