internal import HearthCache
internal import HearthModel

/// Storing held writes, and the reasons why some keep waiting.
extension HeldCalls {
  /// Stores writes of one user with one commit.
  ///
  /// - Parameter keepsFormer: True if the documents before the writes are wanted.
  func store(
    _ writes: [LocalWrite], of owner: String?, keepsFormer: Bool, in localStore: LocalStore
  ) throws -> [LocalStore.StoredWrite] {
    // While some are held, none but these is stored.
    try localStore.write(
      many: writes, of: .user(owner), areDelayed: !self.writes.isEmpty, keepsFormer: writes.count > 1 && keepsFormer)
  }

  /// The next group could not be stored.
  mutating func groupFailed(_ error: any Error, now: Duration, in localStore: LocalStore) -> Step {
    noteVainWait(after: error, now: now, in: localStore)
    if localStore.isHeldByOther(error) || localStore.ending != nil { return groupFailed(.fileIsBusy) }
    return groupFailed(localStore.isBeingReplaced ? .fileIsReplaced : .write)
  }

  /// Takes note of an attempt that has waited for the file in vain, if that is what the error says.
  mutating func noteVainWait(after error: any Error, now: Duration, in localStore: LocalStore) {
    if localStore.isHeldByOther(error) { noteVainWait(now: now, busyTimeout: localStore.busyTimeout) }
  }

  /// Ends a write that no file takes.
  static func failed(_ write: LocalWrite, _ error: any Error) -> [SyncAction] {
    // In the log too, because a write may have no completion.
    [
      .log(.error, "A write was not saved: \(error)"),
      .writeNotSaved(write.id, .storage("Failed to persist write", error)),
    ]
  }
}
