import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Every query with more than five documents runs in the background; the test decides when it ends.
@Suite("Queries in the background")
struct BackgroundQueryScenarioTests {
  private let rooms = collection("rooms")
  private let byNumber = collection("rooms").ordered(by: "n")

  /// A client offline on a file that holds rooms/10 to rooms/19, with a field `n` from 10 to 19.
  private func makeClient(connections: Int = 10) throws -> TestClient {
    let client = try TestClient(
      durable: true,
      backgroundQueryLimits: BackgroundQueryLimits(documentsOnLoop: 5, partsPerScan: 2, connections: connections))
    for number in 10..<20 {
      client.write(.set(key("rooms/\(number)"), ["n": .integer(Int64(number))]))
      try client.commit(at: Int64(number))
    }
    client.request(.disableNetwork)
    _ = client.takeTold()
    return client
  }

  private func set(_ path: String, n: Int64, _ client: TestClient) -> WriteID {
    client.write(.set(key(path), ["n": .integer(n)]))
  }

  private func shown(_ listener: ListenerID, _ client: TestClient) -> [[String]] {
    (client.snapshots[listener] ?? []).map { $0.documents.map(\.key.id) }
  }

  // MARK: - Events during a background query

  @Test("a write is stored, sent, acknowledged and completed while a big query runs")
  func writeMeanwhile() throws {
    let client = try makeClient()
    client.request(.enableNetwork)
    _ = client.takeTold()
    let listener = client.listen(rooms)
    let read = client.request(.readQuery(byNumber))
    let write = set("rooms/20", n: 20, client)
    try client.commit(at: 100)
    #expect(client.takeTold() == ["write \(write.rawValue): OK"])
    #expect(client.backgroundQueries.count == 2 && shown(listener, client).isEmpty)

    try client.runBackgroundQuery()
    #expect(shown(listener, client) == [(10...20).map { "\($0)" }])
    try client.runBackgroundQuery()
    guard case .answer(read, .snapshot(let snapshot))? = client.answers.last else { throw TestFailure("no answer") }
    #expect(snapshot.documents.map(\.key.id) == (10...19).map { "\($0)" })
  }

  @Test("another listener hears of a write while a big query runs")
  func listenerMeanwhile() throws {
    let client = try makeClient()
    let big = client.listen(rooms)
    let small = client.listen(Query(path: key("rooms/10").path))
    _ = set("rooms/10", n: 1, client)
    #expect(client.snapshots[small]?.last?.documents.first?.hasPendingWrites == true)
    #expect(shown(big, client).isEmpty)
    try client.runBackgroundQuery()
    #expect(client.snapshots[big]?.count == 1)
    #expect(client.snapshots[big]?.last?.mutatedKeys == [key("rooms/10")])
  }

  @Test("the first snapshot has what came, changed and went in between, in order; the next one follows from it")
  func changesMeanwhile() throws {
    let client = try makeClient()
    let listener = client.listen(byNumber)
    client.write(.delete(key("rooms/12")))
    _ = set("rooms/15", n: 0, client)
    _ = set("rooms/21", n: 13, client)
    _ = set("halls/a", n: 13, client)
    try client.runBackgroundQuery()
    #expect(shown(listener, client) == [["15", "10", "11", "13", "21", "14", "16", "17", "18", "19"]])
    _ = set("rooms/10", n: 30, client)
    #expect(shown(listener, client).last?.last == "10")
    #expect(client.snapshots[listener]?.last.map { brief($0.changes) }?.count == 1)
  }

