internal import HearthCache
internal import HearthModel

/// Notices to other clients about targets.
extension CacheMembership {
  /// Releases a target that is not listened to any more. Its row would only get a newer last-use mark and resume token, and stale ones
  /// are safe. That other clients need not watch it any more is stored later if it fails.
  func release(_ target: TargetID, unconfirmedKeys: Set<DocumentKey>, in localStore: LocalStore) -> [Action] {
    do {
      try localStore.releaseTarget(target, unconfirmedKeys: unconfirmedKeys)
      return []
    } catch {
      let consequence =
        CacheError.isLeaseLost(error)
        ? Action.loseLease : .emit(.log(.warning, "The end of target \(target) could not be stored: \(error)"))
      guard localStore.isShared else { return [consequence] }
      return [consequence, .retry(.storeTargetUses, isDue: !localStore.isHeldByOther(error))]
    }
  }

  /// Stores that the backend need not send a target on behalf of this client any more.
  func stopWatching(_ target: TargetID, in localStore: LocalStore) -> [Action] {
    noteUse(in: localStore) { try localStore.stopWatching(target) }
  }

  /// Stores that only other clients use a target now.
  func leave(_ target: TargetID, in localStore: LocalStore) -> [Action] {
    noteUse(in: localStore) { try localStore.leaveTarget(target) }
  }

  /// Until the use is stored, the backend is asked for more than is needed.
  private func noteUse(in localStore: LocalStore, _ operation: () throws -> Void) -> [Action] {
    do {
      try operation()
      return []
    } catch {
      let message = "Other clients cannot be told of the targets in use: \(error)"
      return [.emit(.log(.warning, message)), .retry(.storeTargetUses, isDue: !localStore.isHeldByOther(error))]
    }
  }

  /// Brings what the file says of the targets in use in line with the listeners: other clients may have taken targets for unused, and an end
  /// of use may not have been stored.
  ///
  /// - Parameter targets: The targets of the listeners of this client, with true for those to watch at the backend.
  func storeTargetUses(_ targets: [TargetID: Bool], in localStore: LocalStore) throws -> [Action] {
    [.move(try localStore.storeTargetUses(targets))]
  }

  /// The backend has refused a target, which concerns the other clients if this one has the streams.
  func publishRejection(of target: TargetID, _ error: StatusError, in localStore: LocalStore) -> [Action] {
    guard isPrimary else { return [] }
    do {
      try localStore.publishRejection(of: target, error)
      return []
    } catch {
      // The backend is asked for the target again, and then they are notified.
      let message = "Other clients cannot be told that the backend has refused target \(target): \(error)"
      return [.emit(.log(.warning, message)), .retry(.followOthers, isDue: true)]
    }
  }
}
