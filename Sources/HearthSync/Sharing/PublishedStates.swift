internal import HearthCache
internal import HearthModel

/// The states that the primary client has published for the others: the agreement of each target with the backend, and the online state.
///
/// | event | a target's agreement | inherited |
/// |---|---|---|
/// | the role is taken over | as in the file | all watched targets |
/// | a snapshot of the backend names the target | - | no longer |
/// | a snapshot leaves the target open | unknown | no longer |
/// | the target is no longer watched | - | no longer |
/// | the client is offline | - | none |
/// | the states are published | as published | - |
///
/// The state of an inherited target was published by the former holder of the lease, and the backend has sent nothing since: an open view
/// does not revoke it.
struct PublishedStates {
  private var agreements: [TargetID: TargetAgreement]
  private var inherited: Set<TargetID>
  /// Nil if it is not published.
  private var onlineState: OnlineState?

  /// - Parameters:
  ///   - agreements: The agreements in the file.
  ///   - inherited: The targets that are watched.
  init(agreements: [TargetID: TargetAgreement] = [:], inherited: Set<TargetID> = []) {
    self.agreements = agreements
    self.inherited = inherited
  }

  /// The state of some target is known to others.
  var holdsAgreements: Bool { !agreements.isEmpty }

  /// The targets that agree with the backend as far as others know.
  func agreeing(among targets: some Sequence<TargetID>) -> [TargetID] {
    targets.filter { agreements[$0] ?? .open != .open }
  }

  /// The file says that a target is open: the next client that uses it is told again.
  mutating func forget(_ target: TargetID) {
    agreements[target] = nil
  }

  /// The file may not say any more what was published.
  mutating func forgetOnlineState() { onlineState = nil }

  /// The target is not watched any more: of its agreement nobody hears.
  mutating func watchEnds(of target: TargetID) { inherited.remove(target) }

  /// Nothing is published any more, because no other client is left to read it.
  mutating func removeAll() {
    self = PublishedStates()
  }

  /// A snapshot was stored.
  ///
  /// The store tells the others of the documents of a target with a limit, and that it is open where not everything has come. So what was
  /// published before may not be in the file any more.
  mutating func snapshotStored(_ event: RemoteEvent) {
    inherited.subtract(event.targetChanges.keys)
    let open = event.targetChanges.filter { !$0.value.isCurrent }.map(\.key) + event.targetMismatches.keys
    inherited.subtract(open)
    for target in open where agreements[target] ?? .open != .open { agreements[target] = nil }
  }

  /// Publishes what differs from what the others know.
  ///
  /// - Parameters:
  ///   - states: The agreements of the views.
  ///   - online: The online state of this client.
  ///   - store: Stores changed agreements; called first.
  ///   - storeOnline: Stores the online state if it has changed.
  /// - Throws: The error of a closure. The states that it did not store are published the next time.
  mutating func publish(
    _ states: [TargetID: TargetAgreement], _ online: OnlineState,
    store: ([TargetID: TargetAgreement]) throws -> Void, storeOnline: (OnlineState) throws -> Void
  ) rethrows {
    // Other clients that hear that it is offline take no target for one that agrees with the backend.
    if online == .offline { inherited = [] }
    var states = states
    for target in inherited where states[target] == .open { states[target] = agreements[target] }
    try store(states.filter { agreements[$0] != $1 })
    agreements = states
    guard onlineState != online else { return }
    try storeOnline(online)
    onlineState = online
  }
}
