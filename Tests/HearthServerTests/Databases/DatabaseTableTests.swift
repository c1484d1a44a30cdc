import HearthModel
import TestSupport
import Testing

@testable import HearthServer

@Suite("The table of databases")
struct DatabaseTableTests {
  private static let id = DatabaseID(projectID: "p")

  @Test("calls for a database that is being opened share one opening, also its failure, which is not remembered")
  func sharing() throws {
    var table = DatabaseTable<TabledDatabase, Int>(limit: 2)
    #expect(table.ask(Self.id, 1, 1, at: 0).map(\.text) == ["open p"])
    #expect(table.ask(Self.id, 2, 2, at: 0).isEmpty)
    #expect(table.admit(Self.id, .stored) == .admitted)
    #expect(table.ask(Self.id, 3, 3, at: 0).isEmpty)
    #expect(table.cancel(3, waitingFor: Self.id) == 3)
    #expect(table.cancel(3, waitingFor: Self.id) == nil)
    let failure = StatusError(code: .dataLoss, message: "damaged")
    #expect(table.failed(Self.id, failure).map(\.text) == ["resume 1 2: damaged"])
    #expect(table.count == 0)

    #expect(table.ask(Self.id, 4, 4, at: 0).map(\.text) == ["open p"])
    #expect(table.admit(Self.id, .stored) == .admitted)
    let database = TabledDatabase(of: TabledStorage(Self.id))
    #expect(table.opened(Self.id, database, at: 0).map(\.text) == ["resume 4: p"])
    #expect(table.use(Self.id, at: 1) === database)
    #expect(table.count == 1)
  }

  @Test("databases that are being opened, settled or closed count against the limit; blank ones have one of their own")
  func limit() throws {
    var table = DatabaseTable<TabledDatabase, Int>(limit: 2)
    let ids = (0..<3).map { DatabaseID(projectID: "p\($0)") }
    for (number, id) in ids.enumerated() { _ = table.ask(id, number, number, at: 0) }
    #expect(table.admit(ids[0], .stored) == .admitted)
    #expect(table.admit(ids[1], .blank) == .admitted)
    let blank = TabledDatabase(of: TabledStorage(ids[1]))
    _ = table.openedBlank(ids[1], blank, storage: blank.storage) { nil }
    #expect(table.count == 1)
    #expect(table.beginSettling(ids[1]) == .admitted)
    #expect(table.admit(ids[2], .stored) == .full)
    table.undoSettling(ids[1])
    #expect(table.admit(ids[2], .stored) == .admitted)
    #expect(table.beginSettling(ids[1]) == .full)
    _ = table.opened(ids[2], TabledDatabase(of: TabledStorage(ids[2])), at: 0)
    #expect(table.beginClosing(ids[2], unusedSince: 1) != nil)
    #expect(table.beginSettling(ids[1]) == .full)
    #expect(table.closed(ids[2]).isEmpty)
    #expect(table.beginSettling(ids[1]) == .admitted)
    table.settled(ids[1], at: 0)
    #expect(table.count == 2)

    var held: [TabledDatabase] = []
    var number = 10
    func isAdmitted() -> Bool {
      number += 1
      let id = DatabaseID(projectID: "blank\(number)")
      _ = table.ask(id, number, number, at: 0)
      guard table.admit(id, .blank) == .admitted else {
        _ = table.failed(id, StatusError(code: .resourceExhausted, message: "full"))
        return false
      }
      let database = TabledDatabase(of: TabledStorage(id))
      held.append(database)
      _ = table.openedBlank(id, database, storage: database.storage) { nil }
      return true
    }
    while held.count < 1_000, isAdmitted() {}
    #expect(held.count == 2 + 64)
    held = []
    #expect(isAdmitted())
  }

  @Test("a blank database is found again as long as something works on its storage")
  func revived() throws {
    var table = DatabaseTable<TabledDatabase, Int>(limit: 2)
    var storages: [TabledStorage] = []
    for number in 0..<70 {
      let id = DatabaseID(projectID: "p\(number)")
      _ = table.ask(id, number, number, at: 0)
      #expect(table.admit(id, .blank) == .admitted)
      let storage = TabledStorage(id)
      if number == 0 { storages.append(storage) }
      _ = table.openedBlank(id, TabledDatabase(of: storage), storage: storage) { [weak storage] in
        storage.map(TabledDatabase.init)
      }
    }
    #expect(table.use(DatabaseID(projectID: "p0"), at: 0)?.storage === storages[0])
    #expect(table.use(DatabaseID(projectID: "p1"), at: 0) == nil)
    storages = []
    #expect(table.use(DatabaseID(projectID: "p0"), at: 0) == nil)
    #expect(table.use(DatabaseID(projectID: "p69"), at: 0) != nil)
  }

  @Test(
    "whatever comes together, each call gets an open database or the failure of its opening, and nothing is opened twice",
    arguments: SeededGenerator.seeds(60))
  func generated(seed: UInt64) {
    var simulation = DatabaseSimulation(seed: seed)
    for _ in 0..<600 { simulation.step() }
    simulation.end()
  }
}

extension DatabaseTable.Action where Database == TabledDatabase, Waiter == Int {
  fileprivate var text: String {
    switch self {
    case .open(let id): "open \(id.projectID)"
    case .close(let database): "close \(database.id.projectID)"
    case .release(let database): "release \(database.id.projectID)"
    case .resume(let waiters, let result):
      "resume \(waiters.sorted().map(String.init).joined(separator: " ")): \(result.text)"
    }
  }
}

extension Result where Success == TabledDatabase, Failure == StatusError {
  fileprivate var text: String {
    switch self {
    case .success(let database): database.id.projectID
    case .failure(let error): error.message
    }
  }
}
