import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

extension FolderSimulation {
  /// Something happens to one of the processes, at the backend, or to the folder.
  func step() throws {
    if generator.chance(history.faultChance) { faultStep() }
    if taking != nil, generator.chance(40) { continueTaking() }
    if generator.chance(8) {
      lifeStep()
    } else if generator.chance(8) {
      _ = backend.commit(generator.mutations(), label: nil)
      note("backend: another client commits, now \(backend.now)")
    } else if generator.chance(12) {
      for _ in 0..<Int.random(in: 1...12, using: &generator) { passTime() }
    } else if let process = awake.randomElement(using: &generator) {
      let active = awake.filter { $0.watchStream != nil || $0.writeStream != nil || !$0.opening.isEmpty }
      if generator.chance(45), let active = active.randomElement(using: &generator) {
        networkStep(of: active)
      } else {
        smallStep(of: process)
      }
    }
    removeEndedProcesses()
    lookAtFile()
    try check()
  }

  func removeEndedProcesses() { processes.removeAll(where: \.isEnded) }

  /// The next timer of any process fires.
  func passTime() {
    let next = awake.compactMap { process in process.nextTimer.map { (process, $0) } }.min { $0.1.due < $1.1.due }
    if let (process, timer) = next { process.fire(timer.kind) }
  }

  // MARK: - Processes

  private func lifeStep() {
    guard let process = living.randomElement(using: &generator) else {
      beginProcess()
      return
    }
    switch Int.random(in: 0..<12, using: &generator) {
    case 0, 1, 2: if living.count < 4 { beginProcess() }
    case 3: process.stop()
    case 4, 5: if !process.isBusy { process.kill() }
    case 6, 7: process.deathStatement = process.statementCount + Int.random(in: 1...80, using: &generator)
    case 8: process.deathAction = Int.random(in: 0...4, using: &generator)
    case 9: process.suspend()
    default: process.wakeUp()
    }
  }

  /// Something that a process may do at any moment.
  func smallStep(of process: FolderProcess) {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<12: process.listen(to: generator.query(), listenOptions())
    case 12..<16: process.unlisten()
    case 16..<42:
      var batches: [[Mutation]] = []
      for _ in 0..<(generator.chance(20) ? 3 : 1) { batches.append(generator.mutations()) }
      process.write(batches)
    case 42..<60: if process.isWoken || generator.chance(20) { process.lookForNews() }
    case 60..<72: process.fire(.clientMetadataRefresh)
    case 72..<80: process.tick()
    case 80..<88: process.nextTimer.map { process.fire($0.kind) }
    case 88..<90: process.changeUser(to: generator.pick(Self.users))
    default: for _ in 0..<Int.random(in: 1...5, using: &generator) { process.deliverWatchMessage() }
    }
  }

  private func listenOptions() -> ListenOptions {
    ListenOptions(
      includeDocumentMetadataChanges: generator.chance(70), includeQueryMetadataChanges: true,
      source: generator.chance(10) ? .cache : .default)
  }

  private func networkStep(of process: FolderProcess) {
    if !process.parting.isEmpty, generator.chance(30), process.answerParting(ends: generator.chance(30)) { return }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<6:
      let error = StatusError(code: generator.pick([.unavailable, .internal, .aborted]), message: "broken")
      if generator.chance(50) { process.driver.breakWatchStream(error) } else { process.driver.breakWriteStream(error) }
    case 6..<30: process.answerOpening(succeeds: generator.chance(90))
    case 30..<58: process.answerWrite(answerIsLost: generator.chance(20))
    case 58..<68: process.sendSnapshot()
    default: for _ in 0..<Int.random(in: 1...6, using: &generator) { process.deliverWatchMessage() }
    }
  }

  // MARK: - Faults

  private func faultStep() {
    let kinds: [FolderHistory.Faults] = [.damage, .replacement, .releases, .stops, .networks]
    switch generator.pick(kinds.filter { history.faults.contains($0) }) {
    case .damage:
      damage()
      if generator.chance(20) { damage() }
    case .replacement: replacementStep()
    case .releases: releaseStep()
    case .stops: stopStep()
    default: living.randomElement(using: &generator)?.switchNetwork(on: generator.chance(40))
    }
  }

  private func replacementStep() {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1: replaceFolder(by: nil)
    case 2: deleteFiles()
    case 3, 4, 5: copyFolder()
    default: if let copy = copies.randomElement(using: &generator) { replaceFolder(by: copy) }
    }
  }

  private func releaseStep() {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1: beginTaking(migrates: false)
    case 2, 3: beginTaking(migrates: true)
    // One that asks nobody.
    case 4: if taking == nil { liveWithNewerRelease() }
    case 5, 6: outdate()
    default: addUnknownNotice()
    }
  }

  /// The system stops a process, perhaps in a transaction, or lets it go on.
  private func stopStep() {
    guard let process = living.filter({ !$0.isBusy }).randomElement(using: &generator) else { return }
    if process.isStopped { return proceed(process) }
    note("\(process.name) is stopped")
    if generator.chance(60), process.isRunning, let database = process.client?.cache.database {
      process.deathStatement = nil
      process.isInTransaction = (try? database.execute("BEGIN IMMEDIATE")) != nil
      note("  in a transaction: \(process.isInTransaction)")
    }
    process.isStopped = true
    // Later ones than this find it dead or alive, as they do after a time.
    process.wasAway = true
  }

  /// A process that was stopped goes on.
  func proceed(_ process: FolderProcess) {
    guard process.isStopped else { return }
    note("\(process.name) goes on")
    process.isStopped = false
    if process.isInTransaction { try? process.client?.cache.database.execute("ROLLBACK") }
    process.isInTransaction = false
    process.handleInbox()
  }
}
