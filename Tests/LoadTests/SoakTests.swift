import Foundation
import Hearth
import HearthServer
import InteropSupport
import Logging
import Synchronization
import TestSupport
import Testing

/// Fifty clients read, write and come and go at once. In the end all that they show must be what the server has.
///
/// `HEARTH_SECONDS` makes a run longer, and `HEARTH_SEED` repeats its choices.
@Suite("hearth serve under many clients")
struct SoakTests {
  static let clientCount = 50
  static let duration = Duration.seconds(
    ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 30)

  @Test("shows each of them what a fresh read gives, and loses and doubles nothing", .timeLimit(.minutes(15)))
  func soak() async throws {
    let seed =
      ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1..<1_000_000)
    print("soak: seed \(seed) (HEARTH_SEED=\(seed) repeats its choices)")
    let folder = TemporaryFolder()
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .folder(path: folder.url.path),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let witness = try InteropClient(port: server.port, project: "soak")
    try await SoakData.fill(witness.firestore)

    let tally = SoakTally()
    let end = ContinuousClock.now.advanced(by: Self.duration)
    let clients = try await withThrowingTaskGroup(of: SoakClient.self) { group in
      for number in 0..<Self.clientCount {
        let client = try SoakClient(port: server.port, seed: seed &+ UInt64(number), tally: tally)
        group.addTask {
          try await client.run(until: end)
          return client
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for client in clients { try await client.settle() }
    for client in clients { try await client.compare(with: witness.firestore) }
    try await tally.check(witness.firestore)
    let operations = tally.operations
    print("soak: \(operations) operations, \(clients.reduce(0) { $0 + $1.viewCount }) views")
    #expect(operations.values.reduce(0, +) > 500)
    for client in clients { try await client.firestore.terminate() }
    try await witness.firestore.terminate()
    await server.shutdown()
  }
}

private enum SoakData {
  static let places = 200
  static let accounts = 20
  static let counters = 10
  static let startBalance = 1_000

  static func fill(_ firestore: Firestore) async throws {
    var generator = SeededGenerator(seed: 1)
    for first in stride(from: 0, to: places, by: 50) {
      let batch = firestore.batch()
      for number in first..<first + 50 { batch.setData(fields(&generator), forDocument: place(number, firestore)) }
      try await batch.commit()
    }
    let batch = firestore.batch()
    for number in 0..<accounts {
      batch.setData(["balance": startBalance], forDocument: firestore.document("accounts/a\(number)"))
    }
    try await batch.commit()
  }

  /// A fifth of the places is below another collection, where queries of the collection group find them.
  static func place(_ number: Int, _ firestore: Firestore) -> DocumentReference {
    firestore.document(number % 5 == 0 ? "regions/r\(number % 3)/places/p\(number)" : "places/p\(number)")
  }

  static func fields(_ generator: inout SeededGenerator) -> [String: Any] {
    [
      "rank": Int.random(in: 0..<1_000, using: &generator), "kind": Int.random(in: 0..<5, using: &generator),
      "tags": (0..<2).map { _ in "t\(Int.random(in: 0..<6, using: &generator))" },
    ]
  }

  typealias MadeQuery = @Sendable (Firestore) -> Query

  static func query(_ generator: inout SeededGenerator) -> MadeQuery {
    let kind = Int.random(in: 0..<5, using: &generator)
    let rank = Int.random(in: 0..<1_000, using: &generator)
    let number = Int.random(in: 0..<9, using: &generator)
    return { firestore in
      let places = firestore.collection("places")
      switch number {
      case 0: return places
      case 1: return places.whereField("kind", isEqualTo: kind).order(by: "rank").limit(to: 10)
      case 2: return places.whereField("rank", isGreaterThan: rank).order(by: "rank", descending: true)
      case 3: return places.order(by: "rank").limit(toLast: 7)
      case 4: return places.whereField("tags", arrayContains: "t\(kind)")
      case 5: return places.whereField("kind", in: [kind, 4 - kind]).whereField("rank", isLessThan: rank)
      case 6:
        let filters = [Filter.whereField("kind", isEqualTo: kind), .whereField("rank", isGreaterThan: 900)]
        return places.whereFilter(.orFilter(filters)).order(by: "rank").limit(to: 15)
      case 7: return firestore.collectionGroup("places").order(by: "rank").limit(to: 12)
      default: return firestore.collection("accounts")
      }
    }
  }
}

/// The completed work, as far as it must show in the end.
private final class SoakTally: Sendable {
  private struct State {
    var operations: [String: Int] = [:]
    var increments = 0
  }

  private let state = Mutex(State())

  var operations: [String: Int] { state.withLock { $0.operations } }

  func note(_ operation: String) { state.withLock { $0.operations[operation, default: 0] += 1 } }

  func noteIncrement() { state.withLock { $0.increments += 1 } }

  func check(_ firestore: Firestore) async throws {
    let accounts = try await firestore.collection("accounts").getDocuments(source: .server)
    let sum = accounts.documents.reduce(0) { $0 + ($1["balance"] as? Int ?? 0) }
    #expect(sum == SoakData.accounts * SoakData.startBalance)
    let counters = try await firestore.collection("counters").getDocuments(source: .server)
    let total = counters.documents.reduce(0) { $0 + ($1["n"] as? Int ?? 0) }
    #expect(total == state.withLock { $0.increments })
  }
}

/// The newest snapshot of a query, and a way to wait for one. Confined to its client.
private final class SoakView {
  private final class Shown: Sendable {
    let newest = Mutex<QuerySnapshot?>(nil)
    let failure = Mutex<String?>(nil)
  }

  let make: SoakData.MadeQuery
  private let shown = Shown()
  private let registration: any ListenerRegistration

  init(_ make: @escaping SoakData.MadeQuery, of firestore: Firestore) {
    self.make = make
    registration = make(firestore).addSnapshotListener(includeMetadataChanges: true) { [shown] snapshot, error in
      if let snapshot { shown.newest.withLock { $0 = snapshot } }
      if let error { shown.failure.withLock { [text = "\(error)"] in $0 = text } }
    }
  }

  func remove() { registration.remove() }

  /// The documents that are shown, once they are the server's.
  nonisolated(nonsending) func settled(as expected: [String]) async throws {
    try await waitUntil {
      try #require(shown.failure.withLock { $0 } == nil)
      guard let snapshot = shown.newest.withLock({ $0 }), !snapshot.metadata.isFromCache,
        !snapshot.metadata.hasPendingWrites
      else { return false }
      return Self.texts(snapshot) == expected
    }
  }

  static func texts(_ snapshot: QuerySnapshot) -> [String] {
    snapshot.documents.map { document in
      let fields = document.data().sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return "\(document.reference.path) \(fields.joined(separator: " "))"
    }
  }
}

/// One client: a few views, and something new all the time.
private actor SoakClient {
  nonisolated let firestore: Firestore
  private let tally: SoakTally
  private var generator: SeededGenerator
  private var views: [SoakView] = []

  init(port: Int, seed: UInt64, tally: SoakTally) throws {
    firestore = try InteropClient(port: port, project: "soak").firestore
    self.tally = tally
    generator = SeededGenerator(seed: seed)
  }

  nonisolated var viewCount: Int { 3 }

  func run(until end: ContinuousClock.Instant) async throws {
    for _ in 0..<viewCount { views.append(SoakView(SoakData.query(&generator), of: firestore)) }
    while ContinuousClock.now < end { try await step() }
  }

  private func step() async throws {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<9: try await write()
    case 9..<12: try await increment(isAwaited: true)
    case 12..<15: try await transfer()
    case 15: try await goOffline()
    case 16, 17: replaceView()
    default:
      _ = try await SoakData.query(&generator)(firestore).getDocuments(source: .server)
      tally.note("query")
    }
  }

  private func write() async throws {
    let place = SoakData.place(Int.random(in: 0..<SoakData.places, using: &generator), firestore)
    if Int.random(in: 0..<6, using: &generator) == 0 {
      try await place.delete()
    } else {
      try await place.setData(SoakData.fields(&generator))
    }
    tally.note("write")
  }

  private func increment(isAwaited: Bool) async throws {
    let counter = firestore.document("counters/c\(Int.random(in: 0..<SoakData.counters, using: &generator))")
    tally.noteIncrement()
    tally.note("increment")
    let fields = ["n": FieldValue.increment(Int64(1))]
    if isAwaited {
      try await counter.setData(fields, merge: true)
    } else {
      counter.setData(fields, merge: true, completion: nil)
    }
  }

  /// Moves some money from one account to another. A transaction that found too much contention has moved none.
  private func transfer() async throws {
    let numbers = (0..<2).map { _ in Int.random(in: 0..<SoakData.accounts, using: &generator) }
    guard numbers[0] != numbers[1] else { return }
    let accounts = numbers.map { firestore.document("accounts/a\($0)") }
    do {
      _ = try await firestore.runTransaction { transaction, error in
        do {
          let balances = try accounts.map { try transaction.getDocument($0)["balance"] as? Int ?? 0 }
          transaction.updateData(["balance": balances[0] - 1], forDocument: accounts[0])
          transaction.updateData(["balance": balances[1] + 1], forDocument: accounts[1])
        } catch let failure as NSError {
          error?.pointee = failure
        }
        return nil
      }
      tally.note("transaction")
    } catch let error as NSError
      where [.aborted, .failedPrecondition].contains(FirestoreErrorCode.Code(rawValue: error.code))
    {
      tally.note("contention")
    }
  }

  private func goOffline() async throws {
    try await firestore.disableNetwork()
    for _ in 0..<Int.random(in: 0..<3, using: &generator) { try await increment(isAwaited: false) }
    try await firestore.enableNetwork()
    tally.note("disconnect")
  }

  private func replaceView() {
    let index = Int.random(in: 0..<views.count, using: &generator)
    views[index].remove()
    views[index] = SoakView(SoakData.query(&generator), of: firestore)
    tally.note("listener")
  }

  /// Waits until the server has everything that this client has written.
  func settle() async throws {
    try await firestore.waitForPendingWrites()
  }

  func compare(with witness: Firestore) async throws {
    for view in views {
      let fresh = try await view.make(witness).getDocuments(source: .server)
      try await view.settled(as: SoakView.texts(fresh))
      view.remove()
    }
  }
}
