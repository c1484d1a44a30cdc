import HearthModel
import HearthRPC
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// Stands for a storage in tests of ``DatabaseTable``.
final class TabledStorage: Sendable {
  let id: DatabaseID
  let isClosed = Mutex(false)

  init(_ id: DatabaseID) { self.id = id }
}

final class TabledDatabase: Sendable {
  let storage: TabledStorage
  var id: DatabaseID { storage.id }

  init(of storage: TabledStorage) { self.storage = storage }
}

/// Calls, openings, first commits and closings in a random order, carried out as the table says.
struct DatabaseSimulation {
  private enum Opening {
    case asked
    case admitted(DatabaseTable<TabledDatabase, Int>.Kind)
  }

  private struct WeakStorage {
    weak var storage: TabledStorage?
  }

  private static let limit = 2
  private static let ids = (0..<3).map { DatabaseID(projectID: "p\($0)") }
  private static let injected = StatusError(code: .internal, message: "injected")
  private static let full = StatusError(code: .resourceExhausted, message: "full")

  private let seed: UInt64
  private var generator: SeededGenerator
  private var table = DatabaseTable<TabledDatabase, Int>(limit: Self.limit)
  private var time: Int64 = 0
  private var nextCall = 0
  private var waiting: [Int: DatabaseID] = [:]
  /// Calls in progress.
  private var held: [TabledDatabase] = []
  private var openings: [DatabaseID: Opening] = [:]
  private var closings: [TabledDatabase] = []
  /// First commits that are on their way.
  private var commits: [TabledStorage] = []
  private var files: Set<DatabaseID> = [Self.ids[0]]
  /// The storage of each database that was opened last.
  private var storages: [DatabaseID: WeakStorage] = [:]

  init(seed: UInt64) {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
  }

  mutating func step() {
    time += 1
    let id = generator.element(Self.ids)
    switch generator.below(12) {
    case 0, 1, 2: call(id)
    case 3: cancel()
    case 4, 5: openOne()
    case 6: beginCommit()
    case 7: endCommit()
    case 8: beginClosing(id)
    case 9: endClosing()
    case 10: dropCalls()
    default: if generator.chance(10) { forgetBlanks() } else { dropCalls() }
    }
  }

