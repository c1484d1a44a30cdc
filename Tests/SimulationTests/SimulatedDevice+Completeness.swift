import HearthModel
import HearthSync

extension SimulatedDevice {
  /// Compares what a snapshot says of its completeness with what the backend had at that time, also beyond a limit.
  ///
  /// A document may be missing for good reasons: a pending write has changed it, the backend has a later version of it, which the device
  /// may know, or it is beyond a limit that others fill.
  func checkCompleteness(of snapshot: ViewSnapshot) {
    guard !world.history.isDamaged, case .complete(asOf: let version) = snapshot.completeness, version > .none else {
      return
    }
    var unlimited = snapshot.query
    unlimited.limit = nil
    let shown = Set(snapshot.documents.map(\.key))
    let missing = world.backend.run(unlimited, at: version.microseconds).filter { document in
      !shown.contains(document.key) && !isBeyondLimit(document, of: snapshot)
    }
    guard !missing.isEmpty else { return }
    let written = Set(pendingQueues().flatMap { $0 }.flatMap(\.mutations).map(\.key))
    let lost = missing.filter { document in
      !written.contains(document.key) && world.backend.document(document.key).version <= version
    }
    guard !lost.isEmpty else { return }
    fail(
      """
      a result of \(snapshot.query.canonicalID) calls itself complete as of \(version.microseconds), without \
      \(lost.map(\.brief))
      """)
  }

  private func isBeyondLimit(_ document: Document, of snapshot: ViewSnapshot) -> Bool {
    guard snapshot.query.limit == snapshot.documents.count,
      let edge = snapshot.query.edge(first: snapshot.documents.first, last: snapshot.documents.last)
    else { return false }
    return snapshot.query.sorts(document, beyond: edge)
  }
}
