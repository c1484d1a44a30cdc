import HearthModel
import Testing

@testable import HearthServer

/// A client may show a document as its own acknowledged write until it receives the document. If another client has deleted or changed the
/// document in between, the stream has never sent it before.
@Suite("Documents that come into a target and leave it between two snapshots")
struct PassingDocumentTests {
  private let large = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 10.value))

  @Test("a document that comes in and leaves in one step is told of", .everyStorage, arguments: [nil, 10])
  func live(limit: Int?) async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    for n in [20, 30, 40] { try await fixture.set("c/d\(n)", ["n": n.value]) }
    _ = try await listener.add(limit.map { large.with(limit: $0) } ?? large)
    for id in ["dies", "leaves"] { try await fixture.set("c/\(id)", ["n": 15.value]) }
    try await fixture.commit(.delete(key("c/dies")))
    try await fixture.set("c/leaves", ["n": 2.value])
    #expect(try await listener.catchUp().sorted() == ["c/dies deleted 2", "c/leaves out 2", "snapshot"])
  }

  @Test("a document that comes in and leaves while a full window has to be read again is told of", .everyStorage)
  func window() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    for n in [20, 30, 40] { try await fixture.set("c/d\(n)", ["n": n.value]) }
    _ = try await listener.add(large.with(limit: 2))
    try await fixture.commit(.delete(key("c/d20")))
    for id in ["dies", "leaves"] { try await fixture.set("c/\(id)", ["n": 15.value]) }
    try await fixture.commit(.delete(key("c/dies")))
    try await fixture.set("c/leaves", ["n": 2.value])
    let told = ["c/d20 deleted 2", "c/d40 in 2", "c/dies deleted 2", "c/leaves out 2", "snapshot"]
    #expect(try await listener.catchUp().sorted() == told)
  }

  @Test("a document that came in and left since the token is told of", .everyStorage)
  func resumed() async throws {
    let fixture = try await TestedDatabase()
    for n in [20, 30] { try await fixture.set("c/d\(n)", ["n": n.value]) }
    try await fixture.set("c/changes", ["n": 1.value])
    var first = Listener(fixture)
    _ = try await first.add(large)
    for id in ["dies", "leaves", "changes", "again"] { try await fixture.set("c/\(id)", ["n": 15.value]) }
    try await fixture.commit(.delete(key("c/dies")), .delete(key("c/again")))
    for id in ["leaves", "changes", "never"] { try await fixture.set("c/\(id)", ["n": 2.value]) }
    try await fixture.set("c/again", ["n": 3.value])
    try await fixture.set("c/never", ["n": 4.value])
    let told = ["c/again out 2", "c/changes out 2", "c/dies deleted 2", "c/leaves out 2"]
    for query in [large, large.with(limit: 2)] {
      var second = Listener(fixture)
      let messages = try await second.add(query, token: first.token)
      #expect(messages == ["add 2"] + told + ["current 2", "snapshot"], "\(query)")
    }
    let document = HearthModel.Query(path: path("c/dies"))
    var third = Listener(fixture)
    let messages = try await third.add(document, token: first.token)
    #expect(messages == ["add 2", "c/dies deleted 2", "current 2", "snapshot"])
  }
}