  @Test("a change of user is part of the first snapshot")
  func userMeanwhile() throws {
    let client = try makeClient()
    _ = set("rooms/10", n: 0, client)
    let listener = client.listen(rooms)
    client.changeUser("anna")
    try client.runBackgroundQuery()
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == false)
    client.changeUser(nil)
    #expect(client.snapshots[listener]?.last?.mutatedKeys == [key("rooms/10")])
  }

  @Test("the collector spares what a query may come to show")
  func garbage() throws {
    let client = try makeClient()
    let listener = client.listen(rooms)
    _ = try client.engine.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0, percentile: 100))
    try client.runBackgroundQuery()
    #expect(shown(listener, client).last?.count == 10)
    client.request(.readDocument(key("rooms/10")))
    guard case .answer(_, .document(let document))? = client.answers.last else { throw TestFailure("no answer") }
    #expect(document.isFound)
  }

  // MARK: - Limits

  @Test("a full result is still right when what has changed stays inside its edge")
  func limitStays() throws {
    let client = try makeClient()
    let listener = client.listen(byNumber.with(limit: 3, type: .first))
    _ = set("rooms/11", n: 9, client)
    _ = set("rooms/5", n: 5, client)
    _ = set("rooms/19", n: 40, client)
    try client.runBackgroundQuery()
    #expect(client.backgroundQueries.isEmpty && shown(listener, client) == [["5", "11", "10"]])
  }

  @Test("a full result that has lost a document is computed again, at last on the loop", arguments: [1, 2, 3, 4])
  func limitAgain(_ losses: Int) throws {
    let client = try makeClient()
    let listener = client.listen(byNumber.with(limit: 2, type: .last))
    for loss in 0..<losses {
      guard !client.backgroundQueries.isEmpty else { break }
      client.write(.delete(key("rooms/\(19 - loss)")))
      #expect(shown(listener, client).isEmpty)
      try client.runBackgroundQuery()
    }
    #expect(client.backgroundQueries.count == (losses < 3 ? 1 : 0))
    if losses < 3 { try client.runBackgroundQuery() }
    let last = 19 - min(losses, 3)
    #expect(shown(listener, client) == [["\(last - 1)", "\(last)"]])
  }

  // MARK: - Listeners

  @Test("listeners of one query wait for one run and are told in the order in which they came")
  func sharedRun() throws {
    let client = try makeClient()
    let listeners = (0..<3).map { _ in client.listen(rooms) }
    #expect(client.backgroundQueries.count == 1)
    client.post(.unlisten(listeners[1]))
    try client.runBackgroundQuery()
    #expect(
      client.takeTold().map { String($0.prefix(12)) }
        == [listeners[0], listeners[2]].map {
          String("listener \($0.rawValue): ".prefix(12))
        })
    #expect(shown(listeners[1], client).isEmpty)
  }

  @Test("a listener that goes hears nothing, and the next one starts again")
  func unlisten() throws {
    let client = try makeClient()
    let listener = client.listen(rooms)
    client.post(.unlisten(listener))
    let next = client.listen(rooms)
    #expect(client.backgroundQueries.count == 2)
    try client.runBackgroundQuery()
    #expect(client.takeTold().isEmpty)
    try client.runBackgroundQuery()
    #expect(shown(listener, client).isEmpty && shown(next, client).last?.count == 10)
    #expect(client.errors.isEmpty)
  }

  @Test("the target is watched only when there is a view, with what the backend confirmed in between for another one")
  func sharedTarget() throws {
    let client = try makeClient()
    client.request(.enableNetwork)
    // Both have one target; the first view is complete when the second query leaves.
    let first = client.listen(byNumber.with(limit: 3, type: .first))
    #expect(client.watched.isEmpty)
    try client.runBackgroundQuery()
    let target = try #require(client.watched.keys.first)
    let mirrored = collection("rooms").ordered(by: "n", .descending).with(limit: 3, type: .last)
    let second = client.listen(mirrored)
    try client.fill(target, (10...12).map { found("rooms/\($0)", 100, ["n": .integer(Int64($0))]) }, at: 200)
    #expect(client.snapshots[first]?.last?.isFromCache == false)
    try client.runBackgroundQuery()
    #expect(shown(second, client) == [["12", "11", "10"]])
    #expect(client.snapshots[second]?.last?.isFromCache == false)
    #expect(client.engine.activeLimboDocuments.isEmpty)
  }

  @Test("a target that the backend refuses ends those who wait for it too")
  func rejectedTarget() throws {
    let client = try makeClient()
    client.request(.enableNetwork)
    _ = client.listen(byNumber.with(limit: 3, type: .first))
    try client.runBackgroundQuery()
    let target = try #require(client.watched.keys.first)
    let second = client.listen(collection("rooms").ordered(by: "n", .descending).with(limit: 3, type: .last))
    try client.reject(target, .permissionDenied)
    #expect(client.errors[second]?.code == .permissionDenied)
    _ = client.takeTold()
    try client.runBackgroundQuery()
    #expect(client.takeTold().isEmpty)
  }

  // MARK: - Ends

  @Test("a failure is reported to all who wait, and a later listen works")
  func failure() throws {
    let client = try makeClient()
    let listeners = [client.listen(rooms), client.listen(rooms)]
    client.backgroundQueries.first?.cancel()
    try client.runBackgroundQuery()
    #expect(listeners.allSatisfy { client.errors[$0]?.code == .unavailable })
    client.request(.readQuery(rooms))
    client.backgroundQueries.first?.cancel()
    try client.runBackgroundQuery()
    guard case .requestFailed(_, let error)? = client.answers.last else { throw TestFailure("no answer") }
    #expect(error.code == .unavailable)
    let later = client.listen(rooms)
    try client.runBackgroundQuery()
    #expect(shown(later, client).last?.count == 10)
  }

  @Test("a target that cannot be stored is an error at once")
  func allocation() throws {
    let client = try makeClient()
    client.failing = ["Allocate target"]
    let listener = client.listen(rooms)
    #expect(client.errors[listener]?.code == .unavailable && client.backgroundQueries.isEmpty)
  }

  @Test("the shutdown cancels what runs, and late ends are ignored")
  func shutdown() throws {
    let client = try makeClient()
    let listener = client.listen(rooms)
    client.request(.readQuery(rooms))
    client.post(.shutdown)
    _ = client.takeTold()
    try client.runBackgroundQuery()
    try client.runBackgroundQuery()
    #expect(client.takeTold().isEmpty && shown(listener, client).isEmpty && client.answers.isEmpty)
  }

  @Test("a query for which no connection is left runs on the loop")
  func connections() throws {
    let client = try makeClient(connections: 2)
    let first = client.listen(rooms)
    let second = client.listen(byNumber)
    #expect(client.backgroundQueries.count == 1)
    #expect(shown(first, client).isEmpty && shown(second, client).last?.count == 10)
    try client.runBackgroundQuery()
    _ = client.listen(rooms.filtered("n", .greaterThan, 12))
    #expect(client.backgroundQueries.count == 1)
  }

  @Test("quick queries and caches in memory never leave the loop")
  func onLoop() throws {
    let client = try makeClient()
    _ = client.listen(Query(path: key("rooms/10").path))
    _ = client.listen(collection("halls"))
    let memory = try TestClient(backgroundQueryLimits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 2))
    _ = memory.listen(rooms)
    #expect(client.backgroundQueries.isEmpty && memory.backgroundQueries.isEmpty)
    #expect(client.snapshots.count == 2)
  }
}
