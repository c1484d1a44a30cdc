import HearthCache
import HearthModel
import HearthSync

/// Clearing parts of the cache while all clients use it.
extension SharedClient {
  /// Begins to clear something. The first step is made now, the others come when they come.
  func clearSomething() {
    var scope = world.generator.clearingScope()
    if world.generator.chance(20) {
      scope.confirmedBefore = SnapshotVersion(
        microseconds: Int64.random(in: 0...world.backend.now, using: &world.generator))
    }
    let isSecure = world.generator.chance(10)
    if isSecure { world.erasesResults = true }
    clear(ClearingRun(scope, isSecure: isSecure))
  }

  /// Goes on with a clearing that was begun.
  func continueClearing() {
    guard let index = clearings.indices.randomElement(using: &world.generator) else { return }
    var run = clearings.remove(at: index)
    // The simulation's reader and other clients' queries may be in the way without end.
    if run.awaitsReaders, world.generator.chance(50) { run.giveUpErasing() }
    if !run.isFinished { clear(run) }
  }

  private func clear(_ run: ClearingRun) {
    let id = RequestID(rawValue: world.nextNumber())
    openWaits.insert(id)
    world.note("\(name) clears a part of the cache")
    post(.request(id, .clear(run)))
  }

  /// The cache has cleared so far; the caller asks for the next step later.
  func cleared(_ run: ClearingRun) {
    if !run.isFinished { clearings.append(run) }
  }
}

extension SharedSimulation {
  /// Lets one of the clients clear, now or later: targets in use, or targets without listeners that were in sync.
  func clearSomething() {
    guard let client = awake.randomElement(using: &generator) else { return }
    if !client.clearings.isEmpty { return client.continueClearing() }
    if generator.chance(60) {
      client.listen(to: generator.query(), ListenOptions())
      for _ in 0..<2 { for other in awake where !other.isBusy { try? drain(other) } }
      for other in awake where !other.isBusy && generator.chance(90) { other.unlistenToBackend() }
      // Not all of them hear of it before.
      for other in awake where !other.isBusy && generator.chance(50) { other.post(.othersChanged) }
    }
    guard client.life == .running, !client.isBusy else { return }
    client.clearSomething()
  }
}

extension HistoryGenerator {
  fileprivate mutating func clearingScope() -> ClearingScope {
    let query = query()
    switch Int.random(in: 0..<6, using: &self) {
    case 0: return .everything
    case 1: return mutations().first.map { .document($0.key, includesSubcollections: chance(50)) } ?? .everything
    case 2:
      let path = mutations().first?.key.collectionPath ?? ResourcePath()
      return .collection(path, includesSubcollections: chance(50))
    case 3: return .collectionGroup(mutations().first?.key.collectionGroup ?? "")
    default: return .query(query)
    }
  }
}
