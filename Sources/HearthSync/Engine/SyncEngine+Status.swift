internal import HearthCache
package import HearthModel

extension SyncEngine {
  /// What the engine remembers for those who watch its status.
  struct StatusWatch {
    var isOn = false
    /// The status that was reported last.
    var reported: SyncStatus?
    /// True if the event being handled has brought a confirmation of the backend.
    var wasConfirmed = false
    /// The device's time of the last confirmation after which nothing was left to do.
    var lastInStep: Timestamp?
  }

  /// The device's time when the backend last confirmed a result or answered a write and nothing was left to do; nil if that has not
  /// happened. Only of the client that has the streams.
  package var lastInStep: Timestamp? { statusWatch.lastInStep }

  /// The writes that wait in memory, because another process holds the file.
  package var heldWriteCount: Int {
    heldWrites.lazy.filter { LocalStore.isSameUser($0.owner, self.signedInUser) }.count
  }

  /// The writes of all users that wait in memory, oldest first. After ``SyncEvent/shutdown`` those that could not be stored.
  package var heldWriteIDs: [WriteID] { heldWrites.map(\.write.id) }

  package var status: SyncStatus { SyncStatus(connection: connection, work: work) }

  func observeStatus(_ isOn: Bool) {
    statusWatch.isOn = isOn
    // The observer begins with what is there.
    statusWatch.reported = isOn ? status : nil
  }

  /// Ends an event: remembers when all was in step, and tells an observer of a change. Costs nothing for events without a confirmation
  /// while nobody observes.
  func noteStatus() {
    defer { statusWatch.wasConfirmed = false }
    if statusWatch.wasConfirmed, isPrimary, link.hasNothingToSend, heldWrites.isEmpty, connection == .inStep {
      statusWatch.lastInStep = wallTime
    }
    guard statusWatch.isOn else { return }
    let status = status
    guard outboxHasChanged || status != statusWatch.reported else { return }
    statusWatch.reported = status
    emit(.statusChanged)
  }

  // MARK: - Connection

  private var connection: SyncConnection {
    if let obstacle = connectionObstacle { return .offline(obstacle) }
    guard heldListens.isEmpty, backgroundQueries.listenQueries.isEmpty, !views.waitForBackend else {
      return .connecting
    }
    if isPrimary { return link.watchesInStep ? .inStep : .connecting }
    // The state that the primary client has published.
    return link.onlineState == .online || !views.wantBackend ? .inStep : .connecting
  }

  private var connectionObstacle: OutboxObstacle? {
    // The network of a secondary client is that of the primary one.
    let isOffline = link.onlineState == .offline
    if link.isForbidden(for: .disabledByUser), isPrimary || isOffline { return .networkDisabled }
    if link.isForbidden(for: .storageFailure) || link.isForbidden(for: .snapshotFailure)
      || link.isForbidden(for: .outboxFailure)
    {
      return .cacheFailure
    }
    if isPrimary, link.failsToWrite { return .offline(link.lastWriteError) }
    return isOffline ? .offline(isPrimary ? link.lastWatchError : nil) : nil
  }

  // MARK: - Work

  private var work: [SyncWork] {
    var work: [SyncWork] = []
    if isFillingIndexes { work.append(.indexFilling(steps: indexFillSteps)) }
    if let run = garbageCollection, run.report.hasCollected || run.report.releasedBytes > 0 {
      work.append(.garbageCollection(removedDocuments: run.report.removedDocumentCount))
    }
    for (id, loader) in bundles.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      if let loader { work.append(.bundle(id, loader.currentProgress)) }
    }
    return work
  }
}
