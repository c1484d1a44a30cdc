internal import HearthCache
internal import HearthStore

extension LocalStore {
  /// True if another process holds the file; it may have been stopped in the middle of a transaction.
  func isHeldByOther(_ error: any Error) -> Bool {
    isShared && (error as? StoreError)?.kind == .unavailable
  }

  /// False for errors that the next target would have, too, perhaps after a long wait.
  func mayConcernOneTarget(_ error: any Error) -> Bool {
    !CacheError.isLeaseLost(error) && !isHeldByOther(error)
  }

  /// True if damage was found in the cache and its owner is about to reopen it: whatever fails now can succeed in the cache after that.
  /// The next engine gets what is held. Or the client is about to end, and reports what is held as not saved.
  var isBeingReplaced: Bool { reopening != nil || ending != nil }
}

extension CacheError {
  /// True for an error that says that another client has the lease.
  static func isLeaseLost(_ error: any Error) -> Bool {
    if case CacheError.leaseLost = error { true } else { false }
  }
}
