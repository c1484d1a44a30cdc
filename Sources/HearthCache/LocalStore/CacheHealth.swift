internal import HearthStore

/// Decides whether the file of a cache can be used, must be reopened, or must be left unchanged.
///
/// Findings of a transaction about the file are kept when that transaction fails.
final class CacheHealth {
  private let database: Database
  /// The reason to open the cache again; nil while this one can be used.
  private(set) var reopening: Reopening?
  /// The reason why this store must be given up, and its file left as it is: a newer release has migrated it, or others use it with another
  /// backend. Nil while it can be used.
  private(set) var ending: (any Error)?
  /// The reason of a failed sync: what is written behind it is not safe, whatever else was found before. Nil if none has failed.
  private var failedSync: String?
  /// Looks for the files that the database was opened with: the reason why they are lost, or nil. Nil for a cache in memory.
  var lostFiles: (() -> String?)?

  init(of database: Database) {
    self.database = database
  }

  private var hasFile: Bool {
    if case .file = database.location { true } else { false }
  }

  // MARK: - Before and after a transaction

  /// Throws the reason why a transaction cannot begin.
  ///
  /// - Parameter isDurable: True for one after which a caller is told that something is saved.
  func checkBeforeTransaction(isDurable: Bool) throws {
    if let ending { throw ending }
    guard isDurable else { return }
    try lookForFiles()
    if let failed = database.failedCheckpoint {
      noteFailedSync(failed)
      throw failed
    }
    // The system reports a failed sync once: what is written behind it seems to be safe.
    if let failedSync { throw StoreError(kind: .io, message: failedSync) }
  }

  /// Notes a checkpoint that has failed after a commit.
  func noteFailedCheckpoint() {
    if let failed = database.failedCheckpoint { noteFailedSync(failed) }
  }

  /// Has the cache reopened after a failed sync.
  func noteFailedSync(_ error: any Error) {
    guard hasFile, let error = error as? StoreError, error.isFailedSync else { return }
    failedSync = error.message
    note(.syncFailed(error.message))
  }

  // MARK: - The files

  /// Looks whether the files that the database was opened with are still there.
  ///
  /// - Throws: `CacheError.filesAreLost`.
  func lookForFiles() throws {
    guard let reason = lostFiles?() else { return }
    note(.filesAreLost(reason))
    throw CacheError.filesAreLost(reason: reason)
  }

  private func hasFiles() -> Bool {
    do {
      try lookForFiles()
      return true
    } catch {
      return false
    }
  }

  // MARK: - The tables

  /// Looks at the versions of the tables.
  ///
  /// - Throws: `StoreError` `newerSchema` if a newer release has migrated the file.
  func checkVersions() throws {
    do {
      try CacheSchema.checkVersions(in: database)
    } catch let error as StoreError where error.kind == .newerSchema {
      ending = error
      throw error
    }
  }

  /// Ends the use of this store: others have opened the file with another backend, which must get none of this client's writes.
  func noteOtherBackend(_ error: CacheError) { ending = error }

  /// Returns false, and ends the use of this store, if a newer release has migrated the file.
  private func isOfKnownRelease() -> Bool {
    do {
      try checkVersions()
    } catch let error as StoreError where error.kind == .newerSchema {
      return false
    } catch {
      // The versions are damaged too.
    }
    return true
  }

  // MARK: - Damage

  /// The damage that a repair may cure; nil if the error is none, or another file is needed.
  func repairableRows(after error: any Error) -> String? {
    guard hasFile, reopening == nil, ending == nil, let damage = CacheDamage(error) else { return nil }
    // Data that this release takes for damage may be valid in another release, and readers outside this store may have read another file.
    guard isOfKnownRelease(), hasFiles() else { return nil }
    guard case .rows(let reason) = damage else {
      noteDamagedFile(damage.reason)
      return nil
    }
    return reason
  }

  /// Notes that a repair has failed or has not helped. A full disk does not make the file a damaged one: the next use tries again.
  func noteVainRepair(_ error: any Error) {
    if let damage = CacheDamage(error) { noteDamagedFile(damage.reason) }
  }

  func noteDamagedFile(_ reason: String) { note(.fileIsDamaged(reason)) }

  /// Notes that rows were repaired that are in memory: of targets in use here, or of batches for which callers wait.
  func noteRepair(_ reason: String) {
    if reopening == nil { reopening = .targetsWereRepaired(reason) }
  }

  /// Forgets a repair that nothing in memory could disagree with.
  ///
  /// - Returns: False if that was not the reason to open the cache again.
  func forgetRepair() -> Bool {
    guard case .targetsWereRepaired = reopening else { return false }
    reopening = nil
    return true
  }

  /// The first cause is kept, except that any other replaces `targetsWereRepaired`: to reopen the cache for repaired rows cures nothing else.
  private func note(_ cause: Reopening) {
    switch reopening {
    case nil, .targetsWereRepaired: reopening = cause
    case .fileIsDamaged, .filesAreLost, .syncFailed: break
    }
  }
}
