import HearthCache
import HearthModel
import TestSupport
import Testing

@testable import HearthSync

/// Writes that wait together are stored with one commit. Listeners see one after the other all the same.
@Suite("Writes that are stored together")
struct WriteGroupTests {
  private let highest = collection("rooms").ordered(by: "n", .descending)

  private func patch(_ path: String, _ fields: MapValue) -> Mutation {
    .patch(key(path), fields, mask: FieldMask(fields.entries.map { field($0.key) }))
  }

  private func increment(_ path: String, _ name: String) -> Mutation {
    .patch(
      key(path), [:], mask: .empty, precondition: .exists(true),
      transforms: [FieldTransform(path: field(name), operation: .increment(1))])
  }

  private func values(_ name: String, of id: String, in snapshots: [ViewSnapshot]?) throws -> [Value?] {
    try (snapshots ?? []).map { snapshot in
      try snapshot.documents.first { $0.key.id == id }?.fields.decoded()[name]
    }
  }

  @Test("a document that moves up into a limit is shown with each later write, in order", arguments: [false, true])
  func counterBelowLimit(durable: Bool) throws {
    let client = try TestClient(durable: durable)
    client.write(batches: [[set("rooms/a", 30)], [set("rooms/b", 20)], [.set(key("rooms/c"), ["n": 10, "v": 0])]])
    let listener = client.listen(highest.with(limit: 2))
    client.write(batches: [[.delete(key("rooms/a"))]] + (1...5).map { _ in [increment("rooms/c", "v")] })
    #expect(try values("v", of: "c", in: client.snapshots[listener]) == [nil, 0, 1, 2, 3, 4, 5])
  }

  @Test("a document that is deleted and made again in between does not show its end first")
  func madeAgain() throws {
    let client = try TestClient()
    client.write(batches: [[set("rooms/a", 30)], [set("rooms/b", 20)], [.set(key("rooms/c"), ["n": 10, "v": 0])]])
    let listener = client.listen(highest.with(limit: 2))
    client.write(batches: [
      [.delete(key("rooms/a"))], [.delete(key("rooms/c"))], [.set(key("rooms/c"), ["n": 10, "v": 1])],
      [.delete(key("rooms/b"))], [increment("rooms/c", "v")], [.delete(key("rooms/c"))],
      [.set(key("rooms/c"), ["n": 11, "v": 9])],
    ])
    #expect(
      client.snapshots[listener]?.map(\.ids) == [["a", "b"], ["b", "c"], ["b"], ["b", "c"], ["c"], ["c"], [], ["c"]])
    #expect(try values("v", of: "c", in: client.snapshots[listener]) == [nil, 0, nil, 1, 1, 2, nil, 9])
  }

  @Test("a limited query is run once for all of them")
  func queriesRun() throws {
    var documents: DocumentMap = [:]
    for id in 1...5 { documents[key("rooms/\(id)")] = found("rooms/\(id)", 1, ["n": .integer(Int64(id))]) }
    var group = WriteGroup(former: documents.filter { $0.key.id == "5" || $0.key.id == "4" })
    var asked: [Query] = []
    let query = highest.with(limit: 2)
    func result() throws -> [String] {
      try group.result(of: query) { query in
        asked.append(query)
        return documents.filter { Int($0.key.id) ?? 0 > 1 }
      }.keys.map(\.id).sorted()
    }
    #expect(try result() == ["4", "5"])
    group.advance(by: [key("rooms/5"): missing("rooms/5", 2)])
    #expect(try result() == ["3", "4"])
    group.advance(by: [key("rooms/4"): found("rooms/4", 2, ["n": 0])])
    #expect(try result() == ["2", "3"])
    #expect(asked == [highest.with(limit: 4)], "the group may take two documents out of the result")
  }

  @Test("a query that could not be run is run with the next write, on its state")
  func failedRun() throws {
    let client = try TestClient()
    client.write(batches: [[set("rooms/a", 30)], [set("rooms/b", 20)], [set("rooms/c", 10)], [set("rooms/d", 5)]])
    let listener = client.listen(highest.with(limit: 2))
    client.failing = ["Execute query"]
    client.write(batches: [[.delete(key("rooms/a"))], [patch("rooms/c", ["n": 15])]])
    #expect(client.snapshots[listener]?.last?.ids == ["b", "c"])
    client.write(.delete(key("rooms/c")))
    client.failing = []
    client.write(batches: [[set("rooms/e", 1)], [.delete(key("rooms/d"))]])
    #expect(client.snapshots[listener]?.suffix(2).map(\.ids) == [["b", "d"], ["b", "e"]])
  }

  @Test("what another client writes in between does not come apart", arguments: ["Read one state", "Execute query"])
  func otherClient(moment: String) throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.write(batches: [[set("rooms/a", 30)], [set("rooms/b", 20)], [set("rooms/c", 10)], [set("rooms/d", 5)]])
    cache.deliver()
    let listener = b.listen(highest.with(limit: 2))
    // Two documents in one batch. The limit shows one of them before, and both after.
    b.hooks[moment] = { a.write(batches: [[set("rooms/b", 19), set("rooms/c", 11)]]) }
    b.write(batches: [[.delete(key("rooms/a"))], [set("rooms/e", 1)]])
    b.hooks = [:]
    cache.deliver()
    let shown = try (b.snapshots[listener] ?? []).map { snapshot in
      try snapshot.documents.map { "\($0.key.id)\(try $0.fields.decoded()["n"] ?? .null)" }
    }
    let legal = [["a30", "b20"], ["b20", "c10"], ["b19", "c11"]]
    #expect(shown.allSatisfy { text in legal.contains { $0 == text } }, "\(shown)")
    #expect(shown.first == legal.first && shown.last == (moment == "Read one state" ? legal.last : legal[1]))
  }
}
