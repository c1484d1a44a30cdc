internal import HearthStore

extension LocalStore {
  /// Runs a body in which everything that is read from the cache belongs to one state of the file, with the news up to that state.
  ///
  /// Without other clients, nothing changes the file in between anyway. If the file cannot be read, the body runs all the same, and its own
  /// reading fails.
  package func withOneState<T>(_ body: () -> T) -> T {
    guard isShared, !database.isInTransaction else { return body() }
    let before = state
    var result: T?
    do {
      try database.readTransaction("Read one state") {
        try beginShared(needsLease: false)
        result = body()
      }
    } catch {
      // Nothing was written that the failure could undo.
      if result == nil { state = before }
    }
    return result ?? body()
  }
}
