#if PostgreSQL
  internal import HearthModel

  /// The commits of a node that wait for transactions, without their callers.
  ///
  /// A commit waits until all of its transactions have ended, and is then tried again. It waits for older transactions only, see
  /// ``WoundWait``: so nobody waits in a cycle, and the order in which those that wait are tried does not matter.
  struct WaitTable: Sendable {
    typealias Number = UInt64

    private struct Waiter {
      var transactions: Set<WoundWait.ID>
      let keys: Set<DocumentKey>
      /// The arrival of the commit, in microseconds that have elapsed.
      let since: Int64
    }

    private var waiters: [Number: Waiter] = [:]
    private var counts: [DocumentKey: Int] = [:]
    private var latest: Number = 0
    private let maximumPerDocument: Int

    /// - Parameter maximumPerDocument: The commits that may wait because of one document.
    init(maximumPerDocument: Int) {
      self.maximumPerDocument = maximumPerDocument
    }

    var count: Int { waiters.count }
    var isEmpty: Bool { waiters.isEmpty }
    /// The number of commits that wait because of the document for which most do.
    var greatestCount: Int { counts.values.max() ?? 0 }

    /// The transactions that commits wait for.
    var transactions: Set<WoundWait.ID> { waiters.values.reduce(into: []) { $0.formUnion($1.transactions) } }

    mutating func nextNumber() -> Number {
      latest += 1
      return latest
    }

    /// Lets a commit wait.
    ///
    /// - Parameters:
    ///   - number: From ``nextNumber()``.
    ///   - keys: The documents that the commit changes.
    /// - Returns: A document for which as many commits wait already as may: then this one does not wait. Nil otherwise.
    mutating func add(
      _ number: Number, for transactions: Set<WoundWait.ID>, _ keys: some Sequence<DocumentKey>, since: Int64
    ) -> DocumentKey? {
      assert(!transactions.isEmpty, "commit \(number) waits for nobody")
      assert(waiters[number] == nil, "commit \(number) waits twice")
      let keys = Set(keys)
      if let crowded = keys.first(where: { counts[$0] ?? 0 >= maximumPerDocument }) { return crowded }
      waiters[number] = Waiter(transactions: transactions, keys: keys, since: since)
      for key in keys { counts[key, default: 0] += 1 }
      return nil
    }

    /// - Returns: False if it does not wait any more.
    mutating func remove(_ number: Number) -> Bool {
      guard let waiter = waiters.removeValue(forKey: number) else { return false }
      for key in waiter.keys {
        let count = (counts[key] ?? 1) - 1
        counts[key] = count == 0 ? nil : count
      }
      return true
    }

    /// Transactions have ended.
    ///
    /// - Returns: The commits that waited for no others, in the order in which they began to wait. They do not wait any more.
    mutating func end(_ transactions: Set<WoundWait.ID>) -> [Number] {
      var ready: [Number] = []
      for (number, waiter) in waiters where !waiter.transactions.isDisjoint(with: transactions) {
        let rest = waiter.transactions.subtracting(transactions)
        if rest.isEmpty { ready.append(number) } else { waiters[number]?.transactions = rest }
      }
      for number in ready { _ = remove(number) }
      return ready.sorted()
    }

    /// Takes away the commits that came before a time.
    mutating func removeAll(before time: Int64) -> [Number] {
      let late = waiters.filter { $0.value.since < time }.keys.sorted()
      for number in late { _ = remove(number) }
      return late
    }
  }
#endif
