internal import HearthModel
internal import HearthStore

/// The reason to close a cache and open it again.
package enum Reopening: Equatable, Sendable {
  /// Its file cannot be used any more: opening it again sets it aside and saves the outbox.
  case fileIsDamaged(String)
  /// Its rows were repaired, but targets that are listened to have lost documents or tokens, or batches their user: what is in
  /// memory no longer agrees with the file.
  case targetsWereRepaired(String)
  /// Its files were deleted or replaced: opening it again uses what is in their place.
  case filesAreLost(String)
  /// The system could not say whether what was written has reached the disk. What is written behind it is not safe until the log was moved
  /// into the file, or the outbox into another one.
  case syncFailed(String)

  /// True for what a disk does that damages the cache again and again.
  package var isDamage: Bool {
    if case .filesAreLost = self { false } else { true }
  }

  package var reason: String {
    switch self {
    case .fileIsDamaged(let reason), .targetsWereRepaired(let reason), .filesAreLost(let reason),
      .syncFailed(let reason):
      reason
    }
  }
}

extension LocalStore {
  /// Executes one or a few transactions; when it finds damaged rows, repairs the cache and tries
  /// it once more.
  func repairing<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      guard !database.isInTransaction, try repairs(after: error) else { throw ending ?? error }
    }
    do {
      return try body()
    } catch {
      // The repair did not help, so nothing less than another file does.
      if let damage = CacheDamage(error) { fileIsDamaged(damage.reason) }
      throw error
    }
  }

  /// Notes an error that a reader beside this store has found.
  package func noteDamage(_ error: any Error) {
    _ = try? repairs(after: error)
  }

  /// - Returns: True if the cache was repaired and can be used as before.
  private func repairs(after error: any Error) throws -> Bool {
    guard case .file = database.location, reopening == nil, ending == nil, let damage = CacheDamage(error) else {
      return false
    }
    // What this release takes for damage there may be right, and readers beside this store may have read another file.
    guard isOfKnownRelease(), hasFiles() else { return false }
    guard case .rows(let reason) = damage else {
      fileIsDamaged(damage.reason)
      return false
    }
    let report: CacheRepair.Report
    do {
      report = try runTransaction("Repair cache", synchronous: .full, isRepair: true) {
        let report = try CacheRepair.run(on: self)
        try tell(of: report)
        return report
      }
    } catch let failure {
      // A full disk does not make the file a damaged one: the next use tries again.
      if let damage = CacheDamage(failure) { fileIsDamaged(damage.reason) }
      return false
    }
    repaired?("The cache was repaired: \(report). It had been found damaged: \(reason)")
    // Callers wait for the answers to batches, and views show them.
    guard report.concernsTargets && !state.targets.isEmpty || !report.setAsideBatches.isEmpty else { return true }
    reopening = .targetsWereRepaired(reason)
    return false
  }

  /// Part of a repair: tells the other clients what they have in memory of the rows, and whose callers wait for batches that were set aside.
  private func tell(of report: CacheRepair.Report) throws {
    for (batchID, user) in report.setAsideBatches {
      let message = "Pending write \(batchID) was set aside in a damaged cache, and is not sent: its user is not known."
      try tell(.batchAnswered(batchID, user: user, StatusError(code: .dataLoss, message: message)))
    }
    if report.concernsTargets || !report.setAsideBatches.isEmpty { try tell(.repaired) }
    if report.removedUserCount > 0 || report.ownerlessBatchCount > 0 { try tell(.outbox) }
  }

  /// Returns false, and ends the use of this store, if a newer release has migrated the file.
  private func isOfKnownRelease() -> Bool {
    do {
      try CacheSchema.checkVersions(in: database)
    } catch let error as StoreError where error.kind == .newerSchema {
      ending = error
      return false
    } catch {
      // The versions are damaged too.
    }
    return true
  }

  /// Looks at the versions of the tables if any table has changed. Part of the begin of a transaction.
  ///
  /// - Throws: `StoreError` `newerSchema` if a newer release has migrated the file.
  func checkSchema() throws {
    let version = try database.schemaVersion
    guard version != state.membership?.schemaVersion else { return }
    do {
      try CacheSchema.checkVersions(in: database)
    } catch let error as StoreError where error.kind == .newerSchema {
      ending = error
      throw error
    }
    state.membership?.schemaVersion = version
  }

  /// Looks whether the files that this store was opened with are still there.
  ///
  /// - Throws: `CacheError.filesAreLost`.
  package func lookForFiles() throws {
    guard let reason = lostFiles?() else { return }
    note(.filesAreLost(reason))
    throw CacheError.filesAreLost(reason: reason)
  }

  /// Has the cache opened anew after a failed sync.
  func noteFailedSync(_ error: any Error) {
    guard case .file = database.location, let error = error as? StoreError, error.isFailedSync else { return }
    failedSync = error.message
    note(.syncFailed(error.message))
  }

  private func hasFiles() -> Bool {
    do {
      try lookForFiles()
      return true
    } catch {
      return false
    }
  }

  /// Another client has repaired rows of targets in use here.
  func noteRepairByOther() {
    if !state.targets.isEmpty, reopening == nil {
      reopening = .targetsWereRepaired("another process has repaired the cache")
    }
  }

  /// Another client has found damage beyond repair.
  package func noteDamagedFile(_ reason: String) { fileIsDamaged(reason) }

  private func fileIsDamaged(_ reason: String) {
    note(.fileIsDamaged(reason))
  }
  /// The first cause is kept, except that any other replaces `targetsWereRepaired`: to open the cache anew for repaired rows cures nothing else.
  private func note(_ cause: Reopening) {
    switch reopening {
    case nil, .targetsWereRepaired: reopening = cause
    case .fileIsDamaged, .filesAreLost, .syncFailed: break
    }
  }
}