  /// Ends the server, and checks that nothing is left.
  mutating func end() {
    if generator.chance(50) {
      while !openings.isEmpty || !closings.isEmpty {
        openOne()
        endClosing()
      }
      #expect(waiting.isEmpty, "calls hang (seed \(seed))")
    }
    let (actions, open) = table.shutDown()
    for case .resume(let waiters, .failure(let error)) in actions {
      #expect(error.code == .unavailable)
      for waiter in waiters { #expect(waiting.removeValue(forKey: waiter) != nil, "seed \(seed)") }
    }
    #expect(waiting.isEmpty, "calls hang (seed \(seed))")
    closings += open
    while !openings.isEmpty || !closings.isEmpty || !commits.isEmpty {
      endCommit()
      openOne()
      endClosing()
    }
    #expect(table.isEmpty, "seed \(seed)")
    #expect(table.count == 0, "seed \(seed)")
  }

  // MARK: - Events

  private mutating func call(_ id: DatabaseID) {
    if let database = table.use(id, at: time) { return receive(database, for: id) }
    nextCall += 1
    waiting[nextCall] = id
    perform(table.ask(id, nextCall, nextCall, at: time))
  }

  private mutating func cancel() {
    guard let (call, id) = waiting.randomElement(using: &generator) else { return }
    #expect(table.cancel(call, waitingFor: id) == call, "a call that waits is not found (seed \(seed))")
    waiting[call] = nil
  }

  private mutating func openOne() {
    guard let (id, opening) = openings.randomElement(using: &generator) else { return }
    switch opening {
    case .asked:
      let kind: DatabaseTable<TabledDatabase, Int>.Kind = files.contains(id) ? .stored : .blank
      switch table.admit(id, kind) {
      case .admitted: openings[id] = .admitted(kind)
      case .full: fail(id, Self.full)
      case .shutDown: fail(id, StatusError.shuttingDown)
      }
    case .admitted(let kind):
      if generator.chance(20) { return fail(id, Self.injected) }
      openings[id] = nil
      let former = storages[id]?.storage
      #expect(former == nil || former?.isClosed.withLock { $0 } == true, "two storages of one (seed \(seed))")
      let database = TabledDatabase(of: TabledStorage(id))
      storages[id] = WeakStorage(storage: database.storage)
      switch kind {
      case .stored: perform(table.opened(id, database, at: time))
      case .blank: openBlank(database)
      }
    }
  }

  private mutating func openBlank(_ database: TabledDatabase) {
    perform(
      table.openedBlank(database.id, database, storage: database.storage) { [weak storage = database.storage] in
        storage.map(TabledDatabase.init)
      })
  }

  private mutating func fail(_ id: DatabaseID, _ error: StatusError) {
    openings[id] = nil
    perform(table.failed(id, error))
  }

  /// The commit of a call that holds a blank database. It goes on without the call.
  private mutating func beginCommit() {
    let blank = held.indices.filter { index in
      !files.contains(held[index].id) && !commits.contains { $0 === held[index].storage }
    }
    guard let index = blank.randomElement(using: &generator) else { return }
    let storage = held.remove(at: index).storage
    if table.beginSettling(storage.id) == .admitted { commits.append(storage) }
  }

  private mutating func endCommit() {
    guard let index = commits.indices.randomElement(using: &generator) else { return }
    let storage = commits.remove(at: index)
    guard generator.chance(70) else { return table.undoSettling(storage.id) }
    files.insert(storage.id)
    table.settled(storage.id, at: time)
    if !table.isShutDown {
      #expect(table.use(storage.id, at: time)?.storage === storage, "a commit is not seen (seed \(seed))")
    }
  }

  private mutating func beginClosing(_ id: DatabaseID) {
    guard let database = table.beginClosing(id, unusedSince: time - 2) else { return }
    #expect(!held.contains { $0 === database }, "closed while it is in use (seed \(seed))")
    closings.append(database)
  }

  private mutating func endClosing() {
    guard let index = closings.indices.randomElement(using: &generator) else { return }
    let database = closings.remove(at: index)
    if !table.isShutDown, generator.chance(30) { return perform(table.keep(database.id, database, at: time)) }
    database.storage.isClosed.withLock { $0 = true }
    perform(table.closed(database.id))
  }

  private mutating func dropCalls() {
    held.removeAll { _ in generator.chance(50) }
  }

  /// Opens so many blank databases that the table forgets the others.
  private mutating func forgetBlanks() {
    for number in 0..<64 {
      let id = DatabaseID(projectID: "other\(time)-\(number)")
      _ = table.ask(id, -1, -1, at: time)
      guard table.admit(id, .blank) == .admitted else {
        _ = table.failed(id, Self.full)
        continue
      }
      let database = TabledDatabase(of: TabledStorage(id))
      _ = table.openedBlank(id, database, storage: database.storage) { nil }
    }
  }

  // MARK: - Actions

  private mutating func perform(_ actions: [DatabaseTable<TabledDatabase, Int>.Action]) {
    for action in actions {
      switch action {
      case .open(let id):
        #expect(openings[id] == nil, "opened twice (seed \(seed))")
        openings[id] = .asked
      case .close(let database):
        #expect(table.isShutDown, "seed \(seed)")
        closings.append(database)
      case .release: break
      case .resume(let waiters, let result):
        for waiter in waiters {
          guard let id = waiting.removeValue(forKey: waiter) else {
            Issue.record("call \(waiter) is resumed twice (seed \(seed))")
            continue
          }
          switch result {
          case .success(let database): receive(database, for: id)
          case .failure(let error):
            #expect([.internal, .resourceExhausted].contains(error.code), "\(error) (seed \(seed))")
          }
        }
      }
    }
  }

  private mutating func receive(_ database: TabledDatabase, for id: DatabaseID) {
    #expect(database.id == id, "seed \(seed)")
    #expect(!database.storage.isClosed.withLock { $0 }, "a call gets a closed database (seed \(seed))")
    held.append(database)
  }
}
