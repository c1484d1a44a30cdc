internal import HearthModel

/// Decides when a database announces the present time as a version, see ``EmbeddedStorage/catchUpFeed(seen:)``.
struct Announcements: Sendable {
  /// True until the first listener of a start has one, or it could not be made.
  private var awaitsListener: Bool
  /// The time of the latest one for a listener that has seen a later version, made or not, in microseconds of a clock that never goes back.
  private var latestAttempt: Int64?

  /// - Parameter isNew: True for a database that has just been created: nobody has seen anything of it.
  init(isNew: Bool) {
    awaitsListener = !isNew
  }

  /// True if a listener may have to get a later version.
  ///
  /// - Parameters:
  ///   - seen: The latest version that it has seen; nil if it says nothing of it.
  ///   - latest: The version that it would get.
  func mayBeDue(seen: SnapshotVersion?, latest: SnapshotVersion) -> Bool {
    awaitsListener || seen.map { $0 > latest } ?? false
  }

  /// Takes note of an attempt.
  ///
  /// - Parameters:
  ///   - present: The version that would be announced.
  ///   - now: The time of a clock that never goes back, in microseconds.
  /// - Returns: False if there must be none. For what listeners have seen there is one a second at most: they may make that up.
  mutating func begin(
    seen: SnapshotVersion?, latest: SnapshotVersion, present: SnapshotVersion, at now: Int64
  ) -> Bool {
    if awaitsListener { return true }
    guard let seen, seen > latest, seen <= present, latestAttempt.map({ now - $0 >= 1_000_000 }) ?? true else {
      return false
    }
    latestAttempt = now
    return true
  }

  /// Takes note of the end of an attempt. Until then, the listeners that come wait for it.
  mutating func end() {
    awaitsListener = false
  }
}
