internal import HearthCache
internal import HearthModel

/// Bringing the views up to date with the cache.
extension SyncEngine {
  /// Shows changed documents in all views, as one round of snapshots.
  ///
  /// - Parameter event: The snapshot of the backend that changed them, if it was one.
  /// - Returns: The error if a view could not be brought up to date; the refresh is then in the retry queue.
  @discardableResult
  func refreshViews(_ changes: DocumentMap, event: RemoteEvent? = nil) -> (any Error)? {
    refresh { news in
      apply(news.around(changes), event: self.event(event, and: news), refill: execute)
    }
  }

  /// Shows writes that were stored together, one after the other.
  ///
  /// - Parameter stored: The result of storing each write, with the documents before it if ``QueryViews/mayReadCache`` is true.
  func refreshViews(after writes: [LocalWrite], _ stored: [LocalStore.StoredWrite]) {
    refresh { news in
      guard news.after.changes.isEmpty else {
        // Another client has changed documents since: the states between the writes cannot be read any more, only the one after all.
        for (write, result) in zip(writes, stored) { noteStored(write, result) }
        let changes = stored.reduce(into: DocumentMap()) { $0.merge($1.changes) { _, new in new } }
        return apply(news.around(changes), event: event(nil, and: news), refill: execute)
      }
      var group = views.mayReadCache ? WriteGroup(of: stored) : nil
      var failure: (any Error)?
      for (index, (write, result)) in zip(writes, stored).enumerated() {
        noteStored(write, result)
        group?.advance(by: result.changes)
        let isFirst = index == 0
        let changes = isFirst ? news.around(result.changes) : result.changes
        failure = apply(changes, event: isFirst ? event(nil, and: news) : nil) { query in
          try group?.result(of: query, execute: execute) ?? execute(query)
        }
      }
      return failure
    }
  }

  /// The changes of other clients that belong to what is shown.
  private struct Surroundings {
    /// Gathered when the changes were stored.
    var before: News
    /// Gathered since, at the state of the file that views read.
    var after: News

    func around(_ changes: DocumentMap) -> DocumentMap {
      var all = before.changes.isEmpty ? changes : before.changes.merging(changes) { _, new in new }
      if !after.changes.isEmpty { all.merge(after.changes) { _, new in new } }
      return all
    }
  }

  /// Changes the views. What they read from the cache, and what they show, is one state of it.
  ///
  /// - Parameter body: Changes them, and returns the error if one could not be brought up to date. Must not write the cache.
  @discardableResult
  private func refresh(_ body: (Surroundings) -> (any Error)?) -> (any Error)? {
    views.reports.begin()
    var news = Surroundings(before: localStore.takeNews(), after: News())
    take(answers: news.before.answers)
    let failure =
      localStore.isShared && views.mayReadCache
      ? localStore.withOneState { () -> (any Error)? in
        news.after = localStore.takeNews()
        take(answers: news.after.answers)
        return body(news)
      } : body(news)
    report(views.reports.end())
    // In a transaction no repair was possible.
    if let failure { localStore.noteDamage(failure) }
    follow(news.before)
    follow(news.after)
    return failure
  }

  private func apply(
    _ changes: DocumentMap, event: RemoteEvent?, refill: (Query) throws -> DocumentMap
  ) -> (any Error)? {
    // A result that is being computed does not have these changes.
    queryRuns.note(changes)
    if event != nil { statusWatch.backendConfirms() }
    let (viewActions, failure) = views.apply(changes, event: event, refill: refill) { keys in
      try localStore.queries.writtenDocuments(among: keys)
    }
    follow(viewActions)
    if let failure { refreshViewsLater(after: failure) }
    return failure
  }

  private func refreshViewsLater(after failure: any Error) {
    guard !retries.holds(.refreshViews) else { return }
    log(.error, "Views could not be read from the cache: \(failure)")
    retry(.refreshViews)
  }

  /// Lets a view that has got its first listener say whether it is answered.
  func lookForOwnWrites(of query: Query) {
    guard let keys = views.keysOfPossibleGap(of: query) else { return }
    var written: [DocumentKey: WrittenDocument]?
    do {
      written = try localStore.queries.writtenDocuments(among: keys)
      // The view does not show the news yet. When it does, that is decided.
      if localStore.hasNews { written = nil }
    } catch {
      refreshViewsLater(after: error)
    }
    views.noteOwnWrites(written, of: query)
  }

  private func execute(_ query: Query) throws -> DocumentMap {
    try localStore.execute(query, usePreviousResults: false).documents
  }

  /// What the primary client says of the targets, at another one. Views take over the keys that it has stored.
  ///
  /// - Parameter event: A snapshot of the backend at the primary client; at another one the agreements of targets, whose keys the views
  ///   have, read from the file after the former part of the news and before the latter.
  private func event(_ event: RemoteEvent?, and news: Surroundings) -> RemoteEvent? {
    guard !isPrimary else { return event }
    let keys = news.before.confirmedKeys.filter { event?.targetChanges[$0.key] == nil }
    for (target, keys) in keys.merging(news.after.confirmedKeys, uniquingKeysWith: { _, newer in newer }) {
      views.takeOver(keys, of: target)
    }
    let before = RemoteEvent(agreements: news.before.targetStates)
    let after = RemoteEvent(agreements: news.after.targetStates)
    guard var all = event ?? before ?? after else { return nil }
    all.targetChanges.merge(before?.targetChanges ?? [:]) { read, _ in read }
    all.targetChanges.merge(after?.targetChanges ?? [:]) { _, newer in newer }
    return all
  }

  /// Stores what the views show now, in a second transaction: it follows from what was stored, and is only a help for later
  /// queries. So a failure is of no consequence.
  private func report(_ changes: [LocalViewChanges]) {
    guard !changes.isEmpty else { return }
    do {
      try localStore.notifyLocalViewChanges(changes)
    } catch {
      if !leaseIsLost(error) { log(.warning, "What the views show could not be stored: \(error)") }
    }
  }

  /// Shows documents as the cache has them, later if it cannot be read.
  func reread(_ keys: Set<DocumentKey>) {
    views.noteUnread(keys)
    do {
      try reread()
    } catch {
      log(.error, "Views could not be read from the cache: \(error)")
      retryOnce(.refreshViews)
    }
  }

  /// Shows the documents that could not be read before.
  func reread() throws {
    guard !views.unreadKeys.isEmpty else { return }
    let documents = try localStore.state(of: [], on: [], showing: views.unreadKeys).documents
    views.noteRead()
    refreshViews(documents)
  }
}

extension WriteGroup {
  fileprivate init(of stored: [LocalStore.StoredWrite]) {
    self.init(former: stored.reduce(into: [:]) { $0.merge($1.former) { first, _ in first } })
  }
}
