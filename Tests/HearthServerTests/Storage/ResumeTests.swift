import HearthModel
import HearthStore
import HearthWire
import Testing

@testable import HearthServer

@Suite("Resuming a listen")
struct ResumeTests {
  private static let large = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 10.value))

  @Test("after a restart of the server exactly what was updated, left or was deleted since the token is sent")
  func restart() async throws {
    try await withTemporaryFolder { folder in
      let location = Database.Location.file(path: folder + ".sqlite")
      let token = try await {
        let fixture = try StorageFixture(location: location)
        for id in ["same", "changes", "leaves", "dies"] { try await fixture.set("c/\(id)", ["n": 20.value]) }
        var listener = Listener(fixture)
        #expect(try await listener.add(Self.large).count == 7)
        let token = listener.token
        try await fixture.set("c/changes", ["n": 21.value])
        try await fixture.set("c/leaves", ["n": 1.value])
        await fixture.storage.close()
        return token
      }()
      let fixture = try StorageFixture(location: location)
      try await fixture.commit(.delete(key("c/dies")))
      try await fixture.set("c/comes", ["n": 30.value])
      try await fixture.set("c/never", ["n": 2.value])
      var listener = Listener(fixture)
      let messages = try await listener.add(Self.large, token: token, expectedCount: 4)
      #expect(
        messages == [
          "add 2", "c/changes in 2", "c/comes in 2", "c/dies deleted 2", "c/leaves out 2", "filter 2: 3", "current 2",
          "snapshot",
        ])
      await fixture.storage.close()
    }
  }

  @Test("a token resumes on another stream with nothing to send when nothing has changed", .everyStorage)
  func nothingNew() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    var first = Listener(fixture)
    _ = try await first.add(Self.large)
    var second = Listener(fixture)
    #expect(try await second.add(Self.large, id: 8, token: first.token) == ["add 8", "current 8", "snapshot"])
  }

  @Test("a client that has lost what it knew is told how many documents there are, and their names", .everyStorage)
  func nothingExpected() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    var first = Listener(fixture)
    _ = try await first.add(Self.large)
    var second = Listener(fixture)
    #expect(
      try await second.add(Self.large, token: first.token, expectedCount: 0)
        == ["add 2", "filter 2: 1 names 3", "current 2", "snapshot"])
  }

  @Test(
    "names are told only to a client whose number will be another one, for queries, windows and documents",
    .everyStorage)
  func names() async throws {
    let fixture = try await TestedDatabase()
    for id in ["a", "b", "c"] { try await fixture.set("c/\(id)", ["n": 20.value]) }
    var first = Listener(fixture)
    _ = try await first.add(Self.large)
    _ = try await first.add(Self.large.with(limit: 2), id: 4)
    try await fixture.set("c/d", ["n": 20.value])
    try await fixture.commit(.delete(key("c/a")), .delete(key("c/b")))
    func answer(_ query: HearthModel.Query, expecting count: Int) async throws -> String? {
      var listener = Listener(fixture)
      return try await listener.add(query, token: first.token, expectedCount: count).first { $0.hasPrefix("filter") }
    }
    #expect(try await answer(Self.large, expecting: 3) == "filter 2: 2")
    #expect(try await answer(Self.large, expecting: 4) == "filter 2: 2 names 6")
    #expect(try await answer(Self.large.with(limit: 2), expecting: 2) == "filter 2: 2")
    #expect(try await answer(Self.large.with(limit: 2), expecting: 1) == "filter 2: 2 names 6")
    let document = HearthModel.Query(path: path("c/d"))
    #expect(try await answer(document, expecting: 0) == "filter 2: 1")
    #expect(try await answer(document, expecting: 1) == "filter 2: 1 names 3")
  }

  @Test("a limit resumes with the difference between its windows", .everyStorage)
  func limit() async throws {
    let fixture = try await TestedDatabase()
    for n in [20, 30, 40] { try await fixture.set("c/d\(n)", ["n": n.value]) }
    let query = Self.large.with(limit: 2)
    var first = Listener(fixture)
    _ = try await first.add(query)
    try await fixture.set("c/d15", ["n": 15.value])
    var second = Listener(fixture)
    #expect(
      try await second.add(query, token: first.token)
        == ["add 2", "c/d15 in 2", "c/d30 out 2 unchanged", "current 2", "snapshot"])
  }

  private struct Resumption: Equatable {
    var isReset: Bool
    var documents: Int
  }

  @Test(
    "a difference that costs more than the result is a reset, for a query with a limit as soon as much has changed",
    .everyStorage)
  func dearDifference() async throws {
    let fixture = try await TestedDatabase()
    for n in 0..<60 { try await fixture.set("c/d\(n)", ["n": (20 + n).value]) }
    for n in 0..<60 { try await fixture.set("small/d\(n)", ["n": (n < 50 ? 0 : 20).value]) }
    let small = HearthModel.Query(path: path("small")).with(filter: .field(field("n"), .greaterThan, 10.value))
    let limited = Self.large.with(limit: 3)
    var first = Listener(fixture)
    for (id, query) in [Self.large, limited, small].enumerated() { _ = try await first.add(query, id: Int32(id + 1)) }
    let token = first.token
    func resume(_ query: HearthModel.Query) async throws -> Resumption {
      var listener = Listener(fixture, freeChanges: 10)
      let messages = try await listener.add(query, token: token)
      return Resumption(
        isReset: messages.contains("reset 2"), documents: messages.count { $0.contains(" in 2") })
    }
    for n in 0..<10 { try await fixture.set("c/d\(n)", ["n": (20 + n).value, "m": 1.value]) }
    for n in 0..<11 { try await fixture.set("small/d\(n)", ["n": 0.value, "m": 1.value]) }
    #expect(try await resume(Self.large) == Resumption(isReset: false, documents: 10))
    #expect(try await resume(limited) == Resumption(isReset: false, documents: 3))
    #expect(try await resume(small) == Resumption(isReset: true, documents: 10))
    try await fixture.set("c/d10", ["n": 30.value, "m": 1.value])
    #expect(try await resume(Self.large) == Resumption(isReset: false, documents: 11))
    #expect(try await resume(limited) == Resumption(isReset: true, documents: 3))
    // The changes count, not the documents: each is looked at.
    for m in 0..<20 { try await fixture.set("c/d0", ["n": 20.value, "m": m.value]) }
    #expect(try await resume(Self.large) == Resumption(isReset: true, documents: 60))
  }

  @Test("a read time resumes like a token", .everyStorage)
  func readTime() async throws {
    let fixture = try await TestedDatabase()
    let version = try await fixture.set("c/a", ["n": 20.value])
    try await fixture.set("c/b", ["n": 20.value])
    let request = TargetRequest(
      targetID: 2, target: Self.large.target, purpose: .listen, resumeToken: [], readTime: version, expectedCount: nil)
    var listener = Listener(fixture)
    let messages = try await listener.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    #expect(messages == ["add 2", "c/b in 2", "current 2", "snapshot"])
  }

  @Test(
    "broken, foreign and future tokens are answered with a reset and everything", .everyStorage,
    arguments: ["broken", "foreign", "future"])
  func unusable(kind: String) async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    var first = Listener(fixture)
    _ = try await first.add(Self.large)
    var token = try #require(ResumeToken(bytes: first.token))
    var bytes: [UInt8] = [1, 2, 3]
    if kind == "foreign" {
      token.epoch[0] ^= 1
      bytes = token.bytes
    } else if kind == "future" {
      token.version = SnapshotVersion(microseconds: token.version.microseconds + 1_000_000)
      bytes = token.bytes
    }
    var listener = Listener(fixture)
    #expect(
      try await listener.add(Self.large, token: bytes, expectedCount: 1)
        == ["add 2", "reset 2", "c/a in 2", "current 2", "snapshot"])
  }

  @Test("a token older than the log is answered with a reset and everything", .everyStorage)
  func tooOld() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    var first = Listener(fixture)
    _ = try await first.add(Self.large)
    fixture.clock.advance(seconds: 3601)
    // The age is looked at now and then only.
    for n in 0..<200 { try await fixture.set("other/a", ["n": n.value]) }
    fixture.clock.advance(seconds: 3601)
    for n in 0..<200 { try await fixture.set("other/a", ["n": n.value]) }
    await fixture.storage.trimHistory()
    var second = Listener(fixture)
    #expect(
      try await second.add(Self.large, token: first.token) == ["add 2", "reset 2", "c/a in 2", "current 2", "snapshot"])
  }

  @Test("tokens survive their encoding; other bytes are none")
  func encoding() throws {
    let token = ResumeToken(epoch: [1, 2, 3], version: SnapshotVersion(microseconds: 1_700_000_000_123_456))
    #expect(ResumeToken(bytes: token.bytes) == token)
    for length in 0..<token.bytes.count {
      #expect(ResumeToken(bytes: Array(token.bytes.prefix(length))) != token)
    }
    #expect(ResumeToken(bytes: [1] + Array(repeating: 0xFF, count: 8)) == nil)
  }
}
