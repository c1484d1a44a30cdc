internal import HearthCache
internal import HearthStore

extension LocalStore {
  /// True if another process holds the file; it may have been stopped in the middle of a transaction.
  func isHeldByOther(_ error: any Error) -> Bool {
    isShared && (error as? StoreError)?.kind == .unavailable
  }
}

extension CacheError {
  /// True for an error that says that another client has the lease.
  static func isLeaseLost(_ error: any Error) -> Bool {
    if case CacheError.leaseLost = error { true } else { false }
  }
}
