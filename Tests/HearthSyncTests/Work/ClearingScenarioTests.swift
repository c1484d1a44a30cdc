import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Clearing a part of the cache while clients use it")
struct ClearingScenarioTests {
  /// Clears everything, step by step.
  private func clear(_ client: SharedTestClient, _ scope: ClearingScope = .everything) throws -> ClearingReport {
    var run = ClearingRun(scope, isSecure: false)
    while !run.isFinished {
      let id = client.request(.clear(run))
      guard case .clearing(let next)? = client.answers[id] else { throw TestFailure("a step was not answered") }
      run = next
    }
    return run.report
  }

  @Test("what a listener of any client shows stays, whichever client clears", arguments: [true, false])
  func shownElsewhere(bySecondary: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    let (listening, clearing) = bySecondary ? (a, b) : (b, a)
    let listener = listening.listen(rooms.with(limit: 2))
    cache.deliver()
    guard let id = a.engine.targetID(of: rooms.with(limit: 2)) else { throw TestFailure("no target") }
    try a.fill(id, [found("rooms/1", 10, number(1)), found("rooms/2", 10, number(2))], at: 10)
    cache.deliver()
    a.write(set("halls/1"))
    try a.commit(at: 11)
    let report = try clear(clearing)
    cache.wait(2)
    #expect((report.removedDocumentCount, report.listenedDocumentCount) == (1, 2))
    #expect(listening.ids(listener) == ["1", "2"])
    #expect(listening.snapshots[listener]?.last?.isFromCache == false)
    // It goes on from where it was.
    try a.put([found("rooms/1", 12, number(5))], into: id)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(12))))
    cache.wait(2)
    #expect(listening.value(listener, "1") == .integer(5))
  }

  @Test("a listener that began in the background, and has heard nothing yet, gets what it waits for")
  func backgroundListen() throws {
    let limits = BackgroundQueryLimits(documentsOnLoop: 0, partsPerScan: 1)
    let (cache, a, b) = try SharedCache.makePair(limits: limits)
    for number in 1...3 {
      a.write(set("rooms/\(number)"))
      try a.commit(at: Int64(number))
    }
    let listener = a.listen(rooms)
    #expect(a.queries.count == 1)
    for client in [a, b] { #expect(try clear(client).removedDocumentCount == 0) }
    try a.runQuery()
    cache.wait(2)
    #expect(a.ids(listener) == ["1", "2", "3"])
  }

  @Test("a query that nobody listens to any more is asked for from its beginning")
  func tokens() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(collection("rooms"))
    try client.fill(2, [found("rooms/a", 3)], at: 5)
    client.post(.unlisten(listener))
    var run = ClearingRun(.documents([key("rooms/a")]), isSecure: false)
    while !run.isFinished {
      client.request(.clear(run))
      guard case .answer(_, .clearing(let next))? = client.answers.last else { throw TestFailure("not answered") }
      run = next
    }
    #expect(run.report.removedDocumentCount == 1 && run.report.removedTargetCount == 1)
    let again = client.listen(collection("rooms"))
    #expect(client.addRequests.last?.resumeToken.isEmpty == true && client.addRequests.last?.targetID == 4)
    try client.fill(4, [found("rooms/a", 3)], at: 6)
    #expect(client.snapshots[again]?.last?.ids == ["a"])
  }

  @Test("a view keeps what only it shows")
  func unconfirmed() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(collection("rooms"))
    try client.fill(2, [], at: 5)
    client.write(.set(key("rooms/shown"), [:]))
    try client.commit(at: 6)
    #expect(client.snapshots[listener]?.last?.ids == ["shown"])
    var run = ClearingRun(.everything, isSecure: false)
    while !run.isFinished {
      client.request(.clear(run))
      guard case .answer(_, .clearing(let next))? = client.answers.last else { throw TestFailure("not answered") }
      run = next
    }
    #expect(run.report.listenedDocumentCount == 1)
    client.request(.readDocument(key("rooms/shown")))
    guard case .answer(_, .document(let document))? = client.answers.last else { throw TestFailure("not answered") }
    #expect(document.isFound)
  }

  @Test("a step that the storage refuses fails, and what was done before stands")
  func refused() throws {
    let client = try TestClient(durable: true)
    client.failing = ["Clear cache"]
    client.request(.clear(ClearingRun(.everything, isSecure: false)))
    guard case .requestFailed(_, let error)? = client.answers.last else { throw TestFailure("it did not fail") }
    #expect(error.code == .unavailable || error.code == .dataLoss || error.code == .internal)
  }

  // MARK: - What the backend has sent

  @Test("a listener that wants to know hears how many documents have come for it, and others do not")
  func received() throws {
    let client = try TestClient()
    var options = ListenOptions.everything
    options.reportsTransfer = true
    client.listen(collection("halls"))
    let listener = client.listen(collection("rooms"), options)
    try client.acknowledge(4)
    for number in 0..<70 { try client.put(found("rooms/\(number)", 3), into: 4) }
    try client.put(found("halls/a", 3), into: 2)
    let name = "listener \(listener.rawValue)"
    var reports: [String] { client.told.filter { $0.hasSuffix("received") } }
    #expect(reports == ["\(name): 1 received", "\(name): 32 received", "\(name): 64 received"])
    try client.current(4, token: "t")
    try client.snapshot(4)
    #expect(reports.last == "\(name): 70 received" && reports.count == 4)
    client.post(.unlisten(listener))
    for number in 0..<70 { try client.put(found("rooms/\(number)", 4), into: 4) }
    #expect(reports.count == 4)
  }
}
