#if PostgreSQL
  import HearthModel
  import Testing

  @testable import HearthServer

  @Suite("Commits that wait for transactions")
  struct WaitTableTests {
    private static let (first, second): (WoundWait.ID, WoundWait.ID) = ([1], [2])

    private func add(
      _ transactions: Set<WoundWait.ID>, _ paths: [String] = ["c/a"], since: Int64 = 0, to table: inout WaitTable
    ) -> WaitTable.Number? {
      let number = table.nextNumber()
      return table.add(number, for: transactions, paths.map { key($0) }, since: since) == nil ? number : nil
    }

    @Test("a commit goes on when all of its transactions have ended, and those go on in their order")
    func ends() {
      var table = WaitTable(maximumPerDocument: 10)
      let both = add([Self.first, Self.second], to: &table)
      let one = add([Self.first], to: &table)
      let other = add([Self.second], to: &table)
      #expect(table.transactions == [Self.first, Self.second])
      #expect(table.end([[9]]) == [])
      #expect(table.end([Self.first]) == [one])
      #expect(table.transactions == [Self.second])
      #expect(table.end([Self.first, Self.second]) == [both, other])
      #expect(table.isEmpty)
      #expect(table.greatestCount == 0)
    }

    @Test("only so many commits wait because of one document")
    func crowd() {
      var table = WaitTable(maximumPerDocument: 2)
      let numbers = (0..<2).map { _ in add([Self.first], ["c/a", "c/b"], to: &table) }
      let refused = table.nextNumber()
      #expect(table.add(refused, for: [Self.first], [key("c/x"), key("c/b")], since: 0) == key("c/b"))
      #expect(table.count == 2)
      #expect(table.greatestCount == 2)
      let isRemoved = numbers[0].map { table.remove($0) }
      #expect(isRemoved == true)
      #expect(add([Self.first], ["c/b"], to: &table) != nil)
      #expect(table.greatestCount == 2)
    }

    @Test("a commit that is given up, or came before a time, does not wait any more")
    func removals() {
      var table = WaitTable(maximumPerDocument: 10)
      let numbers = (0..<4).map { add([Self.first], since: $0, to: &table) }
      #expect(table.removeAll(before: 2) == [numbers[0], numbers[1]])
      let isRemoved = numbers[2].map { (table.remove($0), table.remove($0)) }
      #expect(isRemoved?.0 == true)
      #expect(isRemoved?.1 == false)
      #expect(table.end([Self.first]) == [numbers[3]])
    }
  }
#endif
