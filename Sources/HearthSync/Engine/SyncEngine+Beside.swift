internal import HearthCache
internal import HearthModel

/// Big queries run beside the engine, so that they keep nothing else waiting.
///
/// A listen is then in preparation: there is no view yet, its target is in use but not watched, and what changes meanwhile
/// is noted. The end of the query is an event; in it the result is brought up to date with the notes, and the listen goes
/// on as if the query had just been run.
extension SyncEngine {
  /// A result in which documents may be missing is computed again beside the engine, until this many attempts have been made;
  /// then the query runs on the loop, where nothing can change meanwhile.
  private static let maximumAttempts = 3

  // MARK: - One-time reads

  /// - Returns: false when the query should run on the loop.
  func readsBeside(_ id: RequestID, _ query: Query, _ aggregations: [Aggregation] = []) -> Bool {
    guard let detached = detach(query, aggregations, wantsRemoteKeys: false) else { return false }
    let besideID = beside.nextID()
    beside.add(id, connections: detached.connectionCount, as: besideID)
    let purpose: BesideQuery.Purpose = aggregations.isEmpty ? .read : .aggregate
    emit(.runBeside(BesideQuery(id: besideID, detached: detached, purpose: purpose)))
    return true
  }

  // MARK: - Listens

  /// Lets a listen wait for the first result of its query, if there is no view of it and it is a big one.
  ///
  /// - Returns: false when the listen should go on at once.
  func prepares(_ id: ListenerID, to query: Query, _ options: ListenOptions) -> Bool {
    guard queries.id(of: query) == nil else { return false }
    if beside.join(id, to: query, options) { return true }
    guard let detached = detach(query, wantsRemoteKeys: true) else { return false }
    do {
      let target = try localStore.allocateTarget(query.target)
      prepare(Preparation(targetID: target.targetID, detached: detached, attempt: 1, listeners: [(id, options)]))
    } catch {
      detached.close()
      emit(.raiseError(id, .listenFailed(error)))
    }
    return true
  }

  private func prepare(_ preparation: Preparation) {
    let id = beside.nextID()
    beside.add(preparation, as: id)
    emit(.runBeside(BesideQuery(id: id, detached: preparation.detached, purpose: .listen)))
  }

  /// Ends the wait of a listener.
  func stopPreparing(for listener: ListenerID) {
    guard let (id, preparation) = beside.leave(listener) else { return }
    emit(.cancelBeside(id))
    releaseIfUnused(preparation.targetID, views: [])
  }

  /// The backend has refused the target: listeners that wait for their first result end as well.
  func rejectPreparations(for target: TargetID, _ error: StatusError) {
    for (id, preparation) in beside.removePreparations(for: target) {
      emit(.cancelBeside(id))
      for listener in preparation.listeners { emit(.raiseError(listener.id, error)) }
    }
  }

  // MARK: - Ends

  func besideEnded(_ id: BesideID, _ result: Result<BesideResult, any Error>) {
    if let request = beside.removeRead(id) {
      switch result.map(\.content) {
      case .success(.snapshot(let snapshot)): emit(.queryRead(request, snapshot))
      case .success(.values(let values)): emit(.aggregationRead(request, values))
      case .success(.view): assertionFailure("A view was prepared for the one-time read \(request).")
      case .failure(let error): emit(.readFailed(request, .readFailed(error)))
      }
    } else if let preparation = beside.removePreparation(id) {
      switch result.map(\.content) {
      case .success(.view(let view)): prepared(preparation, view)
      case .success(.snapshot), .success(.values):
        assertionFailure("Target \(preparation.targetID) got the answer to a read.")
      case .failure(let error):
        releaseIfUnused(preparation.targetID, views: [])
        for listener in preparation.listeners { emit(.raiseError(listener.id, .listenFailed(error))) }
      }
    }
    if case .success(let result) = result { considerIndexes(for: result.query, after: result.execution) }
  }

  private func prepared(_ preparation: Preparation, _ view: PreparedView) {
    var view: PreparedView? = view
    if view?.update(preparation.changes) != true {
      if prepareAgain(preparation) { return }
      view = nil
    }
    if preparation.targetHasChanged, view != nil {
      do {
        view?.confirmedKeys = try localStore.remoteDocumentKeys(for: preparation.targetID)
      } catch {
        view = nil
      }
    }
    // The first one takes the result, the others find its view. Without a result the query runs on the loop.
    for listener in preparation.listeners { begin(listener.id, to: preparation.detached.query, listener.options, view) }
    releaseIfUnused(preparation.targetID, views: [])
  }

  private func prepareAgain(_ preparation: Preparation) -> Bool {
    guard preparation.attempt < Self.maximumAttempts,
      let detached = detach(preparation.detached.query, wantsRemoteKeys: true)
    else { return false }
    prepare(
      Preparation(
        targetID: preparation.targetID, detached: detached, attempt: preparation.attempt + 1,
        listeners: preparation.listeners))
    return true
  }

  /// - Returns: nil when the query should run on the loop.
  private func detach(
    _ query: Query, _ aggregations: [Aggregation] = [], wantsRemoteKeys: Bool
  ) -> DetachedQuery? {
    guard let limits = configuration.detachment else { return nil }
    do {
      return try localStore.detach(
        query, aggregations: aggregations, wantsRemoteKeys: wantsRemoteKeys, limits: limits,
        connections: limits.connections - beside.connections)
    } catch {
      // If the cache itself has failed, the query fails on the loop, and its caller hears why.
      log(.debug, "A query cannot run beside the loop: \(error)")
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
