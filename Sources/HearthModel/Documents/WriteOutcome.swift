/// The outcome of a write: the answer of the backend, or the end without one.
package enum WriteOutcome: Equatable, Sendable {
  /// The backend has committed it: at which version, and with one result for each mutation, in order. The conflicts were resolved before.
  case committed(SnapshotVersion, [MutationResult], conflicts: [KeptConflict] = [])
  /// The backend has refused it, or it was given up with this error.
  case failed(StatusError)
}
