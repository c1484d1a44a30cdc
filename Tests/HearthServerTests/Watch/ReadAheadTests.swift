import HearthModel
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthServer

/// A client that does not read holds one piece of its stream, however much the stream has to send.
@Suite("Reading ahead of a stream", .timeLimit(.minutes(3)))
struct ReadAheadTests {
  /// The documents of a stream that were read and sent.
  private final class Balance: Sendable {
    private struct State {
      var read = 0
      var sent = 0
      var reads = 0
      /// The size of the largest read.
      var largest = 0
      /// The most documents that were read and not sent when another read began.
      var greatestRest = 0
    }

    private let state = Mutex(State())
    var reads: Int { state.withLock { $0.reads } }
    var sent: Int { state.withLock { $0.sent } }
    var largest: Int { state.withLock { $0.largest } }
    var greatestRest: Int { state.withLock { $0.greatestRest } }

    func beginRead() {
      state.withLock { state in
        state.reads += 1
        state.greatestRest = max(state.greatestRest, state.read - state.sent)
      }
    }

    func endRead(_ documents: [Document]) {
      state.withLock { state in
        state.read += documents.count
        state.largest = max(state.largest, documents.reduce(0) { $0 + $1.fields.bytes.count })
      }
    }

    func send(_ count: Int) { state.withLock { $0.sent += count } }
    func reset() { state.withLock { $0 = State() } }
  }

  /// The situations in which a stream sends.
  enum Sending: String, CaseIterable, Sendable {
    case first, firstWithLimit, firstWithLargeLimit, firstDocuments
    case resumed, resumedWithLimit, resumedWithLargeLimit, resumedDocuments
    case forgotten, forgottenWithLimit
    case dropped, droppedWithLimit, droppedWithLargeLimit
    case inMemory
  }

  private static let count = 2_000
  private static let bytesPerDocument = 4_000
  /// A piece may have one document more than its size, and the first one of a result has a fixed number.
  private static let largestPiece = 300_000

  private static func target(_ sending: Sending) -> Google_Firestore_V1_Target {
    let all = Query(path: path("c"))
    switch sending {
    case .first, .resumed, .forgotten, .dropped, .inMemory: return target(all)
    case .firstWithLimit, .resumedWithLimit, .droppedWithLimit, .forgottenWithLimit:
      return target(all.with(limit: 1_900))
    case .firstWithLargeLimit, .resumedWithLargeLimit, .droppedWithLargeLimit:
      return target(all.with(limit: Int(Int32.max)))
    case .firstDocuments, .resumedDocuments:
      return .with {
        $0.targetID = 2
        $0.documents.documents = (0..<count).map { name("c/d\($0)") }
      }
    }
  }

  private static func target(_ query: HearthModel.Query) -> Google_Firestore_V1_Target {
    let request = TargetRequest(
      targetID: 2, target: query.target, purpose: .listen, resumeToken: [], readTime: nil, expectedCount: nil)
    return ServerFixture.translator.encode(WatchRequest.addTarget(request)).addTarget
  }

  private static func fixture(_ sending: Sending) throws -> StorageFixture {
    try StorageFixture(
      feedCapacity: sending.rawValue.hasPrefix("dropped") ? 2 : 4096,
      retention: sending.rawValue.hasPrefix("forgotten") ? .init(bytes: 100_000) : .init())
  }

  private static func overwrite(_ fixture: StorageFixture, _ value: Int) async throws {
    let text = Value.string(String(repeating: "x", count: bytesPerDocument))
    for first in stride(from: 0, to: count, by: 100) {
      _ = try await fixture.storage.commit(
        CommitRequest(
          mutations: (first..<first + 100).map { .set(key("c/d\($0)"), ["n": value.value, "t": text]) }))
    }
  }

  @Test("it reads the next piece only when the one before is passed on, and none is large", arguments: Sending.allCases)
  func pieces(sending: Sending) async throws {
    let (fixture, balance) = (try Self.fixture(sending), Balance())
    try await Self.overwrite(fixture, 1)
    let database = fixture.observed(before: { balance.beginRead() }, after: { balance.endRead($0) })
    let isBehind = Mutex(false)
    let token = Mutex<[UInt8]>([])
    func session() -> ListenSession {
      ListenSession(
        database: database.session, subscriber: fixture.storage.feed.subscribe {},
        isBehind: { isBehind.withLock { $0 } },
        heldChanges: HeldChanges.Limits(time: .zero)
      ) { messages in
        for response in try messages.flatMap({ try $0.decoded }) {
          if case .documentChange = response { balance.send(1) }
          if case .targetChange(let change) = response, !change.resumeToken.isEmpty {
            token.withLock { $0 = change.resumeToken }
          }
        }
      }
    }
    var request = Google_Firestore_V1_ListenRequest()
    request.addTarget = Self.target(sending)
    var stream = session()
    isBehind.withLock { $0 = true }
    if !sending.rawValue.hasPrefix("first") {
      isBehind.withLock { $0 = false }
      try await stream.handle(request)
      try await Self.overwrite(fixture, 2)
      balance.reset()
      isBehind.withLock { $0 = true }
    }
    switch sending {
    case .dropped, .droppedWithLimit, .droppedWithLargeLimit, .inMemory: try await stream.catchUp()
    case .first, .firstWithLimit, .firstWithLargeLimit, .firstDocuments: try await stream.handle(request)
    default:
      request.addTarget.resumeToken = .init(token.withLock { $0 })
      stream = session()
      try await stream.handle(request)
    }
    let limited = sending.rawValue.hasSuffix("WithLimit")
    #expect(balance.sent == (limited ? 1_900 : Self.count))
    #expect(balance.reads > 20)
    #expect(balance.largest <= Self.largestPiece)
    // To know which documents have left a limit, the server looks for the end of the former result, because it keeps nothing of that
    // result.
    let looksForEnd = limited || sending == .resumedWithLargeLimit || sending == .droppedWithLargeLimit
    if !looksForEnd || sending == .firstWithLimit { #expect(balance.greatestRest <= 0) }
  }
}
