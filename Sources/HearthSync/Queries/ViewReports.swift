internal import HearthCache

/// The changes that views report while they are refreshed. They are stored once, after all views.
struct ViewReports {
  /// Nil while no view changes.
  private var changes: [LocalViewChanges]?

  /// The views are about to change. No change of a view may cause another one before ``end()``.
  mutating func begin() {
    assert(changes == nil, "The views are refreshed while they are refreshed.")
    changes = []
  }

  mutating func add(_ more: [LocalViewChanges]) {
    assert(changes != nil, "A view changes while the views are not refreshed: \(more).")
    changes?.append(contentsOf: more)
  }

  /// Called when all views have changed. Returns the changes to store.
  mutating func end() -> [LocalViewChanges] {
    defer { changes = nil }
    return changes ?? []
  }
}
