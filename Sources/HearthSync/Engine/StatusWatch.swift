internal import HearthModel

/// Decides what observers of the status and of the outbox are notified of at the end of an event.
///
/// | in the event | observer of the outbox | observer of the status |
/// |---|---|---|
/// | the outbox has changed | notified | notified |
/// | the status is another one than the reported one | - | notified |
/// | the backend has confirmed something, and nothing is left to do | - | finds a new ``lastInSync`` |
///
/// An event without a confirmation costs nothing while nobody observes.
struct StatusWatch {
  private var observesOutbox = false
  private var observesStatus = false
  /// The status that was reported last.
  private var reported: SyncStatus?
  /// True if the event being handled has changed something that an observer of the outbox may see.
  private var outboxHasChanged = false
  /// True if the event being handled has brought a confirmation of the backend.
  private var wasConfirmed = false
  /// The device's time of the last confirmation after which nothing was left to do.
  private(set) var lastInSync: Timestamp?

  mutating func observeOutbox(_ isOn: Bool) {
    observesOutbox = isOn
  }

  /// - Parameter status: The present one, which the observer begins with.
  mutating func observeStatus(_ isOn: Bool, _ status: @autoclosure () -> SyncStatus) {
    observesStatus = isOn
    reported = isOn ? status() : nil
  }

  /// Something happened that an observer of the outbox may see.
  mutating func outboxChanges() {
    outboxHasChanged = true
  }

  /// The backend has confirmed a result or answered a write.
  mutating func backendConfirms() {
    wasConfirmed = true
  }

  /// Ends an event.
  ///
  /// - Parameters:
  ///   - wallTime: The device's time.
  ///   - isInSync: True if the backend has confirmed everything that it was asked for.
  ///   - status: The present status.
  mutating func endEvent(
    at wallTime: Timestamp, isInSync: @autoclosure () -> Bool, status: @autoclosure () -> SyncStatus
  ) -> [SyncAction] {
    defer { (outboxHasChanged, wasConfirmed) = (false, false) }
    if wasConfirmed, isInSync() { lastInSync = wallTime }
    var actions: [SyncAction] = []
    if observesStatus {
      let status = status()
      if outboxHasChanged || status != reported { actions.append(.statusChanged) }
      reported = status
    }
    if outboxHasChanged, observesOutbox { actions.append(.outboxChanged) }
    return actions
  }

  func assertInvariants() {
    assert(!outboxHasChanged && !wasConfirmed, "An event has changed what observers see, and has not ended.")
    assert(observesStatus || reported == nil, "The status \(reported as Any) is reported to nobody.")
  }
}
