internal import HearthCache
internal import HearthModel

/// The clients that receive each target from the backend.
extension QueryViews {
  /// True if a listener wants the backend to be asked for the target.
  func isWanted(_ target: TargetID) -> Bool {
    foreignTargets[target] == true || queries.queries(of: target).contains(where: \.hasBackendListeners)
  }

  func watcher(isWanted: Bool) -> View.Watcher {
    isWanted ? resolvesLimbo ? .thisClient : .otherClient : .nobody
  }

  /// Lets the views of a target know who hears from the backend now.
  mutating func updateWatcher(of target: TargetID) -> [Action] {
    setWatcher(watcher(isWanted: isWanted(target)), of: target)
  }

  mutating func setWatcher(_ watcher: View.Watcher, of target: TargetID) -> [Action] {
    var actions: [Action] = []
    var waiting: Set<DocumentKey> = []
    for id in queries.ids(of: target) {
      guard let outcome = queries.update(id, { $0.view.setWatcher(watcher) }) else { continue }
      actions += limboChanged(by: id, outcome)
      if watcher == .nobody { waiting.formUnion(queries[id]?.view.keysAwaitingBackend ?? []) }
    }
    return waiting.isEmpty ? actions : actions + [.reread(waiting)]
  }

  /// The holder of the lease says of targets that they are open: it may not watch them any more for the others that wanted them. The
  /// remaining listeners here are to the cache, and wait for nothing, as from their beginning.
  mutating func leaveToNobody(_ states: [TargetID: TargetAgreement]) -> [Action] {
    guard !resolvesLimbo else { return [] }
    return states.sorted { $0.key < $1.key }.flatMap { target, agreement -> [Action] in
      agreement != .open || isWanted(target) ? [] : setWatcher(.nobody, of: target)
    }
  }
}
