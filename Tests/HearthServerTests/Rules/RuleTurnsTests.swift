import HearthModel
import HearthRules
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Turns of decisions on large documents", .timeLimit(.minutes(2)))
struct RuleTurnsTests {
  // MARK: - The queue alone

  @Test("senders take turns, and one has all places but one at most")
  func turns() {
    var queue = TurnQueue<Int>(places: 3)
    let senders = [(1, "a"), (2, "a"), (3, "a"), (4, "a"), (5, "b"), (6, "b"), (7, "c")]
    let began = senders.filter { queue.enter($0.0, of: $0.1) }.map(\.0)
    #expect(began == [1, 2, 5])
    #expect(queue.workingCount == 3 && queue.waitingCount == 4)
    #expect(queue.leave("a") == 3)
    #expect(queue.leave("b") == 6, "the first one has its share")
    #expect(queue.leave("b") == 7)
    #expect(queue.leave("c") == nil, "the first one still has it")
    #expect(queue.leave("a") == 4)
    #expect(queue.leave("a") == nil)
    #expect(queue.leave("a") == nil)
    #expect(queue.workingCount == 0 && queue.waitingCount == 0)
  }

  @Test(
    "in random histories nobody waits who might work, and each caller has one turn",
    arguments: SeededGenerator.seeds(50))
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let places = 2 + random.below(3)
    var queue = TurnQueue<Int>(places: places)
    var (working, waiting): ([String: Int], [Int: String]) = ([:], [:])
    for number in 0..<600 {
      let sender = ["a", "b", "c"][random.below(3)]
      func hasRoom(_ sender: String) -> Bool {
        working.values.reduce(0, +) < places && working[sender, default: 0] < places - 1
      }
      if random.chance(55) {
        let isFree = hasRoom(sender) && !waiting.values.contains(sender)
        let isNow = queue.enter(number, of: sender)
        #expect(isNow == isFree)
        if isFree { working[sender, default: 0] += 1 } else { waiting[number] = sender }
      } else if let count = working[sender], count > 0 {
        working[sender] = count - 1
        if let next = queue.leave(sender) {
          let owner = waiting[next] ?? ""
          #expect(waiting.filter { $0.value == owner }.keys.min() == next && hasRoom(owner))
          waiting[next] = nil
          working[owner, default: 0] += 1
        } else {
          #expect(!waiting.values.contains { hasRoom($0) })
        }
      }
      #expect(queue.waitingCount == waiting.count && queue.workingCount == working.values.reduce(0, +))
    }
  }

  // MARK: - Decisions

  /// Counts the reads of documents that have not been given back.
  private final class Reads: Sendable {
    let state = Mutex((begun: 0, held: 0, ends: [CheckedContinuation<Void, Never>](), isOpen: false))

    var held: Int { state.withLock { $0.held } }

    func hold() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          state.held += 1
          if !state.isOpen { state.ends.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let ends = state.withLock { state in
        state.isOpen = true
        defer { state.ends = [] }
        return state.ends
      }
      for end in ends { end.resume() }
    }
  }

  @Test("one sender's decisions hold few large documents at a time, and leave a place to another sender's")
  func large() async throws {
    let rules = try RulesFixture.rules(
      "match /c/{id} { allow list: if resource.data.owner == 'a' || get(/databases/(default)/documents/l/x).data.n == 1; }"
    )
    let turns = RuleTurns(places: 3)
    var check = RuleCheck(
      rules: rules, auth: .null, database: ServerFixture.database, time: Timestamp(seconds: 0, nanoseconds: 0),
      explains: false, counter: nil)
    check.turns = turns
    let (reads, ready) = (Reads(), check)
    let text = Value.string(String(repeating: "x", count: RuleTurns.largeBytes))
    func decide(_ sender: String, holds: Bool) -> Task<Void, Never> {
      Task {
        await CallSender.$current.withValue(sender) {
          let count = Mutex(0)
          _ = try? await ready.list(Query(path: path("c"))) { keys throws(StatusError) in
            // The first answer is large: it is given up, and asked for again in its turn.
            let isAgain = count.withLock { count in
              count += 1
              return count > 1
            }
            if isAgain, holds { await reads.hold() }
            return keys.map {
              .found($0, version: SnapshotVersion(microseconds: 1), fields: EncodedFields(["t": text]))
            }
          }
        }
      }
    }
    let flood = (0..<40).map { _ in decide("a", holds: true) }
    try await waitUntil { turns.use == (2, 38) }
    try await waitUntil { reads.held == 2 }
    await decide("b", holds: false).value
    #expect(turns.use == (2, 38) && reads.held == 2)
    reads.open()
    for task in flood { await task.value }
    #expect(turns.use == (0, 0))
  }

  @Test("a call that is cancelled while it waits for its turn ends when it has it, and gives it on")
  func cancelled() async throws {
    let turns = RuleTurns(places: 2)
    var first: RuleTurn? = RuleTurn(turns, of: "a")
    try await first?.begin()
    let waiting = Task { () -> StatusCode? in
      let turn = RuleTurn(turns, of: "a")
      do throws(StatusError) { try await turn.begin() } catch { return error.code }
      return nil
    }
    try await waitUntil { turns.use == (1, 1) }
    waiting.cancel()
    first = nil
    #expect(await waiting.value == .cancelled)
    try await waitUntil { turns.use == (0, 0) }
  }
}
