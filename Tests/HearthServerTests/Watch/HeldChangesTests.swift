import HearthModel
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Changes that a stream holds", .timeLimit(.minutes(5)))
struct HeldChangesTests {
  private static func document(_ number: Int, bytes: Int) -> SharedDocument {
    SharedDocument(
      .found(
        key("c/d\(number)"), version: SnapshotVersion(microseconds: 1),
        fields: EncodedFields(["t": .string(String(repeating: "x", count: bytes))])))
  }

  @Test("many are given up after a time, also while the client takes nothing")
  func givenUp() async throws {
    weak var last: SharedDocument?
    let held: HeldChanges
    do {
      var delta = WatchDelta()
      for number in 0..<3 {
        let document = Self.document(number, bytes: 200_000)
        delta.update(document, in: 2)
        last = document
      }
      held = HeldChanges(delta, limits: HeldChanges.Limits(time: .milliseconds(1)))
    }
    let sent = Mutex(0)
    let output = ListenOutput(isBehind: { true }) { [weak last] messages in
      sent.withLock { $0 += messages.count }
      // The client takes nothing for as long as it is held.
      try await waitUntil { last == nil }
    }
    #expect(try await !held.send(to: output, in: ServerFixture.database))
    #expect(sent.withLock { $0 } <= 1)
  }

  @Test("few are held as long as it takes")
  func kept() async throws {
    var delta = WatchDelta()
    for number in 0..<4 { delta.update(Self.document(number, bytes: 50_000), in: 2) }
    let held = HeldChanges(delta, limits: HeldChanges.Limits(time: .zero))
    let sent = Mutex(0)
    let output = ListenOutput(isBehind: { true }) { messages in sent.withLock { $0 += messages.count } }
    #expect(try await held.send(to: output, in: ServerFixture.database))
    #expect(sent.withLock { $0 } == 4)
  }
}
