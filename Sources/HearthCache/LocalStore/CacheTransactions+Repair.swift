internal import HearthModel
internal import HearthStore

/// Repairing damaged rows.
extension CacheTransactions {
  /// Executes one or a few transactions; if it finds damaged rows, repairs the cache and retries.
  func repairing<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      guard !tables.database.isInTransaction, try repairs(after: error) else { throw health.ending ?? error }
    }
    do {
      return try body()
    } catch {
      // The repair did not help, so nothing less than another file does.
      health.noteVainRepair(error)
      throw error
    }
  }

  /// - Returns: True if the cache was repaired and can be used as before.
  func repairs(after error: any Error) throws -> Bool {
    guard let reason = health.repairableRows(after: error) else { return false }
    let report: CacheRepair.Report
    do {
      report = try runOnce("Repair cache", synchronous: .full, isRepair: true) {
        let report = try CacheRepair.run(on: self)
        try tell(of: report)
        return report
      }
    } catch let failure {
      health.noteVainRepair(failure)
      return false
    }
    repaired?("The cache was repaired: \(report). It had been found damaged: \(reason)")
    // Callers wait for the answers to batches, and views show them.
    guard report.concernsTargets && !targets.isEmpty || !report.setAsideBatches.isEmpty else { return true }
    health.noteRepair(reason)
    return false
  }

  /// Part of a repair: tells the other clients what they have in memory of the rows, and whose callers wait for batches that were set aside.
  private func tell(of report: CacheRepair.Report) throws {
    for (batchID, user) in report.setAsideBatches {
      let message = "Pending write \(batchID) was set aside in a damaged cache, and is not sent: its user is unknown."
      try tell(.batchAnswered(batchID, nil, user: user, StatusError(code: .dataLoss, message: message)))
    }
    if report.concernsTargets || !report.setAsideBatches.isEmpty { try tell(.repaired) }
    if report.removedUserCount > 0 || report.ownerlessBatchCount > 0 { try tell(.outbox) }
  }
}
