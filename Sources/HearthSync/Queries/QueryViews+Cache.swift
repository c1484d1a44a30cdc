internal import HearthCache
internal import HearthModel

/// Reading the cache for views.
extension QueryViews {
  // MARK: - New views

  /// Gives the query of a listener a view of what the cache holds. It has no listener yet.
  ///
  /// - Parameters:
  ///   - initial: The first state of the view; nil for running the query now.
  ///   - isWatched: True if the listener is one to the backend.
  ///   - isPrimary: False at a client that relies on what another one says of the target.
  /// - Returns: The error if the query could not be run. Then the target is released.
  mutating func activate(
    _ query: Query, on target: TargetData, _ initial: InitialViewState?, isWatched: Bool, isPrimary: Bool,
    onlineState: OnlineState, in localStore: LocalStore
  ) -> (actions: [Action], failure: (any Error)?) {
    var actions: [Action] = []
    do {
      // Before the query runs: its result must not be older than what is said of it.
      var agreement = try isPrimary ? .open : localStore.agreement(of: target.targetID)
      if agreement != .open, initial != nil, localStore.hasNews {
        agreement = .open
        actions.append(.synchronize)
      }
      let first = try initial ?? Self.run(query, in: localStore, &actions)
      localStore.viewBegins(of: target.targetID, showing: first.documents.documents)
      actions += activate(
        query, on: target, with: first, agreement: agreement, isWatched: isWatched, onlineState: onlineState)
      return (actions, nil)
    } catch {
      return ([.release(target.targetID, unconfirmedKeys: [])], error)
    }
  }

  /// Gives a target that another client uses a view here, if it has a row, no view, and no listener that waits for its first result.
  ///
  /// - Returns: The target; nil if it has no row any more.
  mutating func adopt(
    _ target: TargetID, isWatched: Bool, hasWaitingListener: Bool, onlineState: OnlineState, in localStore: LocalStore
  ) throws -> (data: TargetData?, actions: [Action]) {
    guard let data = try localStore.adoptTarget(target) else { return (nil, []) }
    guard !hasView(on: target), !hasWaitingListener else { return (data, []) }
    do {
      let query = data.target.query
      var actions: [Action] = []
      let first = try Self.run(query, in: localStore, &actions)
      localStore.viewBegins(of: target, showing: first.documents.documents)
      return (data, actions + activate(query, on: data, with: first, isWatched: isWatched, onlineState: onlineState))
    } catch {
      localStore.forgetTarget(target)
      throw error
    }
  }

  private static func run(
    _ query: Query, in localStore: LocalStore, _ actions: inout [Action]
  ) throws -> InitialViewState {
    let result = try localStore.run(query, usePreviousResults: true)
    actions.append(.considerIndexes(for: query, after: result.execution))
    return InitialViewState(query: query, result: result.documents, confirmedKeys: result.confirmedKeys)
  }

  // MARK: - Changes

  /// Shows changed documents: see ``apply(_:event:refill:localDocuments:)``.
  ///
  /// - Parameter group: The writes that were stored together with those that are shown now; nil if there are none. A view whose limit lost
  ///   documents gets the state between them.
  mutating func apply(
    _ changes: DocumentMap, event: RemoteEvent?, from localStore: LocalStore, amid group: inout WriteGroup?
  ) -> (actions: [Action], failure: (any Error)?) {
    let execute = { (query: Query) in try localStore.execute(query, usePreviousResults: false).documents }
    var (actions, failure) = apply(
      changes, event: event, refill: { try group?.result(of: $0, execute: execute) ?? execute($0) },
      localDocuments: { try localStore.queries.writtenDocuments(among: $0) })
    if let failure { actions.append(.readFailed(failure)) }
    return (actions, failure)
  }

  /// Takes over the keys that the file has for a target, before the backend is asked for it: it sends what has changed since the state that the
  /// file has. A bundle may have changed that while nothing was watched.
  mutating func takeOverConfirmedKeys(of target: TargetID, from localStore: LocalStore) throws {
    guard hasView(on: target) else { return }
    takeOver(try localStore.confirmedKeys(for: target), of: target)
  }

  /// Takes over what the primary client says of the targets, at another one. Views take over the keys that it has stored.
  ///
  /// - Parameter event: A snapshot of the backend at the primary client; at another one the agreements of targets.
  /// - Returns: The event to be shown with the news.
  mutating func takeOver(_ news: SurroundingNews, around event: RemoteEvent?, isPrimary: Bool) -> RemoteEvent? {
    if isPrimary { return event }
    let keys = news.before.confirmedKeys.filter { event?.targetChanges[$0.key] == nil }
    for (target, keys) in keys.merging(news.after.confirmedKeys, uniquingKeysWith: { _, newer in newer }) {
      takeOver(keys, of: target)
    }
    return news.around(event)
  }

  /// Lets a view that has got its first listener say whether it is answered.
  mutating func lookForOwnWrites(of query: Query, in localStore: LocalStore) -> [Action] {
    guard let keys = keysOfPossibleGap(of: query) else { return [] }
    do {
      let written = try localStore.queries.writtenDocuments(among: keys)
      // The view does not show the news yet. When it does, that is decided.
      noteOwnWrites(localStore.hasNews ? nil : written, of: query)
      return []
    } catch {
      noteOwnWrites(nil, of: query)
      return [.readFailed(error)]
    }
  }

  /// All views have changed. Stores what they show now, in a second transaction: it follows from what was stored, and is only a help for later
  /// queries. So a failure is of no consequence.
  mutating func storeReports(in localStore: LocalStore) -> [Action] {
    let changes = reports.end()
    guard !changes.isEmpty else { return [] }
    do {
      try localStore.notifyLocalViewChanges(changes)
      return []
    } catch {
      if CacheError.isLeaseLost(error) { return [.loseLease] }
      return [.emit(.log(.warning, "What the views show could not be stored: \(error)"))]
    }
  }

  // MARK: - Documents that are not shown as they are

  /// Reads documents that views must show as the cache has them, with those that could not be read before.
  mutating func reread(_ keys: Set<DocumentKey>, from localStore: LocalStore) -> [Action] {
    noteUnread(keys)
    do {
      return try takeUnread(from: localStore).map { [.show($0)] } ?? []
    } catch {
      return [.emit(.log(.error, "Views could not be read from the cache: \(error)")), .showLater]
    }
  }

  /// Reads the documents that could not be read before; nil if there are none. The next change shows them.
  mutating func takeUnread(from localStore: LocalStore) throws -> DocumentMap? {
    guard !unreadKeys.isEmpty else { return nil }
    let documents = try localStore.state(of: [], on: [], showing: unreadKeys).documents
    noteRead()
    return documents
  }

  /// Reads the documents that have left a result without a message; nil if there are none. The next change shows them as they are.
  ///
  /// The primary client looks such documents up, but not one that its own view has never held back: it sees each answer by itself,
  /// where this client may read several at once.
  mutating func takeHeldBack(from localStore: LocalStore) throws -> DocumentMap? {
    let keys = keysHeldBack(at: try localStore.lastRemoteSnapshotVersion())
    guard !keys.isEmpty else { return nil }
    let documents = try localStore.state(of: [], on: [], showing: keys).documents
    release(keys)
    return documents
  }
}
