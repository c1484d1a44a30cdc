internal import Foundation
internal import HearthSync

/// The observers of a part of a client's state, and the times at which it is read for them.
///
/// Each reading covers the whole state, so a change does not start a reading while one runs. The pause after a reading grows with the time
/// that it took: however long that is, observing takes a bounded part of the loop's time.
struct PacedObservation<Content: Sendable> {
  typealias Event = Result<Content, NSError>

  private enum Reading {
    case none
    /// A reading is due or under way; true if something has changed since it began.
    case running(isOutdated: Bool)
  }

  var listeners: [ListenerID: Listener<Event>] = [:]
  private var reading = Reading.none
  /// Before it nothing is read.
  private var next: ContinuousClock.Instant?

  /// Something may have changed.
  ///
  /// - Returns: the pause before the next reading; nil if a reading is under way already.
  mutating func changed(now: ContinuousClock.Instant) -> Duration? {
    switch reading {
    case .running:
      reading = .running(isOutdated: true)
      return nil
    case .none:
      reading = .running(isOutdated: false)
      return next.map { max(now.duration(to: $0), .zero) } ?? .zero
    }
  }

  /// The reading begins now: changes from here on are not in it.
  mutating func begins() {
    reading = .running(isOutdated: false)
  }

  /// The reading has ended.
  ///
  /// - Returns: the pause before the next one, if one is needed.
  mutating func ended(after duration: Duration, now: ContinuousClock.Instant) -> Duration? {
    let pause = .milliseconds(10) + duration * 4
    next = now.advanced(by: pause)
    guard case .running(isOutdated: true) = reading else {
      reading = .none
      return nil
    }
    reading = .running(isOutdated: false)
    return pause
  }

  /// The observed client has ended.
  mutating func end(_ event: Event?) {
    for (_, listener) in listeners {
      if let event { listener.deliver(event) }
      listener.remove()
    }
    self = PacedObservation()
  }
}

extension RunningClient {
  /// Posts the message when the pause is over, at once if there is none.
  func post(_ message: Message, after pause: Duration) {
    guard pause > .zero else { return post(message) }
    queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { [post] in post(message) }
  }
}
