internal import Logging
internal import Synchronization

/// Lets one line of a kind into the log in ten seconds, however often clients cause it.
final class LogPace: Sendable {
  private struct State {
    var next: ContinuousClock.Instant?
    /// The lines since the latest one that was logged.
    var untold = 0
  }

  private static let interval = Duration.seconds(10)

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.now = now
  }

  /// The metadata of a line about a client.
  ///
  /// - Parameter client: Nil if its address is not known.
  /// - Returns: Nil if the line is not logged. It is counted, and the next one that is logged tells the number.
  func metadata(of client: ClientNetwork?, reason: String) -> Logger.Metadata? {
    guard let untold = next() else { return nil }
    var metadata: Logger.Metadata = [
      "address": .escaped(client.map(\.description) ?? "unknown"), "reason": .escaped(reason),
    ]
    metadata.note(untold: untold)
    return metadata
  }

  /// - Returns: The number of lines that were not logged before this one; nil if this one is not logged either.
  func next() -> Int? {
    let now = now()
    return state.withLock { state -> Int? in
      if let next = state.next, now < next {
        state.untold += 1
        return nil
      }
      defer { state = State(next: now + Self.interval) }
      return state.untold
    }
  }
}

extension Logger.Metadata {
  /// Adds the number of equal lines that were not logged before this one.
  mutating func note(untold: Int) {
    if untold > 0 { self["not-logged-before"] = "\(untold)" }
  }
}
