internal import HearthCache
internal import HearthModel

/// Big queries run in the background, so that they keep nothing else waiting.
///
/// Meanwhile there is no view: the listen's target is in use but not watched, and changes are noted. The end of the query is an
/// event. In it the result is brought up to date with the notes, and the listen goes on as if the query had just been run.
extension SyncEngine {
  /// A result in which documents may be missing is computed again in the background, until this many attempts have been made;
  /// then the query runs on the loop, where nothing can change meanwhile.
  private static let maximumAttempts = 3

  // MARK: - One-time reads

  /// - Returns: false when the query should run on the loop.
  func readInBackground(
    _ id: RequestID, _ query: Query, _ aggregations: [Aggregation] = [], as purpose: BackgroundQueryJob.Purpose
  ) -> Bool {
    guard let backgroundQuery = makeBackgroundQuery(query, aggregations, wantsConfirmedKeys: false) else {
      return false
    }
    let backgroundID = backgroundQueries.nextID()
    backgroundQueries.add(id, connections: backgroundQuery.connectionCount, as: backgroundID)
    emit(.runBackgroundQuery(BackgroundQueryJob(id: backgroundID, backgroundQuery: backgroundQuery, purpose: purpose)))
    return true
  }

  // MARK: - Listens

  /// Lets a listen wait for the first result of its query, if there is no view of it and it is a big one.
  ///
  /// - Returns: false when the listen should go on at once.
  func listenInBackground(_ id: ListenerID, to query: Query, _ options: ListenOptions) -> Bool {
    guard !views.hasView(of: query) else { return false }
    if backgroundQueries.join(id, to: query, options) { return true }
    guard var backgroundQuery = makeBackgroundQuery(query, wantsConfirmedKeys: true) else { return false }
    do {
      let version = localStore.fileVersion
      let target = try localStore.allocateTarget(query.target, isWatched: options.source == .default)
      if localStore.fileVersion != version {
        // Until the target was in use, changes of other clients were no news.
        backgroundQuery.close()
        guard let newer = makeBackgroundQuery(query, wantsConfirmedKeys: true) else { return false }
        backgroundQuery = newer
      }
      start(
        BackgroundListen(
          targetID: target.targetID, backgroundQuery: backgroundQuery, attempt: 1, listeners: [(id, options)]))
    } catch {
      backgroundQuery.close()
      listenFailed(HeldListen(id: id, query: query, options: options), error)
    }
    return true
  }

  private func start(_ listen: BackgroundListen) {
    let id = backgroundQueries.nextID()
    backgroundQueries.add(listen, as: id)
    emit(.runBackgroundQuery(BackgroundQueryJob(id: id, backgroundQuery: listen.backgroundQuery, purpose: .listen)))
  }

  /// Ends the wait of a listener.
  func stopBackgroundListen(for listener: ListenerID) {
    guard let (id, listen) = backgroundQueries.leave(listener) else { return }
    emit(.cancelBackgroundQuery(id))
    releaseIfUnused(listen.targetID)
  }

  /// The backend has refused the target: listeners that wait for their first result end as well.
  func rejectBackgroundListens(for target: TargetID, _ error: StatusError) {
    for (id, listen) in backgroundQueries.removeListens(for: target) {
      emit(.cancelBackgroundQuery(id))
      for listener in listen.listeners { emit(.raiseError(listener.id, error)) }
    }
  }

  // MARK: - Ends

  func backgroundQueryEnded(_ id: BackgroundQueryID, _ result: Result<BackgroundQueryResult, any Error>) {
    if let request = backgroundQueries.removeRead(id) {
      switch result.map(\.content) {
      case .success(.snapshot(let snapshot)): emit(.answer(request, .snapshot(snapshot)))
      case .success(.aggregation(let result)): emit(.answer(request, .aggregation(result)))
      case .success(.view): assertionFailure("A view was computed for the one-time read \(request).")
      case .failure(let error): emit(.requestFailed(request, .readFailed(error)))
      }
    } else if let listen = backgroundQueries.removeListen(id) {
      switch result.map(\.content) {
      case .success(.view(let view)): finish(listen, view)
      case .success(.snapshot), .success(.aggregation):
        assertionFailure("Target \(listen.targetID) got the answer to a read.")
      case .failure(let error):
        releaseIfUnused(listen.targetID)
        for listener in listen.listeners { emit(.raiseError(listener.id, .listenFailed(error))) }
      }
    }
    // What other clients wanted of the target meanwhile had no view to be noted at.
    if isPrimary, localStore.hasOtherClients { retryOnce(.followOthers) }
    if case .success(let result) = result { considerIndexes(for: result.query, after: result.execution) }
  }

  private func finish(_ listen: BackgroundListen, _ view: InitialViewState) {
    var view: InitialViewState? = view
    if listen.isOutdated || view?.update(listen.changes) != true {
      if restart(listen) { return }
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
    for listener in listen.listeners { begin(listener.id, to: listen.backgroundQuery.query, listener.options, view) }
    releaseIfUnused(listen.targetID)
  }

  private func restart(_ listen: BackgroundListen) -> Bool {
    guard listen.attempt < Self.maximumAttempts,
      let backgroundQuery = makeBackgroundQuery(listen.backgroundQuery.query, wantsConfirmedKeys: true)
    else { return false }
    start(
      BackgroundListen(
        targetID: listen.targetID, backgroundQuery: backgroundQuery, attempt: listen.attempt + 1,
        listeners: listen.listeners))
    return true
  }

  /// - Returns: nil when the query should run on the loop.
  private func makeBackgroundQuery(
    _ query: Query, _ aggregations: [Aggregation] = [], wantsConfirmedKeys: Bool
  ) -> BackgroundQuery? {
    guard let limits = configuration.backgroundQueryLimits else { return nil }
    do {
      return try localStore.queries.makeBackgroundQuery(
        query, aggregations: aggregations, wantsConfirmedKeys: wantsConfirmedKeys, limits: limits,
        connections: limits.connections - backgroundQueries.connections)
    } catch {
      // If the cache itself has failed, the query fails on the loop, and its caller hears why.
      log(.debug, "A query cannot run in the background: \(error)")
      return nil
    }
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
