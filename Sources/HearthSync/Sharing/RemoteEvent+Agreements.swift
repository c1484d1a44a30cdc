internal import HearthCache
internal import HearthModel

extension RemoteEvent {
  /// The event that shows how far targets agree with the backend; nil without any target.
  init?(agreements: [TargetID: TargetAgreement]) {
    guard !agreements.isEmpty else { return nil }
    self.init(
      snapshotVersion: .none,
      targetChanges: agreements.mapValues {
        var change = TargetChange(isCurrent: $0 != .open)
        change.isDisputed = $0 == .disputed
        return change
      })
  }
}
