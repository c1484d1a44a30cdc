import HearthModel
import Testing

@testable import HearthSync

/// Cases that the corpus of the official SDKs leaves out: transforms, and documents with values of every type.
@Suite("Values on their way through the engine")
struct ValueScenarioTests {
  private let rooms = collection("rooms")

  private func update(_ transforms: (String, TransformOperation)..., fields: MapValue = [:]) -> Mutation {
    Mutation.patch(
      key("rooms/a"), fields, mask: FieldMask(fields.entries.map { field($0.key) }),
      transforms: transforms.map { FieldTransform(path: field($0.0), operation: $0.1) })
  }

  private func fields(of client: TestClient, _ listener: ListenerID) throws -> MapValue {
    let document = try #require(client.snapshots[listener]?.last?.documents.first)
    return try document.fields.decoded()
  }

  @Test("transforms show their estimate at once, and the backend's results once it has committed them")
  func estimatesAndResults() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1, ["n": 5, "tags": ["x"]])], at: 10)
    client.write(
      update(
        ("n", .increment(2)), ("tags", .arrayUnion(["x", "y"])), ("at", .serverTimestamp), fields: ["name": "lounge"]))
    let estimate = try fields(of: client, listener)
    #expect(estimate["n"] == 7)
    #expect(estimate["tags"] == ["x", "y"])
    #expect(estimate["name"] == "lounge")
    guard case .pendingServerTimestamp = estimate["at"] else {
      Issue.record("no estimate of the server's time: \(estimate)")
      return
    }
    _ = client.takeTold()
    let time = Value.timestamp(Timestamp(seconds: 30, nanoseconds: 0))
    try client.commit(at: 30, transformResults: [[17, .null, time]])
    // Held back until the watch stream has caught up: no event in between with values that nobody will keep.
    #expect(client.takeTold().filter { $0.hasPrefix("listener") } == [])
    let final: MapValue = ["n": 17, "tags": ["z", "x", "y"], "at": time, "name": "lounge"]
    try client.put(found("rooms/a", 30, final), into: 2)
    try client.snapshot(30)
    #expect(try fields(of: client, listener) == final)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [a] ~a"])
  }

  @Test("increments add up on what the user saw: a change by others is not counted on top before they are committed")
  func incrementsStack() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    client.write(update(("n", .increment(1))))
    client.write(update(("n", .increment(10))))
    #expect(try fields(of: client, listener)["n"] == 12)
    // The first one's effect arrives before its acknowledgement.
    try client.put(found("rooms/a", 20, ["n": 2]), into: 2)
    try client.snapshot(20)
    #expect(try fields(of: client, listener)["n"] == 12)
    try client.commit(at: 20, transformResults: [[2]])
    #expect(try fields(of: client, listener)["n"] == 12)
    try client.commit(at: 30, transformResults: [[12]])
    try client.put(found("rooms/a", 30, ["n": 12]), into: 2)
    try client.snapshot(30)
    #expect(try fields(of: client, listener)["n"] == 12)
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == false)
  }

  @Test("the estimate of a server timestamp keeps the value before it, through restart and rejection")
  func previousValue() throws {
    let client = try TestClient(durable: true)
    let before = Value.timestamp(Timestamp(seconds: 3, nanoseconds: 4000))
    let first = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1, ["at": before])], at: 10)
    client.write(update(("at", .serverTimestamp)))
    try client.restart()
    let second = client.listen(rooms)
    #expect(first != second)
    guard case .pendingServerTimestamp(_, let previous) = try fields(of: client, second)["at"] else {
      Issue.record("the estimate is gone after the restart")
      return
    }
    #expect(previous == before)
    try client.refuseWrite(.permissionDenied)
    #expect(try fields(of: client, second)["at"] == before)
  }

  /// The contents of a snapshot with one document, with the previous value of a pending server timestamp.
  private struct Shown: Equatable {
    var at: Value?
    var n: Value?
    var isPending: Bool
  }

  private func shown(of client: TestClient, _ listener: ListenerID) throws -> [Shown] {
    try (client.snapshots[listener] ?? []).map { snapshot in
      let fields = try #require(Array(snapshot.documents).first).fields.decoded()
      var at = fields["at"]
      if case .pendingServerTimestamp(_, let previous)? = at { at = previous }
      return Shown(at: at, n: fields["n"], isPending: snapshot.hasPendingWrites)
    }
  }

  /// The snapshots of the official SDK (firebase-ios-sdk local_documents_view.cc, ComputeViews; view.cc).
  @Test("server timestamps whose results come before the acknowledgements make no snapshots in between")
  func resultsBeforeAcknowledgements() throws {
    let client = try TestClient()
    let listeners = [client.listen(rooms), client.listen(rooms, ListenOptions())]
    try client.fill(2, [found("rooms/a", 1, ["at": 1, "n": 1])], at: 10)
    client.write(update(("at", .serverTimestamp)))
    client.write(update(("at", .serverTimestamp), ("n", .increment(1))))
    let times = [20, 30].map { Value.timestamp(Timestamp(seconds: 0, nanoseconds: $0 * 1000)) }
    for (index, at) in [20, 30].enumerated() {
      _ = client.takeTold()
      let n = Value.integer(Int64(index + 1))
      try client.put(found("rooms/a", Int64(at), ["at": times[index], "n": n]), into: 2)
      try client.snapshot(Int64(at))
      #expect(client.takeTold() == [])
      try client.commit(at: Int64(at), transformResults: [index == 0 ? [times[0]] : [times[1], 2]])
    }
    for listener in listeners {
      #expect(
        try shown(of: client, listener) == [
          Shown(at: 1, n: 1, isPending: false), Shown(at: 1, n: 1, isPending: true),
          Shown(at: 1, n: 2, isPending: true), Shown(at: times[0], n: 2, isPending: true),
          Shown(at: times[1], n: 2, isPending: false),
        ])
    }
  }

  private static let everyType: MapValue = [
    "null": .null, "true": true, "integer": .integer(.min), "double": .double(-0.0), "nan": .double(.nan),
    "infinite": .double(.infinity), "time": .timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 0)),
    "text": "cafe\u{301} \u{1F525}\0", "bytes": .bytes([0, 0xFF, 0x80]),
    "place": .geoPoint(GeoPoint(latitude: -90, longitude: 180)), "list": [1, "1", [:], .null],
    "vector": .vector([1, -0.5]), "map": ["caf\u{E9}": 1, "cafe\u{301}": 2, "deep": ["er": ["still": []]]],
    "empty": [:],
    "reference": .reference(
      ReferenceValue(database: TestClient.database, key: key("rooms/other"))),
  ]

  @Test("a document with a value of every type comes back as it was sent, also after a restart and under local writes")
  func everyValueType() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1, Self.everyType)], at: 10)
    #expect(try fields(of: client, listener) == Self.everyType)
    client.write(update(fields: ["more": 1]))
    var expected = Self.everyType
    expected["more"] = 1
    #expect(try fields(of: client, listener) == expected)
    try client.restart()
    let again = client.listen(rooms)
    #expect(try fields(of: client, again) == expected)
    #expect(client.sentBatches.count == 1)
  }

  @Test("a written document with a value of every type goes out and stays as it was written")
  func everyValueTypeWritten() throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    client.write(.set(key("rooms/a"), Self.everyType))
    try client.restart()
    #expect(client.sentBatches == [[.set(key("rooms/a"), Self.everyType)]])
    let listener = client.listen(rooms)
    #expect(try fields(of: client, listener) == Self.everyType)
    try client.commit(at: 20)
    try client.acknowledge(2)
    try client.put(found("rooms/a", 20, Self.everyType), into: 2)
    try client.current(2, token: "t")
    _ = client.takeTold()
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [a] =a"])
  }
}
