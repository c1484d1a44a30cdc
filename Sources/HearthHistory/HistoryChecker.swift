/// Checks that a history of transactions on lists is strictly serialisable: one order of all committed transactions explains what each has
/// read, and in this order each transaction comes after those that had ended before it began.
///
/// A list shows the order of the transactions that have appended to it. So the order need not be searched for. The transactions are the
/// nodes of a graph, an edge leads to a transaction that must come later, and every cycle is an anomaly (Kingsbury and Alvaro, "Elle",
/// 2020).
///
/// | edge | from | to |
/// |---|---|---|
/// | write–write | the writer of a number | the writer of the next one in the list |
/// | write–read | the writer of the last number of a list | a reader of the list up to this number |
/// | read–write | a reader of a list | the writer of the next number |
/// | time | a transaction | those that began after its end |
package struct HistoryChecker {
  package enum Anomaly: String, Sendable {
    /// A number that no transaction, or only a failed one, has appended.
    case numberFromNowhere = "a number that no committed transaction has appended"
    case doubledNumber = "a list with a number twice"
    /// Two reads of a list where neither is a prefix of the other.
    case lostOrder = "a list that was read in two orders"
    /// A committed number that is overwritten or was never there, with the same list read by both writers.
    case lostUpdate = "a lost update"
    /// Transactions that have each read what another one then changed.
    case writeSkew = "write skew"
    /// A cycle that only the time between transactions closes.
    case staleRead = "a stale read"
    case otherCycle = "a cycle of transactions"
  }

  package struct Finding: Sendable, CustomStringConvertible {
    package var anomaly: Anomaly
    package var text: String
    package var description: String { "\(anomaly.rawValue): \(text)" }
  }

  private typealias Graph = HistoryGraph

  private let transactions: [ListTransaction]
  /// The transaction that has appended a number to a list.
  private var writers: [String: [Int: Int]] = [:]
  /// The longest list that was read.
  private var lists: [String: [Int]] = [:]
  private var findings: [Finding] = []
  private var graph: HistoryGraph

  /// - Returns: The contradictions to strict serialisability; none if the history has none.
  package static func findings(in history: [ListTransaction]) -> [Finding] {
    var checker = HistoryChecker(history)
    checker.checkLists()
    checker.addOrderOfLists()
    checker.graph.addOrderOfTime(history.map { ($0.began, $0.outcome == .committed ? $0.ended : nil) })
    checker.checkCycles()
    return checker.findings
  }

  private init(_ history: [ListTransaction]) {
    // A transaction with an unknown outcome counts if something of it was read: it must have been carried out.
    let seen = Set(
      history.filter { $0.outcome == .committed }.flatMap { transaction in
        transaction.reads.flatMap { key, list in list.map { ListNumber(key: key, number: $0) } }
      })
    transactions = history.map { transaction in
      var transaction = transaction
      let numbers = transaction.appends.flatMap { key, list in list.map { ListNumber(key: key, number: $0) } }
      let isCarriedOut =
        transaction.outcome == .committed || (transaction.outcome == .unknown && !seen.isDisjoint(with: numbers))
      if !isCarriedOut { (transaction.reads, transaction.appends) = ([:], [:]) }
      if transaction.outcome == .unknown { transaction.reads = [:] }
      return transaction
    }
    graph = HistoryGraph(count: history.count)
  }

  private struct ListNumber: Hashable {
    var key: String
    var number: Int
  }

  // MARK: - Lists

  private mutating func checkLists() {
    for (index, transaction) in transactions.enumerated() {
      for (key, list) in transaction.appends {
        for number in list { writers[key, default: [:]][number] = index }
      }
      for (key, list) in transaction.reads where list.count > lists[key]?.count ?? -1 { lists[key] = list }
    }
    for (key, list) in lists.sorted(by: { $0.key < $1.key }) {
      if Set(list).count < list.count {
        findings.append(Finding(anomaly: .doubledNumber, text: "\(key) is \(list)"))
      }
      for number in list where writers[key]?[number] == nil {
        findings.append(Finding(anomaly: .numberFromNowhere, text: "\(number) in \(key)"))
      }
    }
    for (index, transaction) in transactions.enumerated() {
      for (key, list) in transaction.reads where lists[key]?.starts(with: list) == false {
        findings.append(
          Finding(
            anomaly: .lostOrder,
            text: "\(describe(index)) read \(key) as \(list), another one as \(lists[key] ?? [])"))
      }
    }
  }

  private mutating func addOrderOfLists() {
    for (key, writers) in writers {
      let list = (lists[key] ?? []).filter { writers[$0] != nil }
      for (number, next) in zip(list, list.dropFirst()) {
        if let writer = writers[number], let next = writers[next] { graph.add(.writeWrite, writer, next, key) }
      }
      // A number that no list has comes after all that were read.
      let known = Set(list)
      let unseen = writers.filter { !known.contains($0.key) }.map(\.value)
      if let writer = list.last.flatMap({ writers[$0] }) {
        for unseen in unseen { graph.add(.writeWrite, writer, unseen, key) }
      }
      for (index, transaction) in transactions.enumerated() {
        guard let read = transaction.reads[key], list.starts(with: read) else { continue }
        if let writer = read.last.flatMap({ writers[$0] }) { graph.add(.writeRead, writer, index, key) }
        if read.count < list.count {
          if let writer = writers[list[read.count]] { graph.add(.readWrite, index, writer, key) }
        } else {
          for unseen in unseen { graph.add(.readWrite, index, unseen, key) }
        }
      }
    }
  }

  // MARK: - Cycles

  private mutating func checkCycles() {
    for usesTime in [false, true] {
      let cycles = graph.cycles(usingTime: usesTime)
      for cycle in cycles.prefix(20) { findings.append(finding(of: cycle)) }
      if !cycles.isEmpty { return }
    }
  }

  private func finding(of cycle: [HistoryGraph.Edge]) -> Finding {
    let steps = cycle.map { "\(describe($0.from)) –\($0.kind) \($0.key)→ " }.joined()
    let text = steps + describe(cycle.first?.from ?? 0)
    if cycle.contains(where: { $0.kind == .time }) { return Finding(anomaly: .staleRead, text: text) }
    let members = cycle.map { transactions[$0.from] }
    let isUpdate = members.allSatisfy { member in
      cycle.contains { member.reads[$0.key] != nil && member.appends[$0.key] != nil }
    }
    if isUpdate, Set(cycle.map(\.key)).count == 1 { return Finding(anomaly: .lostUpdate, text: text) }
    let isSkew = cycle.filter { $0.kind == .readWrite }.count > 1
    return Finding(anomaly: isSkew ? .writeSkew : .otherCycle, text: text)
  }

  private func describe(_ index: Int) -> String {
    let transaction = transactions[index]
    return "[\(index), \(transaction.client), \(transaction.began)–\(transaction.ended)]"
  }
}
