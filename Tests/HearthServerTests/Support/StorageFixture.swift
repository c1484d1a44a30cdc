import Dispatch
import Foundation
import HearthModel
import HearthStore
import HearthWire
import Logging
import NIOCore
import SwiftProtobuf
import Synchronization

@testable import HearthRPC
@testable import HearthServer

/// A database without a server around it, and a listen session on it whose messages are kept.
final class StorageFixture: Sendable {
  let storage: EmbeddedStorage
  let database: HostedDatabase
  let sortBudget: SortBudget
  let clock: ManualClock

  init(
    location: Database.Location = .memory, clock: ManualClock = ManualClock(), feedCapacity: Int = 4096,
    feedEffort: Int = 500_000, windowBytes: Int = DatabaseLimits().windowBytes,
    retention: HistoryRetention = HistoryRetention(),
    responseRetention: ResponseRetention = ResponseRetention(), fillsIndexes: Bool = true,
    limits: DatabaseLimits = DatabaseLimits(), sortBudget: SortBudget = SortBudget(), metrics: ServerMetrics? = nil,
    logger: Logger = ServerFixture.quietLogger,
    injecting failure: (@Sendable (Database.FailurePoint) -> StoreError?)? = nil
  ) throws {
    let connection = try Database(location)
    connection.injectFailure = failure
    storage = try EmbeddedStorage(
      database: connection, databaseID: ServerFixture.database, clock: clock.clock, logger: logger,
      feedCapacity: feedCapacity, feedEffort: feedEffort, windowBytes: windowBytes, retention: retention,
      responseRetention: responseRetention,
      fillsIndexes: fillsIndexes, sortBudget: sortBudget, metrics: metrics)
    database = HostedDatabase(
      id: ServerFixture.database, storage: storage, limits: limits, clock: clock.clock, metrics: metrics)
    self.sortBudget = sortBudget
    self.clock = clock
  }

  @discardableResult
  func commit(_ mutations: Mutation...) async throws -> SnapshotVersion {
    try await storage.commit(CommitRequest(mutations: mutations)).version
  }

  @discardableResult
  func set(_ path: String, _ fields: MapValue = [:]) async throws -> SnapshotVersion {
    try await commit(.set(key(path), fields))
  }
}

extension HostedDatabase {
  /// A session of a caller who may do everything.
  var session: Session { Session(self, of: .owner, accessGuard: AccessRules(isDevelopment: true), seal: CallerSeal()) }

  /// The transactions of a database of the embedded storage.
  var registry: TransactionRegistry {
    guard let transactions = transactions as? EmbeddedTransactions else { fatalError("not of the embedded storage") }
    return transactions.registry
  }
}

extension ChangeFeed {
  /// Matches what was committed, and returns when all streams that it concerns have been woken.
  func awaitWakes() {
    match()
    // The queue may be about to wake the streams that it has matched before.
    queue.sync {}
  }
}

/// Reads a result piece by piece, at the version of the first piece.
///
/// - Parameters:
///   - between: Called before each piece but the first, with the number of those so far.
///   - page: Reads the piece after a cursor.
func allPieces(
  at version: SnapshotVersion?, between: (Int) async throws -> Void,
  page: (QueryCursor?, SnapshotVersion?) async throws -> QueryPage
) async throws -> [QueryAnswer] {
  var pieces: [QueryAnswer] = []
  var cursor: QueryCursor?
  repeat {
    if !pieces.isEmpty { try await between(pieces.count) }
    let next = try await page(cursor, version ?? pieces.first?.readVersion)
    pieces.append(next.answer)
    cursor = next.next
  } while cursor != nil && pieces.count < 1_000
  return pieces
}

extension StorageFixture {
  /// Reads a result piece by piece.
  ///
  /// - Parameter between: Called before each piece but the first, with the number of those so far.
  func pieces(
    of query: Query, at version: SnapshotVersion? = nil, firstCount: Int = PieceSizes().firstCount,
    bytes: Int = PieceSizes().bytes, keptBytes: Int = PieceSizes().keptBytes,
    between: (Int) async throws -> Void = { _ in }
  ) async throws -> [QueryAnswer] {
    let sizes = PieceSizes(firstCount: firstCount, bytes: bytes, keptBytes: keptBytes)
    return try await allPieces(at: version, between: between) { [storage] in
      try await storage.page(of: query, after: $0, at: $1, sizes)
    }
  }
}

/// A listen session whose messages are kept in the form in which a client would see them.
struct Listener {
  private let received: ReceivedMessages
  private var session: ListenSession
  private let subscriber: ChangeFeed.SubscriberID
  private let feed: ChangeFeed
  private let wakes: WakeCounter

