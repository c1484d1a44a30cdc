import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The parts of a `LocalStore`, each for itself.
@Suite("The parts of a cache")
struct CachePartTests {
  private static let databaseID = DatabaseID(projectID: "p")

  private func makeTables(isShared: Bool = false) throws -> CacheTables {
    let database = try Database(.memory)
    let documents = try CacheSchema.migrate(database)
    if isShared { try ClientSchema.schema.migrate(database) }
    return CacheTables(database: database, databaseID: Self.databaseID, documents: documents)
  }

  private struct Failure: Error {}

  private final class Locks: ClientLocks {
    let name: String
    private(set) var holdsLease = false

    init(_ name: String) { self.name = name }

    func isAlive(_ name: String) -> Bool { true }
    func acquireLease() -> Bool {
      holdsLease = true
      return true
    }
    var leaseIsFree: Bool { !holdsLease }
    func releaseLease() { holdsLease = false }
  }

  @Test(
    "a failed transaction puts back what every part has in memory, and a failed reading too", arguments: [false, true])
  func goingBack(isRead: Bool) throws {
    let tables = try makeTables(isShared: true)
    let transactions = CacheTransactions(tables, user: "alice", isEager: true, locks: Locks("first"), backend: "b")
    let alice = try transactions.run("Join") {
      try transactions.sharing.join(userKey: transactions.user.key)
      return try transactions.user.rowForWriting()
    }
    let (rooms, halls) = (collection("rooms").target, collection("halls").target)
    try transactions.run("Take") {
      try transactions.targets.take(TargetData(target: halls, targetID: 6, sequenceNumber: 1))
      transactions.targets.setWatched(6, true)
    }
    let writeCount = transactions.writeCount
    let body = {
      transactions.user.become("bob")
      try transactions.targets.take(TargetData(target: rooms, targetID: 2, sequenceNumber: 1))
      transactions.targets.noteLoaded(4)
      transactions.targets.setWatched(6, false)
      transactions.targets.setWatched(2, true)
      transactions.references.viewChanged(of: 2, added: [key("rooms/a")], removed: [])
      transactions.sharing.noteCatchUp(.failure(Failure()))
      throw Failure()
    }
    #expect(throws: Failure.self) {
      if isRead {
        try transactions.read("Fail", body)
      } else {
        try transactions.run("Fail", body)
      }
    }
    #expect(transactions.user.name == "alice")
    #expect(transactions.targets.targetIDs == [6] && transactions.targets.targetID(of: rooms) == nil)
    #expect(transactions.targets.loaded.isEmpty)
    #expect(transactions.targets.isWatched(6) && !transactions.targets.isWatched(2))
    #expect(!transactions.references.isShown(key("rooms/a")))
    #expect(transactions.sharing.takeFailure() == nil)
    #expect(transactions.writeCount == writeCount)
    // The row is known without a look at the table.
    try tables.database.transaction("Remove") { try tables.database.update("DELETE FROM cache_users") }
    #expect(try transactions.user.row() == alice)
  }

  @Test("targets in use are found by number and by query, until they are removed")
  func activeTargets() throws {
    let targets = ActiveTargets(in: try makeTables().targets)
    let (rooms, halls) = (collection("rooms").target, collection("halls").target)
    try targets.take(TargetData(target: rooms, targetID: 2, sequenceNumber: 1))
    try targets.take(TargetData(target: halls, targetID: 4, sequenceNumber: 2))
    #expect(targets.targetIDs == [2, 4])
    #expect(targets.targetID(of: halls) == 4 && targets[4]?.data.target == halls)
    #expect(targets.scopes.contain(key("halls/a")) && !targets.scopes.contain(key("cellars/a")))
    // The number of another target, and a target under another number.
    #expect(throws: CacheError.self) { try targets.take(TargetData(target: rooms, targetID: 4, sequenceNumber: 3)) }
    #expect(throws: StoreError.self) { try targets.take(TargetData(target: rooms, targetID: 6, sequenceNumber: 3)) }
    targets.remove(2)
    #expect(targets.targetIDs == [4] && targets.targetID(of: rooms) == nil)
    targets.assertInvariants(isThorough: true)
  }

  @Test("a user who has written nothing has no row, and one that was looked up is remembered until another user comes")
  func activeUser() throws {
    let tables = try makeTables()
    let user = ActiveUser("alice", in: tables.queue)
    try tables.database.transaction("Write") {
      #expect(try user.row() == nil)
      let alice = try user.rowForWriting()
      #expect(try user.row() == alice && user.row(of: .user("alice")) == alice)
      #expect(try user.row(of: .user("bob")) == nil)
      let bob = try user.rowForWriting(of: .user("bob"))
      #expect(bob != alice)
      user.become("bob")
      #expect(try user.row() == bob)
    }
    #expect(user.isActive("bob") && !user.isActive(nil) && user.name(of: .activeUser) == "bob")
  }

  @Test("notices are written only while there are other clients, and one that does not hold the lease is refused")
  func sharing() throws {
    let tables = try makeTables(isShared: true)
    let first = CacheTransactions(tables, user: nil, isEager: false, locks: Locks("first"), backend: "b")
    try first.run("Join") { try first.sharing.join(userKey: first.user.key) }
    try first.run("Tell") { try first.tell(.outbox) }
    #expect(!first.sharing.takeHasTold())
    #expect(try tables.notices.lastNumber() == 0)

    let second = CacheTransactions(tables, user: nil, isEager: false, locks: Locks("second"), backend: "b")
    try second.run("Join") { try second.sharing.join(userKey: second.user.key) }
    #expect(second.sharing.hasOthers && second.sharing.takeHasTold())
    #expect(!second.sharing.takeHasTold())
    let lease = try second.run("Take") {
      try second.sharing.update(wantsNetwork: true, isVisible: true, Locks("second"))
    }
    #expect(lease == .taken && second.sharing.isPrimary && !second.sharing.leaseIsLost)
    #expect(throws: CacheError.self) { try first.run("Publish", needsLease: true) {} }
    try second.run("Publish", needsLease: true) {}
  }

  @Test("another backend than that of the other clients is refused")
  func otherBackend() throws {
    let tables = try makeTables(isShared: true)
    for (name, backend) in [("first", "a"), ("second", "b")] {
      let client = CacheTransactions(tables, user: nil, isEager: false, locks: Locks(name), backend: backend)
      let join = { try client.run("Join") { try client.sharing.join(userKey: client.user.key) } }
      if name == "first" { try join() } else { #expect(throws: CacheError.self, performing: join) }
    }
  }

  // MARK: - Parts on top of the transactions

  private func makeTransactions(isEager: Bool = false) throws -> CacheTransactions {
    CacheTransactions(try makeTables(), user: "alice", isEager: isEager, locks: nil, backend: "")
  }

  @Test("the outbox takes writes in, and what is refused is kept and leaves the view")
  func outbox() throws {
    let transactions = try makeTransactions()
    let outbox = CacheOutbox(transactions)
    let identity = BatchIdentity(high: 0, low: 1)
    let write = LocalWrite(
      mutations: [.set(key("rooms/a"), ["n": .integer(1)])], localWriteTime: .epoch, identity: identity,
      keepsOutcome: true)
    let stored = try transactions.run("Write") {
      try outbox.enqueue(write, user: transactions.user.rowForWriting(), name: "alice")
    }
    #expect(stored.changes[key("rooms/a")]?.hasLocalMutations == true)
    #expect(try outbox.batches().map(\.batchID) == [stored.batch.batchID])
    #expect(try outbox.fate(of: identity) == .pending(stored.batch.batchID))
    #expect(try outbox.batchCount(of: "alice") == 1 && outbox.batchCount(of: "bob") == 0)

    let view = try transactions.run("Reject") {
      try outbox.keepRejected(
        stored.batch, .rejected, user: outbox.userHolding(stored.batch, .activeUser), at: .epoch)
    }
    #expect(view[key("rooms/a")]?.hasLocalMutations == false)
    #expect(try outbox.batches().isEmpty && !outbox.holds(stored.batch.batchID, identity))
    #expect(try outbox.rejectedBatches(of: "alice").map(\.batch.batchID) == [stored.batch.batchID])
  }

  @Test(
    "a target that is taken into use keeps its row when it is released, with eager collection it loses it",
    arguments: [false, true])
  func targets(isEager: Bool) throws {
    let transactions = try makeTransactions(isEager: isEager)
    let targets = CacheTargets(transactions)
    let rooms = collection("rooms").target
    let data = try transactions.run("Take") { try targets.takeIntoUse(rooms) }
    #expect(try transactions.run("Take again") { try targets.takeIntoUse(rooms) } == data)
    let active = try #require(transactions.targets[data.targetID])
    try transactions.run("Release") { try targets.release(active, unconfirmedKeys: []) }
    targets.forget(data.targetID)
    #expect(transactions.targets.isEmpty)
    #expect(try CacheQueries(transactions).targetData(for: rooms)?.targetID == (isEager ? nil : data.targetID))
  }

  @Test("no row is made for a target whose transaction fails")
  func failedTarget() throws {
    let transactions = try makeTransactions()
    let targets = CacheTargets(transactions)
    #expect(throws: Failure.self) {
      try transactions.run("Fail") {
        _ = try targets.takeIntoUse(collection("rooms").target)
        throw Failure()
      }
    }
    #expect(transactions.targets.isEmpty)
    let halls = try transactions.run("Take") { try targets.takeIntoUse(collection("halls").target) }
    #expect(halls.targetID == 2)
  }
}
