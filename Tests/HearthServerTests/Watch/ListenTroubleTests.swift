import HearthModel
import HearthStore
import Synchronization
import Testing

@testable import HearthServer

@Suite("Trouble of the storage under a listen stream")
struct ListenTroubleTests {
  private static let all = Query(path: path("c"))
  private static let window = all.with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 2)

  /// A fixture whose reads fail in this way while it is set.
  private final class Trouble: Sendable {
    let kind = Mutex<StoreError.Kind?>(nil)
    func fixture(feedCapacity: Int = 4096) throws -> StorageFixture {
      try StorageFixture(
        feedCapacity: feedCapacity,
        injecting: { point in
          guard case .transaction(let name) = point, name.hasPrefix("read") || name.hasPrefix("run") else { return nil }
          return self.kind.withLock { $0 }.map { StoreError(kind: $0, message: "injected") }
        })
    }

    func set(_ kind: StoreError.Kind?) { self.kind.withLock { $0 = kind } }
  }

  private static let passing: [(StoreError.Kind, StatusCode)] = [
    (.unavailable, .unavailable), (.io, .internal), (.full, .resourceExhausted),
  ]

  @Test("trouble that passes ends the stream when a target starts, not the target", arguments: passing)
  func start(kind: StoreError.Kind, code: StatusCode) async throws {
    let trouble = Trouble()
    let fixture = try trouble.fixture()
    try await fixture.set("c/a", ["n": 1.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all)
    trouble.set(kind)
    for query in [Self.all, Self.window] {
      let error = await #expect(throws: StatusError.self) { _ = try await listener.add(query, id: 4) }
      #expect(error?.code == code)
    }
    let token = listener.token
    let error = await #expect(throws: StatusError.self) { _ = try await listener.add(Self.all, id: 6, token: token) }
    #expect(error?.code == code)
  }

  @Test("trouble that passes ends the stream when a target goes on, from the log or by its query", arguments: passing)
  func advance(kind: StoreError.Kind, code: StatusCode) async throws {
    let trouble = Trouble()
    let fixture = try trouble.fixture(feedCapacity: 2)
    for n in 0..<5 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    var slow = Listener(fixture)
    _ = try await slow.add(Self.all)
    var limited = Listener(fixture)
    _ = try await limited.add(Self.window)
    try await fixture.commit(.delete(key("c/d0")))
    trouble.set(kind)
    let refilled = await #expect(throws: StatusError.self) { _ = try await limited.catchUp() }
    #expect(refilled?.code == code)
    for n in 0..<10 { try await fixture.set("c/d9", ["n": n.value]) }
    let logged = await #expect(throws: StatusError.self) { _ = try await slow.catchUp() }
    #expect(logged?.code == code)
    // The change that failed is still sent.
    trouble.set(nil)
    #expect(try await limited.catchUp().contains("c/d0 deleted 2"))
  }

  @Test("damaged data ends the targets that read it; the stream and its other targets go on")
  func damage() async throws {
    let trouble = Trouble()
    let fixture = try trouble.fixture()
    for n in 0..<5 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all)
    _ = try await listener.add(Self.window, id: 4)
    trouble.set(.corrupt)
    let text = "The file of this database is damaged; the log of the server says where."
    #expect(try await listener.add(Self.all.with(limit: 3), id: 6) == ["add 6", "remove 6 (15: \(text))"])
    try await fixture.commit(.delete(key("c/d0")))
    #expect(try await listener.catchUp() == ["remove 4 (15: \(text))", "c/d0 deleted 2", "snapshot"])
  }
}
