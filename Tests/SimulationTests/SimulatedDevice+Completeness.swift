import HearthModel
import HearthSync

extension SimulatedDevice {
  /// Compares what a snapshot says of its completeness with what the backend had at that time.
  ///
  /// A document may be missing for good reasons: a pending write has changed it, the backend has a later version of it, which the device
  /// may know, or local changes have pushed it out of a limit.
  func checkCompleteness(of snapshot: ViewSnapshot) {
    guard !world.history.isDamaged, case .complete(asOf: let version) = snapshot.completeness, version > .none else {
      return
    }
    let shown = Set(snapshot.documents.map(\.key))
    let missing = world.backend.run(snapshot.query, at: version.microseconds).filter { !shown.contains($0.key) }
    guard !missing.isEmpty, !isFilledWithChanges(snapshot, since: version) else { return }
    let written = Set(pendingQueues().flatMap { $0 }.flatMap(\.mutations).map(\.key))
    let lost = missing.filter { document in
      !written.contains(document.key) && world.backend.document(document.key).version <= version
    }
    guard !lost.isEmpty else { return }
    fail(
      "a result of \(snapshot.query.canonicalID) calls itself complete as of \(version.microseconds), without \(lost.map(\.brief))"
    )
  }

  private func isFilledWithChanges(_ snapshot: ViewSnapshot, since version: SnapshotVersion) -> Bool {
    snapshot.query.limit == snapshot.documents.count
      && snapshot.documents.contains { $0.hasPendingWrites || $0.version > version }
  }
}
