import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// The actions of a process's engine.
extension FolderProcess: DrivenClient {
  func drain(_ driver: EngineDriver) { handleInbox() }
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] {
    guard let client else { return [] }
    world.note("> \(name) \(event.brief)")
    return client.engine.handle(event, now: now)
  }
  func willCarryOut(_ action: SyncAction) -> Bool {
    if isDying { return false }
    if let left = deathAction {
      deathAction = left - 1
      if left == 0 { isDying = true }
    }
    if case .log = action {} else { world.note("  < \(action.brief)") }
    return true
  }

  // MARK: - Streams

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening { .waits }
  func watchStreamEnded() { watch = SimulatedWatch() }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { wasOpen ? .later : .silently }
  func received(_ request: WatchRequest, on id: StreamID) {
    watchRequestCount += 1
    watch.receive(request, world.backend, &world.generator)
  }
  var handshake: WriteResponse? { WriteResponse(streamToken: [0], knowsBatchLabels: true) }

  // MARK: - Listeners and callers

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) {
    if let problem = listeners[id.rawValue]?.take(snapshot) { fail("listener \(id.rawValue): \(problem)") }
  }

  func ended(_ listener: ListenerID, _ error: StatusError) {
    let id = listener.rawValue
    guard listeners.removeValue(forKey: id) != nil else { return fail("listener \(id) has ended before") }
    guard world.damageCount == 0, client?.store.reopening == nil, client?.store.ending == nil else { return }
    fail("listener \(id) ended: \(error)")
  }

  func saved(_ id: WriteID) { world.ledger.saved(id.rawValue) }

  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    let number = id.rawValue
    guard let error else { return world.ledger.told(number, .committed) }
    switch error.code {
    case .dataLoss where !error.message.hasPrefix("Failed to persist"):
      world.ledger.told(number, .lost, error.message)
    case .unknown:
      if !wasAway, world.ledger.writes[number]?.loss == nil { fail("nothing is known of write \(number): \(error)") }
      world.ledger.told(number, .unknown)
    default:
      if world.ledger.writes[number]?.answer != nil { return world.ledger.told(number, .refused, "\(error)") }
      if world.damageCount == 0, client?.store.ending == nil { fail("write \(number) was not saved: \(error)") }
      notSaved(number)
    }
  }

  // MARK: - Other processes

  func wakeOthers() {
    let names = (try? client?.store.otherClientNames()) ?? []
    for process in world.living where process.client.map({ names.contains($0.cache.client?.name ?? "") }) ?? false {
      if world.isSettling || world.generator.chance(80) { process.isWoken = true }
    }
  }
  func yieldCache() { wasAskedToYield = true }
}
