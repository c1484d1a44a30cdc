internal import HearthCache
internal import HearthModel

/// Bringing the views up to date with the cache.
extension SyncEngine {
  /// Shows changed documents in all views, as one round of snapshots.
  ///
  /// - Parameters:
  ///   - event: The snapshot of the backend that changed them, if it was one.
  ///   - isReversal: True if a write has gone from them without an effect.
  /// - Returns: The error if a view could not be brought up to date; the refresh is then in the retry queue.
  @discardableResult
  func refreshViews(_ changes: DocumentMap, event: RemoteEvent? = nil, isReversal: Bool = false) -> (any Error)? {
    if isReversal { views.release(reverted: changes) }
    return refresh { news in
      var group: WriteGroup?
      let event = views.takeOver(news, around: event, isPrimary: isPrimary)
      return apply(news.around(changes), event: event, amid: &group)
    }
  }

  /// Shows writes that were stored together, one after the other.
  ///
  /// - Parameter stored: The result of storing each write, with the documents before it if ``QueryViews/mayReadCache`` is true.
  func refreshViews(after writes: [LocalWrite], _ stored: [LocalStore.StoredWrite]) {
    refresh { news in
      guard news.after.changes.isEmpty else {
        // Another client has changed documents since: the states between the writes cannot be read any more, only the one after all.
        for write in writes { follow(WriteWaits.stored(write)) }
        let changes = stored.reduce(into: DocumentMap()) { $0.merge($1.changes) { _, new in new } }
        let event = views.takeOver(news, around: nil, isPrimary: isPrimary)
        var group: WriteGroup?
        return apply(news.around(changes), event: event, amid: &group)
      }
      var group = views.mayReadCache ? WriteGroup(of: stored) : nil
      var failure: (any Error)?
      for (index, (write, result)) in zip(writes, stored).enumerated() {
        follow(WriteWaits.stored(write))
        group?.advance(by: result.changes)
        let isFirst = index == 0
        let changes = isFirst ? news.around(result.changes) : result.changes
        let event = isFirst ? views.takeOver(news, around: nil, isPrimary: isPrimary) : nil
        failure = apply(changes, event: event, amid: &group)
      }
      return failure
    }
  }

  /// Changes the views. What they read from the cache, and what they show, is one state of it.
  ///
  /// - Parameter body: Changes them, and returns the error if one could not be brought up to date. Must not write the cache.
  @discardableResult
  private func refresh(_ body: (SurroundingNews) -> (any Error)?) -> (any Error)? {
    views.reports.begin()
    var news = SurroundingNews(before: localStore.takeNews(), after: News())
    follow(waits.answeredElsewhere(news.before.answers, of: signedInUser, in: localStore))
    func show(_ news: SurroundingNews) -> (any Error)? {
      // Writes of this user that other clients have taken back or seen refused.
      if news.hasReverts { views.release(reverted: news.around([:])) }
      return body(news)
    }
    let failure =
      localStore.isShared && views.mayReadCache
      ? localStore.withOneState { () -> (any Error)? in
        news.after = localStore.takeNews()
        follow(waits.answeredElsewhere(news.after.answers, of: signedInUser, in: localStore))
        return show(news)
      } : show(news)
    follow(views.storeReports(in: localStore))
    // In a transaction no repair was possible.
    if let failure { localStore.noteDamage(failure) }
    follow(news.before)
    follow(news.after)
    return failure
  }

  private func apply(
    _ changes: DocumentMap, event: RemoteEvent?, amid group: inout WriteGroup?
  ) -> (any Error)? {
    // A result that is being computed does not have these changes.
    queryRuns.note(changes)
    if event != nil { statusWatch.backendConfirms() }
    let (viewActions, failure) = views.apply(changes, event: event, from: localStore, amid: &group)
    follow(viewActions)
    return failure
  }
}

extension WriteGroup {
  fileprivate init(of stored: [LocalStore.StoredWrite]) {
    self.init(former: stored.reduce(into: [:]) { $0.merge($1.former) { first, _ in first } })
  }
}