  init(
    _ fixture: any ListenedFixture, database: HostedDatabase? = nil, freeChanges: Int = TargetTransfer.freeChanges,
    of caller: Caller = .owner, accessGuard: any AccessGuard = AccessRules(isDevelopment: true)
  ) {
    let received = ReceivedMessages()
    let wakes = WakeCounter()
    feed = fixture.feed
    subscriber = feed.subscribe { wakes.count() }
    let database = Session(database ?? fixture.database, of: caller, accessGuard: accessGuard, seal: CallerSeal())
    session = ListenSession(database: database, subscriber: subscriber, freeChanges: freeChanges) {
      try received.append($0)
    }
    self.received = received
    self.wakes = wakes
  }

  /// The number of times that the feed has woken the stream.
  var wakeCount: Int {
    feed.awaitWakes()
    return wakes.value
  }

  mutating func add(
    _ query: Query, id: TargetID = 2, token: [UInt8] = [], expectedCount: Int? = nil, once: Bool = false
  ) async throws -> [String] {
    let request = TargetRequest(
      targetID: id, target: query.target, purpose: .listen, resumeToken: token, readTime: nil,
      expectedCount: expectedCount)
    var message = ServerFixture.translator.encode(WatchRequest.addTarget(request))
    message.addTarget.once = once
    return try await handle(message)
  }

  mutating func remove(_ id: TargetID) async throws -> [String] {
    try await handle(ServerFixture.translator.encode(WatchRequest.removeTarget(id)))
  }

  mutating func handle(_ message: Google_Firestore_V1_ListenRequest) async throws -> [String] {
    try await session.handle(message)
    return received.take()
  }

  mutating func catchUp() async throws -> [String] {
    try await session.catchUp()
    return received.take()
  }

  mutating func refresh() async throws -> [String] {
    try await session.refreshToken()
    return received.take()
  }

  /// The token of the latest message that had one.
  var token: [UInt8] { received.token }

  /// All read times so far, in order.
  var readTimes: [SnapshotVersion] { received.readTimes }
}

extension ListenMessage {
  /// The messages as a client reads them.
  var decoded: [WatchResponse] {
    get throws {
      switch self {
      case .response(let response): return [response]
      case .encoded(let bytes): return [try Self.decode(ByteBuffer(bytes: bytes))]
      case .frames(let frames):
        var assembler = MessageAssembler(maximumBytes: .max)
        assembler.append(frames)
        var responses: [WatchResponse] = []
        while let message = try assembler.next() { responses.append(try Self.decode(message)) }
        return responses
      }
    }
  }

  private static func decode(_ message: ByteBuffer) throws -> WatchResponse {
    try ServerFixture.translator.decode(
      Google_Firestore_V1_ListenResponse(serializedBytes: Data(message.readableBytesView)))
  }
}

final class WakeCounter: Sendable {
  private let number = Mutex(0)
  var value: Int { number.withLock { $0 } }
  func count() { number.withLock { $0 += 1 } }
}

/// Keeps messages in a short form: `add 2`, `c/d in 2`, `c/d out 2`, `c/d deleted 2`, `snapshot` …
private final class ReceivedMessages: Sendable {
  private struct State {
    var texts: [String] = []
    var token: [UInt8] = []
    var readTimes: [SnapshotVersion] = []
  }

  private let state = Mutex(State())

  var token: [UInt8] { state.withLock { $0.token } }
  var readTimes: [SnapshotVersion] { state.withLock { $0.readTimes } }

  func append(_ messages: [ListenMessage]) throws {
    let responses = try messages.flatMap { try $0.decoded }
    state.withLock { state in
      for response in responses {
        state.texts.append(Self.text(response))
        if case .targetChange(let change) = response, !change.resumeToken.isEmpty {
          state.token = change.resumeToken
          state.readTimes.append(change.readTime)
        }
      }
    }
  }

  func take() -> [String] {
    state.withLock { state in
      defer { state.texts = [] }
      return state.texts
    }
  }

  private static func text(_ response: WatchResponse) -> String {
    switch response {
    case .targetChange(let change):
      let ids = change.targetIDs.map { " \($0)" }.joined()
      switch change.state {
      case .noChange: return change.targetIDs.isEmpty && change.readTime != .none ? "snapshot" : "no change\(ids)"
      case .added: return "add\(ids)"
      case .removed: return "remove\(ids)" + (change.cause.map { " (\($0.code.rawValue): \($0.message))" } ?? "")
      case .current: return "current\(ids)"
      case .reset: return "reset\(ids)"
      }
    case .documentChange(let change):
      let updated = change.updatedTargetIDs.map { " \($0)" }.joined()
      let removed = change.removedTargetIDs.map { " \($0)" }.joined()
      guard let document = change.document else { return "\(change.key) out\(removed) unchanged" }
      if document.isMissing { return "\(change.key) deleted\(removed)" }
      return "\(change.key)" + (updated.isEmpty ? "" : " in\(updated)") + (removed.isEmpty ? "" : " out\(removed)")
    case .existenceFilter(let filter):
      let names = filter.unchangedNames.map { " names \($0.bitmap.count)" } ?? ""
      return "filter \(filter.targetID): \(filter.count)\(names)"
    case .unreadable(let message):
      return "unreadable: \(message.error.message)"
    }
  }
}
