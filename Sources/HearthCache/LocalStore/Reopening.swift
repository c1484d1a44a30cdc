/// The reason to close a cache and open it again.
package enum Reopening: Equatable, Sendable {
  /// Its file cannot be used any more: opening it again sets it aside and saves the outbox.
  case fileIsDamaged(String)
  /// Its rows were repaired, but targets that are listened to have lost documents or tokens, or batches their user: what is in
  /// memory no longer agrees with the file.
  case targetsWereRepaired(String)
  /// Its files were deleted or replaced: opening it again uses what is in their place.
  case filesAreLost(String)
  /// A sync failed, so it is unknown whether earlier writes have reached the disk. Later writes are not safe until a checkpoint has copied
  /// the log into the file, or the outbox was saved into another file.
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
