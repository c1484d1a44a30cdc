internal import HearthCache
internal import HearthModel

/// Reads that need an answer of the backend although a listener to the same query is open.
///
/// Each has a target of its own for the query, without a row in the cache, which continues from the state of the open one. All targets of a
/// stream are at one version in a snapshot, so when the read's target is current, the view of the open one is as new. If the backend's
/// counts of documents for the read's target and for the open one differ in the same snapshot, the open target is requested again
/// (`WatchChangeAggregator`), and the read is answered when the view agrees again.
///
/// At a secondary client, reads instead wait for a sign of life of the primary client if that has been silent, because its statements about
/// the view are valid only while it runs.
struct FreshReads {
  /// The reads that wait for a sign of life, in the order in which they were made.
  fileprivate var awaitingPrimary: [ListenerID] = []
  private var reads: [TargetID: (listener: ListenerID, target: TargetID)] = [:]

  /// The targets that are asked for, in order.
  var targets: [TargetID] { reads.keys.sorted() }

  /// The target that the cache has for the query of a read.
  func listenedTarget(of target: TargetID) -> TargetID? { reads[target]?.target }

  func listener(of target: TargetID) -> ListenerID? { reads[target]?.listener }

  func target(of listener: ListenerID) -> TargetID? { reads.first { $0.value.listener == listener }?.key }

  mutating func add(_ listener: ListenerID, on target: TargetID, as readTarget: TargetID) {
    reads[readTarget] = (listener, target)
  }

  /// - Returns: The listener of the read.
  mutating func remove(_ target: TargetID) -> ListenerID? { reads.removeValue(forKey: target)?.listener }
}

extension QueryViews {
  /// The target with which the cache knows a query's target, if it has a view.
  func targetID(of target: Target) -> TargetID? { queries.targetID(of: target) }

  /// True if the query's view agrees with the backend, or disagrees for good.
  func isAnswered(_ query: Query) -> Bool {
    queries.id(of: query).flatMap { queries[$0] }?.view.isAnswered ?? false
  }

  /// Asks the backend on behalf of one listener, which raises nothing before the answer.
  ///
  /// - Parameter target: The target of its query, as the backend was asked for it last.
  mutating func readFreshly(_ listener: ListenerID, _ target: TargetData) -> [Action] {
    let id = limbo.takeTargetID()
    freshReads.add(listener, on: target.targetID, as: id)
    var request = target
    request.targetID = id
    return [.watch(request)]
  }

  /// Ends the reads that a stored snapshot of the backend has answered.
  ///
  /// They show the documents of the open target. A new stream may answer them before that; then they wait for it as well.
  mutating func endFreshReads(answeredBy event: RemoteEvent) -> [Action] {
    let answered = freshReads.targets.filter { target in
      guard event.isComplete(target), let open = freshReads.listenedTarget(of: target) else { return false }
      return event.isComplete(open) || event.targetMismatches[open] != nil
    }
    return answered.flatMap { endFreshRead($0, isAnswered: true) }
  }

  /// Ends all reads, because the backend is not asked any more.
  mutating func endFreshReads() -> [Action] { freshReads.targets.flatMap { endFreshRead($0, isAnswered: false) } }

  /// True if a read waits for a sign of life of the primary client.
  var awaitSignOfLife: Bool { !freshReads.awaitingPrimary.isEmpty }

  /// Lets a listener that has raised nothing yet wait for a sign of life of the primary client.
  mutating func awaitSignOfLife(_ listener: ListenerID) {
    freshReads.awaitingPrimary.append(listener)
  }

  /// The primary client has given a sign of life: the reads that wait for it are shown what it has published.
  mutating func signOfLifeWasGiven() -> [Action] {
    takeReadsAwaitingSignOfLife().flatMap { endWait(of: $0.listener, isAnswered: true) }
  }

  /// Lets the backend answer the reads that wait for a sign of life, because this client has the connection now.
  ///
  /// - Parameter request: Returns a target as the backend was asked for it last; nil if it is not asked.
  mutating func readFreshly(_ request: (TargetID) -> TargetData?) -> [Action] {
    takeReadsAwaitingSignOfLife().flatMap { listener, target in
      request(target).map { readFreshly(listener, $0) } ?? endWait(of: listener, isAnswered: false)
    }
  }

  /// Returns the reads that wait for a sign of life, each with the target of its query.
  private mutating func takeReadsAwaitingSignOfLife() -> [(listener: ListenerID, target: TargetID)] {
    defer { freshReads.awaitingPrimary = [] }
    return freshReads.awaitingPrimary.compactMap { listener in
      queries.id(of: listener).flatMap { queries[$0] }.map { (listener, $0.targetID) }
    }
  }

  /// Ends the wait of a listener that was not shown anything yet.
  ///
  /// - Parameter isAnswered: False if it is shown what the cache has.
  mutating func endWait(of listener: ListenerID, isAnswered: Bool) -> [Action] {
    guard let query = queries.id(of: listener) else { return [] }
    let snapshot = queries.update(query) { query -> ViewSnapshot? in
      guard let index = query.listeners.firstIndex(where: { $0.id == listener }) else { return nil }
      return isAnswered ? query.listeners[index].freshAnswerCame() : query.listeners[index].freshAnswerWasGivenUp()
    }
    guard let snapshot = snapshot ?? nil else { return [] }
    return [.emit(.raiseSnapshot(listener, snapshot))] + snapshotsInSync
  }

  /// Ends the read of a listener that goes.
  mutating func endFreshRead(of listener: ListenerID) -> [Action] {
    freshReads.awaitingPrimary.removeAll { $0 == listener }
    return freshReads.target(of: listener).map { endFreshRead($0, isAnswered: false) } ?? []
  }

  /// Ends the read of a listener for which nobody waits, if another listener to the same target brings what it would have brought.
  mutating func abandonFreshRead(of listener: ListenerID) -> [Action] {
    guard let target = freshReads.target(of: listener), let listened = freshReads.listenedTarget(of: target),
      queries.queries(of: listened).contains(where: { query in
        query.listeners.contains { $0.id != listener && $0.listensToBackend }
      })
    else { return [] }
    return endFreshRead(target, isAnswered: false)
  }

  private mutating func endFreshRead(_ target: TargetID, isAnswered: Bool) -> [Action] {
    guard let listener = freshReads.remove(target) else { return [] }
    return [.unwatch(target)] + endWait(of: listener, isAnswered: isAnswered)
  }
}
