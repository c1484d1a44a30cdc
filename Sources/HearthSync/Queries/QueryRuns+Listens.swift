internal import HearthCache
internal import HearthModel

/// Listens that wait for the first results of big queries, and the ends of queries in the background.
///
/// While such a query runs there is no view: the listen's target is in use but not watched, and changes are noted. The end of the query is
/// an event. It applies the noted changes to the result, and the listen continues as if the query had just run.
extension QueryRuns {
  /// A result in which documents may be missing is computed again in the background, until this many attempts have been made;
  /// then the query runs on the loop, where nothing can change in between.
  private static let maximumAttempts = 3

  // MARK: - Listens

  /// Lets a listen of a query that has no view wait for the first result, if the query is a big one; otherwise the listen begins.
  mutating func listen(_ listen: HeldListen, hasView: Bool) -> [Action] {
    let (id, query, options) = (listen.id, listen.query, listen.options)
    if hasView { return [.begin(id, to: query, options, nil)] }
    if join(id, to: query, options) { return [] }
    var actions: [Action] = []
    guard var backgroundQuery = makeBackgroundQuery(query, wantsConfirmedKeys: true, &actions) else {
      return actions + [.begin(id, to: query, options, nil)]
    }
    do {
      let version = localStore.fileVersion
      let target = try localStore.allocateTarget(query.target, isWatched: options.source == .default)
      if localStore.fileVersion != version {
        // Until the target was in use, changes of other clients were no news.
        backgroundQuery.close()
        guard let newer = makeBackgroundQuery(query, wantsConfirmedKeys: true, &actions) else {
          return actions + [.begin(id, to: query, options, nil)]
        }
        backgroundQuery = newer
      }
      let run = BackgroundListen(
        targetID: target.targetID, backgroundQuery: backgroundQuery, attempt: 1, listeners: [(id, options)])
      return actions + [start(run)]
    } catch {
      backgroundQuery.close()
      return actions + [.listenFailed(listen, error)]
    }
  }

  /// Ends the wait of a listener.
  mutating func unlisten(_ listener: ListenerID) -> [Action] {
    guard let (id, listen) = leave(listener) else { return [] }
    return [.emit(.cancelBackgroundQuery(id)), .release(listen.targetID)]
  }

  /// The backend has refused the target: listeners that wait for their first result end as well.
  mutating func reject(_ target: TargetID, _ error: StatusError) -> [SyncAction] {
    removeListens(for: target).flatMap { id, listen -> [SyncAction] in
      [.cancelBackgroundQuery(id)] + listen.listeners.map { .raiseError($0.id, error) }
    }
  }

  // MARK: - Ends

  /// A query has ended; one that nothing has a use for any more has no consequence but its indexes.
  mutating func ended(_ id: BackgroundQueryID, _ result: Result<BackgroundQueryResult, any Error>) -> [Action] {
    var actions: [Action] = []
    if let ends = endRead(id, result) {
      actions += ends
    } else if let listen = removeListen(id) {
      switch result.map(\.content) {
      case .success(.view(let view)): actions += finish(listen, view)
      case .success(.snapshot), .success(.aggregation):
        assertionFailure("Target \(listen.targetID) got the answer to a read.")
      case .failure where listen.isOutdated: actions += finish(listen, nil)
      case .failure(let error):
        actions.append(.release(listen.targetID))
        actions += listen.listeners.map { .emit(.raiseError($0.id, .listenFailed(error))) }
      }
    }
    actions.append(.followOthers)
    if case .success(let result) = result {
      actions.append(.considerIndexes(for: result.query, after: result.execution))
    }
    return actions
  }

  /// - Parameter view: Nil if it could not be computed.
  private mutating func finish(_ listen: BackgroundListen, _ view: InitialViewState?) -> [Action] {
    var actions: [Action] = []
    var view = view
    if listen.isOutdated || view?.update(listen.changes) != true {
      if let again = restart(listen, &actions) { return actions + [again] }
      view = nil
    }
    if listen.targetHasChanged, view != nil {
      do {
        view?.confirmedKeys = try localStore.confirmedKeys(for: listen.targetID)
      } catch {
        view = nil
      }
    }
    // The first one takes the result, the others find its view. Without a result the query runs on the loop.
    let query = listen.backgroundQuery.query
    actions += listen.listeners.map { .begin($0.id, to: query, $0.options, view) }
    return actions + [.release(listen.targetID)]
  }

  /// - Returns: Nil if the query should run on the loop.
  private mutating func restart(_ listen: BackgroundListen, _ actions: inout [Action]) -> Action? {
    guard listen.attempt < Self.maximumAttempts,
      let backgroundQuery = makeBackgroundQuery(listen.backgroundQuery.query, wantsConfirmedKeys: true, &actions)
    else { return nil }
    return start(
      BackgroundListen(
        targetID: listen.targetID, backgroundQuery: backgroundQuery, attempt: listen.attempt + 1,
        listeners: listen.listeners))
  }
}

extension StatusError {
  static func listenFailed(_ error: any Error) -> StatusError {
    .storage("The listener could not be started", error)
  }

  static func readFailed(_ error: any Error) -> StatusError {
    .storage("The query could not be run on the cache", error)
  }
}
