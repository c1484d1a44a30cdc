import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

extension FolderSimulation {
  func run() throws {
    defer { close() }
    note("\(history)")
    if history.faults.contains(.replacement) { makeOtherFolder() }
    for _ in 0..<history.processCount { beginProcess() }
    for _ in 0..<history.stepCount { try step() }
    try settle()
  }

  /// A folder with another cache, which may take the place of the first one.
  private func makeOtherFolder() {
    let process = beginProcess()
    for _ in 0..<3 { process.write([generator.mutations()]) }
    process.stop()
    removeEndedProcesses()
    copyFolder()
    replaceFolder(by: nil)
  }

  // MARK: - The end

  /// Everything works again and is delivered: then the outboxes are empty, and the views are what the backend has.
  private func settle() throws {
    note("the end")
    isSettling = true
    endTaking()
    let cutOff = history.endsCutOff ? living.randomElement(using: &generator) : nil
    for process in living {
      process.deathStatement = nil
      process.deathAction = nil
      proceed(process)
      process.wakeUp()
      process.switchNetwork(on: process !== cutOff)
      process.tick()
      try check()
    }
    removeEndedProcesses()
    if isOutdated, living.isEmpty { beginProcess() }
    if let cutOff, !cutOff.isEnded { note("\(cutOff.name) stays cut off") }
    for _ in 0..<400 {
      try deliver()
      beginMissingProcesses()
      if difference == nil { break }
    }
    if let difference { throw Failure(description: "at the end \(difference)") }
    ledger.checkEnd()
    try checkInvariants()
    // Nobody has looked at a damaged page that is still there.
    if damageCount == 0, !ledger.lostInSilence.isEmpty, reports.isEmpty {
      fail("writes \(ledger.lostInSilence) were lost, and nothing says so")
    }
    try check()
  }

  /// The rows of the cache keep their rules, unless something has damaged them.
  private func checkInvariants() throws {
    guard damageCount == 0, let store = living.lazy.compactMap(\.client?.store).first, store.ending == nil else {
      return
    }
    if let violation = try CacheInvariants.violations(in: store).first {
      throw Failure(description: "at the end \(violation)")
    }
  }

  /// Every identity with an outbox has a process, and one with a network.
  private func beginMissingProcesses() {
    let waiting = ledger.due + ((try? outboxes()) ?? [])
    let owners = Set(waiting.map { ledger.writes[$0]?.owner })
    for user in Self.users where owners.contains(user) {
      if !living.contains(where: { $0.user == user && $0.isOnline }) { beginProcess(user, isAnyUser: false) }
    }
    if !living.contains(where: \.isOnline) { beginProcess() }
  }

  /// A second passes, and everything is delivered that waits.
  private func deliver() throws {
    now += .seconds(1)
    for process in living {
      process.tick()
      if process.isWoken { process.lookForNews() }
      process.fire(.clientMetadataRefresh)
      for timer in process.timers.running where timer.due <= now && timer.kind != .lruGarbageCollection {
        process.fire(timer.kind)
      }
      while process.answerParting(ends: false) { try check() }
      while !process.opening.isEmpty { process.answerOpening(succeeds: true) }
      while !process.writeRequests.isEmpty, process.writeStream != nil {
        process.answerWrite(answerIsLost: false)
        try check()
      }
      process.sendSnapshotOfNews()
      while process.isRunning, process.watchStream != nil, !process.watch.messages.isEmpty {
        process.deliverWatchMessage()
        try check()
      }
      for kind in process.busyTimers { process.fire(kind) }
      lookAtFile()
      try check()
    }
    removeEndedProcesses()
  }

  /// The part that is not at rest; nil if everything is.
  private var difference: String? {
    if !ledger.due.isEmpty { return "writes \(ledger.due) are not at the backend" }
    for process in living {
      if !process.isRunning { return "\(process.name) is \(process.state)" }
      let waiting = ledger.waiting(in: process.name)
      if !waiting.isEmpty { return "\(process.name): callers wait for \(waiting)" }
      if !process.busyTimers.isEmpty { return "\(process.name) is busy: \(process.busyTimers)" }
      for (id, wanted) in process.wanted.sorted(by: { $0.key < $1.key }) where wanted.options.source == .default {
        let what = "\(process.name), listener \(id) \(wanted.query.canonicalID)"
        guard let snapshot = process.listeners[id]?.snapshot else { return "\(what) was never told anything" }
        let (shown, expected) = (Array(snapshot.documents), backend.run(wanted.query))
        guard shown.count == expected.count, zip(shown, expected).allSatisfy({ $0.hasSameData(as: $1) }) else {
          return "\(what) shows \(shown.map(\.brief)), but must show \(expected.map(\.brief))"
        }
        if snapshot.isFromCache || snapshot.hasPendingWrites { return "\(what) is not in sync" }
      }
    }
    return outboxDifference
  }

  private var outboxDifference: String? {
    do {
      let waiting = try outboxes()
      return waiting.isEmpty ? nil : "the outboxes hold writes \(waiting)"
    } catch {
      // Nobody has looked at the damaged page.
      return damageCount > 0 ? nil : "the file cannot be read: \(error)"
    }
  }

  // MARK: - The order

  /// Checks that the backend gets the batches of an identity in the order of its outbox.
  func checkOrder(of number: Int, from process: FolderProcess) {
    guard damageCount == 0, process.client?.file == FileIdentity(path: file) else { return }
    let owner = ledger.writes[number]?.owner
    // One that has left the outbox was answered elsewhere.
    guard let outbox = try? outboxes(), let place = outbox.firstIndex(of: number) else { return }
    for other in outbox[..<place] {
      guard let write = ledger.writes[other], write.owner == owner, write.answer == nil else { continue }
      fail("\(process.name) sends write \(number) before write \(other)")
    }
  }
}
