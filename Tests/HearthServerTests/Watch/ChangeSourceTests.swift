import HearthModel
import Synchronization
import Testing

@testable import HearthServer

/// Streams of a database whose commits this process is not alone to make.
@Suite("Change sources")
struct ChangeSourceTests {
  private static let query = Query(path: path("c"))

  private static func database(_ fixture: StorageFixture, _ storage: ObservedStorage) -> HostedDatabase {
    HostedDatabase(id: ServerFixture.database, storage: storage, clock: fixture.clock.clock)
  }

  @Test("the first snapshot of a target has what was acknowledged elsewhere, once the feed has caught up")
  func firstSnapshot() async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/a")
    let number = Mutex(0)
    let storage = ObservedStorage(
      fixture.storage,
      beforeCatchUp: { () async throws(StatusError) in
        let next = number.withLock { number in
          number += 1
          return number
        }
        _ = try await fixture.storage.commit(CommitRequest(mutations: [.set(key("c/d\(next)"), [:])]))
      })
    var listener = Listener(fixture, database: Self.database(fixture, storage))
    #expect(try await listener.add(Self.query, id: 2) == ["add 2", "c/a in 2", "c/d1 in 2", "current 2", "snapshot"])
    // The target that is there already gets it in the same step.
    let second = try await listener.add(Self.query, id: 4)
    #expect(second.contains("c/d2 in 2") && second.contains("c/d2 in 4"), "\(second)")
  }

  @Test("a target whose present cannot be found out ends the stream, and leaves nothing in the feed")
  func unreachable() async throws {
    let fixture = try StorageFixture()
    let isReachable = Mutex(true)
    let storage = ObservedStorage(
      fixture.storage,
      beforeCatchUp: { () throws(StatusError) in
        if !isReachable.withLock({ $0 }) { throw UnreachableDatabases.error }
      })
    var listener = Listener(fixture, database: Self.database(fixture, storage))
    isReachable.withLock { $0 = false }
    let error = await #expect(throws: StatusError.self) { try await listener.add(Self.query) }
    #expect(error == UnreachableDatabases.error)
    try await fixture.set("c/a")
    #expect(listener.wakeCount == 0)
    isReachable.withLock { $0 = true }
    #expect(try await listener.add(Self.query).contains("c/a in 2"))
  }

  @Test("when the history of a database is replaced, its streams end, and their tokens lead to a reset")
  func replacedHistory() async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/a")
    let epochs = Mutex<Epochs?>(nil)
    let database = Self.database(fixture, ObservedStorage(fixture.storage, otherEpochs: { epochs.withLock { $0 } }))
    var listener = Listener(fixture, database: database)
    _ = try await listener.add(Self.query)
    let token = listener.token
    epochs.withLock { $0 = Epochs(creation: SnapshotVersion(microseconds: 1)) }
    try await fixture.set("c/b")
    let error = await #expect(throws: StatusError.self) { try await listener.catchUp() }
    #expect(error?.code == .unavailable)
    #expect(listener.token == token)
    var next = Listener(fixture, database: database)
    #expect(try await next.add(Self.query, token: token).prefix(2) == ["add 2", "reset 2"])
  }

  @Test(
    "an epoch that begins ends no stream, also if the one before is forgotten, and its tokens are resumed",
    arguments: [false, true])
  func newEpoch(isForgotten: Bool) async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/a")
    let epochs = Mutex<Epochs?>(nil)
    let database = Self.database(fixture, ObservedStorage(fixture.storage, otherEpochs: { epochs.withLock { $0 } }))
    var listener = Listener(fixture, database: database)
    _ = try await listener.add(Self.query)
    let earlier = listener.token
    let last = fixture.storage.feed.latestVersion
    let first = try await fixture.set("c/b")
    let next = fixture.storage.epochs.beginning(after: last, first: first, logStart: isForgotten ? first : .none)
    epochs.withLock { $0 = next }
    #expect(next.all.count == (isForgotten ? 1 : 2))
    #expect(try await listener.catchUp() == ["c/b in 2", "snapshot"])
    let later = try #require(ResumeToken(bytes: listener.token))
    #expect(later.epoch == next.all.last?.id)
    var resumed = Listener(fixture, database: database)
    #expect(try await resumed.add(Self.query, token: earlier).contains("reset 2") == isForgotten)
    #expect(try await resumed.add(Self.query, id: 4, token: later.bytes) == ["add 4", "current 4", "snapshot"])
  }
}
