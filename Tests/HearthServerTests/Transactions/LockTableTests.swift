import HearthModel
import TestSupport
import Testing

@testable import HearthServer

@Suite("Locks of transactions")
struct LockTableTests {
  private static let first = LockTable.Owner(seniority: 1, number: 1)
  private static let second = LockTable.Owner(seniority: 2, number: 2)
  private static let third = LockTable.Owner(seniority: 3, number: 3)

  /// A change of a document's number; nil is a missing document.
  private static func change(_ path: String, from old: Int?, to new: Int?) -> DocumentTransition {
    func document(_ number: Int?, _ version: Int64) -> Document {
      let version = SnapshotVersion(microseconds: version)
      guard let number else { return .missing(key(path), version: version) }
      return .found(key(path), version: version, fields: EncodedFields(["n": number.value]))
    }
    return DocumentTransition(before: document(old, 1), after: document(new, 2))
  }

  private static let large = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 5.value))

  @Test("a write waits for all who have read the document, also a missing one, and for nobody else")
  func documents() {
    var table = LockTable()
    #expect(table.read([key("c/a"), key("c/new")], nil, by: Self.first, at: 0) == .init())
    #expect(table.read([key("c/a")], nil, by: Self.second, at: 0) == .init())
    #expect(table.write([Self.change("c/b", from: 1, to: 2)], by: nil, ticket: nil, at: 0) == .init())
    #expect(table.write([Self.change("c/a", from: 1, to: 2)], by: nil, ticket: nil, at: 0) == .init(ticket: 1))
    #expect(table.write([Self.change("c/new", from: nil, to: 2)], by: nil, ticket: nil, at: 0) == .init(ticket: 2))
    #expect(table.release(Self.first) == [.ready(2)])
    #expect(table.release(Self.second) == [.ready(1)])
    #expect(table.finish(1) + table.finish(2) == [])
    #expect(table.isEmpty)
  }

  @Test("only so many writes wait for one document; those that wait are tried again all the same")
  func crowd() {
    var table = LockTable(maximumWriters: 2)
    let change = Self.change("c/a", from: 1, to: 2)
    _ = table.read([key("c/a"), key("c/b")], nil, by: Self.first, at: 0)
    _ = table.read([key("c/a")], nil, by: Self.second, at: 0)
    #expect(table.write([change], by: nil, ticket: nil, at: 0) == .init(ticket: 1))
    #expect(table.write([change], by: Self.second, ticket: nil, at: 0) == .init(ticket: 2))
    #expect(table.greatestWriterCount == 2)
    let crowded = LockTable.Answer(crowded: key("c/a"))
    #expect(table.write([change], by: nil, ticket: nil, at: 0) == crowded)
    #expect(table.write([Self.change("c/b", from: 1, to: 2), change], by: nil, ticket: nil, at: 0) == crowded)
    #expect(table.write([Self.change("c/b", from: 1, to: 2)], by: nil, ticket: nil, at: 0) == .init(ticket: 3))
    #expect(table.write([change], by: nil, ticket: 1, at: 0) == .init(ticket: 1), "it has waited already")
    #expect(table.release(Self.first) == [.ready(2), .ready(3)])
    #expect(table.finish(2) + table.release(Self.second) == [.ready(1)])
    #expect(table.write([change], by: nil, ticket: 1, at: 0) == .init())
    #expect(table.finish(1) + table.finish(3) == [])
    #expect(table.isEmpty)
  }

  @Test("when all are aborted, transactions lose locks and places, and other writes may be tried in their order")
  func abortingAll() {
    var table = LockTable()
    let change = Self.change("c/a", from: 1, to: 9)
    _ = table.read([key("c/a")], Self.large, by: Self.first, at: 0)
    _ = table.read([key("c/b")], nil, by: Self.second, at: 0)
    #expect(table.write([change], by: nil, ticket: nil, at: 0) == .init(ticket: 1))
    #expect(table.write([change], by: Self.second, ticket: nil, at: 0) == .init(ticket: 2))
    #expect(table.read([key("c/a")], nil, by: Self.third, at: 0) == .init(ticket: 3))
    #expect(table.write([change], by: nil, ticket: nil, at: 0) == .init(ticket: 4))
    #expect(table.abortAll() == [.ready(1), .aborted(2), .aborted(3), .ready(4)])
    for owner in [Self.first, Self.second, Self.third] {
      #expect(table.read([key("c/z")], nil, by: owner, at: 0).isAborted)
      #expect(table.release(owner) == [])
    }
    #expect(table.write([change], by: Self.second, ticket: 2, at: 0).isAborted)
    for id in [1, 4] as [UInt64] {
      #expect(table.write([change], by: nil, ticket: id, at: 0) == .init())
      #expect(table.finish(id) == [])
    }
    #expect(table.isEmpty)
  }

  @Test("a write waits for those whose query finds the document before or after it")
  func ranges() {
    let group = Query(path: ResourcePath(), collectionGroup: "c").with(filter: .field(field("n"), .equal, 1.value))
    var table = LockTable()
    _ = table.read([], Self.large, by: Self.first, at: 0)
    _ = table.read([], group, by: Self.second, at: 0)
    let free = [
      Self.change("c/a", from: 2, to: 3), Self.change("c/b", from: nil, to: 2), Self.change("d/a", from: 1, to: 6),
    ]
    #expect(table.write(free, by: nil, ticket: nil, at: 0) == .init())
    var ticket: UInt64 = 0
    for change in [
      Self.change("c/a", from: 2, to: 6), Self.change("c/b", from: 6, to: 2), Self.change("c/e", from: nil, to: 7),
      Self.change("c/f", from: 7, to: nil), Self.change("x/y/c/a", from: 1, to: nil),
    ] {
      ticket += 1
      #expect(table.write([change], by: nil, ticket: nil, at: 0) == .init(ticket: ticket))
    }
    #expect(table.release(Self.first) == [.ready(1), .ready(2), .ready(3), .ready(4)])
    #expect(table.release(Self.second) == [.ready(5)])
  }

  @Test("requests are served in the order in which they came; a reader that came after a waiting writer waits for it")
  func order() {
    var table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.first, at: 0)
    #expect(table.write([Self.change("c/a", from: 1, to: 7)], by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.read([key("c/a")], nil, by: Self.second, at: 0).ticket == 2)
    #expect(table.read([], Self.large, by: Self.third, at: 0).ticket == 3)
    #expect(table.write([Self.change("c/a", from: 7, to: 8)], by: nil, ticket: nil, at: 0).ticket == 4)
    #expect(table.release(Self.first) == [.ready(1), .ready(4)])
    #expect(table.write([Self.change("c/a", from: 1, to: 7)], by: nil, ticket: 1, at: 0) == .init())
    #expect(table.finish(1) == [.granted(2), .granted(3)])
    // The second write was tried too late: the readers have their locks.
    #expect(table.write([Self.change("c/a", from: 7, to: 8)], by: nil, ticket: 4, at: 0) == .init(ticket: 4))
    #expect(table.release(Self.second) == [])
    #expect(table.release(Self.third) == [.ready(4)])
  }

  @Test("a transaction overtakes those that wait for its own locks")
  func overtaking() {
    var table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.first, at: 0)
    #expect(table.write([Self.change("c/a", from: 1, to: 7)], by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.read([key("c/a")], Self.large, by: Self.first, at: 0) == .init())
    #expect(table.write([Self.change("c/a", from: 1, to: 9)], by: Self.first, ticket: nil, at: 0) == .init())
    #expect(table.release(Self.first) == [.ready(1)])
  }

  @Test(
    "the youngest of transactions that wait for each other is aborted at once; a repetition is as old as the first")
  func deadlocks() {
    var table = LockTable()
    for owner in [Self.first, Self.second] { _ = table.read([key("c/a")], nil, by: owner, at: 0) }
    #expect(table.write([Self.change("c/a", from: 1, to: 2)], by: Self.second, ticket: nil, at: 0).ticket == 1)
    let answer = table.write([Self.change("c/a", from: 1, to: 3)], by: Self.first, ticket: nil, at: 0)
    #expect(answer == .init(ticket: 2, events: [.aborted(1), .ready(2)]))
    #expect(table.write([Self.change("c/a", from: 1, to: 3)], by: Self.second, ticket: nil, at: 0).isAborted)

    let retry = LockTable.Owner(seniority: 2, number: 9)
    table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.third, at: 0)
    _ = table.read([key("c/b")], nil, by: retry, at: 0)
    #expect(table.write([Self.change("c/a", from: 1, to: 2)], by: retry, ticket: nil, at: 0).ticket == 1)
    let closing = table.write([Self.change("c/b", from: 1, to: 2)], by: Self.third, ticket: nil, at: 0)
    #expect(closing == .init(ticket: 2, events: [.aborted(2), .ready(1)]))
  }

  @Test("a transaction overtakes writes that wait for it through others, instead of being aborted")
  func overtakingThroughOthers() {
    var table = LockTable()
    _ = table.read([key("c/j")], nil, by: Self.first, at: 0)
    let both = [Self.change("c/k", from: 1, to: 2), Self.change("c/j", from: 1, to: 2)]
    #expect(table.write(both, by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.write([Self.change("c/k", from: 2, to: 3)], by: nil, ticket: nil, at: 0).ticket == 2)
    #expect(table.read([key("c/k")], nil, by: Self.first, at: 0) == .init())
    #expect(table.release(Self.first) == [.ready(1), .ready(2)])
  }

  @Test("a writer that waits also waits for readers that were let in before it")
  func lateReaders() {
    var table = LockTable()
    _ = table.read([key("c/k")], nil, by: Self.third, at: 0)
    _ = table.read([key("c/j")], nil, by: Self.first, at: 0)
    #expect(table.write([Self.change("c/k", from: 1, to: 2)], by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.read([key("c/k")], nil, by: Self.second, at: 0).ticket == 2)
    let both = [Self.change("c/k", from: 2, to: 3), Self.change("c/j", from: 1, to: 2)]
    #expect(table.write(both, by: nil, ticket: nil, at: 0).ticket == 3)
    #expect(table.release(Self.third) == [.ready(1)])
    #expect(table.finish(1) == [.granted(2)])
    // The third write waits for the second transaction now, which therefore overtakes it.
    #expect(table.read([key("c/j")], nil, by: Self.second, at: 0) == .init())
    #expect(table.release(Self.first) == [])
    #expect(table.release(Self.second) == [.ready(3)])
  }

  @Test("a transaction that was aborted locks nothing any more until it has ended")
  func broken() {
    var table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.first, at: 0)
    _ = table.read([key("c/a")], nil, by: Self.second, at: 0)
    #expect(table.write([Self.change("c/a", from: 1, to: 2)], by: Self.first, ticket: nil, at: 0).ticket == 1)
    let closing = table.write([Self.change("c/a", from: 1, to: 3)], by: Self.second, ticket: nil, at: 0)
    #expect(closing.events == [.aborted(2), .ready(1)])
    #expect(table.read([key("c/b")], nil, by: Self.second, at: 0) == .init(isAborted: true))
    #expect(table.write([Self.change("c/b", from: 1, to: 2)], by: Self.second, ticket: nil, at: 0).isAborted)
    #expect(table.release(Self.second) == [])
  }

  @Test("a cycle through writes that wait in front of readers is none: one of the readers overtakes them")
  func longCycle() {
    var table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.first, at: 0)
    _ = table.read([key("c/b")], nil, by: Self.second, at: 0)
    #expect(table.write([Self.change("c/a", from: 1, to: 2)], by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.write([Self.change("c/b", from: 1, to: 2)], by: nil, ticket: nil, at: 0).ticket == 2)
    #expect(table.read([key("c/b")], nil, by: Self.first, at: 0).ticket == 3)
    let closing = table.read([key("c/a")], nil, by: Self.second, at: 0)
    #expect(closing == .init())
    #expect(table.release(Self.second) == [.ready(2)])
    #expect(table.finish(2) == [.granted(3)])
  }

  @Test("a request that is given up lets others go on, and those that wait too long are named")
  func givingUp() {
    var table = LockTable()
    _ = table.read([key("c/a")], nil, by: Self.first, at: 0)
    _ = table.write([Self.change("c/a", from: 1, to: 2)], by: nil, ticket: nil, at: 10)
    _ = table.read([key("c/a")], nil, by: Self.second, at: 20)
    #expect(table.tickets(waitingSinceBefore: 10) == [])
    #expect(table.tickets(waitingSinceBefore: 11) == [1])
    #expect(table.finish(1) == [.granted(2)])
    #expect(table.release(Self.second) + table.release(Self.first) == [])
    #expect(table.isEmpty)
  }

  @Test("a deadlock of a transaction that reads in parallel is found when it gets a lock that others hold, too")
  func parallelReads() {
    let (holder, reader, other) = (Self.first, Self.second, Self.third)
    var table = LockTable()
    _ = table.read([key("c/m")], nil, by: holder, at: 0)
    _ = table.read([key("c/k")], nil, by: other, at: 0)
    #expect(table.write([Self.change("c/m", from: 1, to: 2)], by: nil, ticket: nil, at: 0).ticket == 1)
    #expect(table.read([key("c/k"), key("c/m")], nil, by: reader, at: 0).ticket == 2)
    let write = [Self.change("c/k", from: 1, to: 2), Self.change("c/n", from: 1, to: 2)]
    #expect(table.write(write, by: nil, ticket: nil, at: 0).ticket == 3)
    // A second read of the same transaction waits for the write, which waits for another transaction.
    #expect(table.read([key("c/n")], nil, by: reader, at: 0) == .init(ticket: 4))
    #expect(table.release(holder) == [.ready(1)])
    // With its first read's locks the write waits for the transaction as well.
    #expect(table.finish(1) == [.granted(2), .aborted(4)])
    #expect(table.release(reader) == [])
    #expect(table.release(other) == [.ready(3)])
  }

  @Test("one more request looks at each that waits and at each lock at most a few times, however many there are")
  func searches() {
    var table = LockTable()
    let holders = (1...200).map { LockTable.Owner(seniority: $0, number: $0) }
    for owner in holders { _ = table.read([key("c/a")], nil, by: owner, at: 0) }
    for number in 0..<400 {
      _ = table.write([Self.change("c/a", from: 1, to: number)], by: nil, ticket: nil, at: 0)
    }
    // Nobody waits for a write outside of transactions that has just come.
    #expect(table.searchSteps == 0)
    let write = table.write([Self.change("c/a", from: 1, to: 2)], by: holders[0], ticket: nil, at: 0)
    #expect(write.ticket != nil && !write.isAborted && write.events == [])
    #expect(table.searchSteps < 4 * (200 + 400))
    // The second one closes a cycle, and is aborted as the younger.
    let second = table.write([Self.change("c/a", from: 1, to: 2)], by: holders[1], ticket: nil, at: 0)
    #expect(second.events == [.aborted(second.ticket ?? 0)])
    #expect(table.searchSteps < 12 * (200 + 400))
  }

  @Test(
    "whatever transactions and writes do, each commits what it has read unchanged, and all of them end",
    arguments: 0..<300)
  func histories(seed: Int) {
    var simulation = LockSimulation(seed: UInt64(seed))
    simulation.run()
    #expect(simulation.failures == [])
    #expect(simulation.commits == simulation.actorCount * LockSimulation.commitsPerActor)
    #expect(simulation.table.isEmpty)
  }
}
