internal import HearthModel
internal import Logging
internal import Synchronization

/// Follows a wall clock, but does not follow a jump ahead at once.
///
/// Commit times never go back. If the clock is ahead for a moment, for example because of a wrong time server, all later commits would be
/// affected until real time has caught up. So a jump ahead counts only after it has lasted for a while; until then time continues at its
/// former pace. A jump back needs no special treatment here: durations are measured with ``ServerClock/elapsedMicroseconds``.
struct SteadyClock {
  enum Event: Equatable {
    /// The clock has jumped by so many microseconds, ahead or (negative) back.
    case jumped(Int64)
    /// A jump ahead has lasted and counts from now on.
    case followed(Int64)
  }

  /// Differences up to this are those of a clock that is being adjusted.
  static let toleranceMicroseconds: Int64 = 10_000_000
  /// The time after which a jump ahead counts.
  static let trialMicroseconds: Int64 = 60_000_000

  private struct Reading {
    var wall: Int64
    var elapsed: Int64

    /// The difference to what the time that has elapsed would give.
    func jump(to later: Reading) -> Int64 { later.wall - wall - (later.elapsed - elapsed) }
  }

  private var last: Reading
  /// The first reading after a jump ahead that does not count yet.
  private var trial: Reading?

  init(wall: Int64, elapsed: Int64) {
    last = Reading(wall: wall, elapsed: elapsed)
  }

  /// The time that counts.
  ///
  /// - Parameters:
  ///   - wall: Microseconds since 1970.
  ///   - elapsed: Microseconds of a clock that is never set. It goes on while the machine sleeps.
  mutating func time(wall: Int64, elapsed: Int64) -> (time: Int64, event: Event?) {
    let present = Reading(wall: wall, elapsed: elapsed)
    let jump = last.jump(to: present)
    guard jump > Self.toleranceMicroseconds else {
      last = present
      trial = nil
      return (wall, jump < -Self.toleranceMicroseconds ? .jumped(jump) : nil)
    }
    guard let begun = trial, abs(begun.jump(to: present)) <= Self.toleranceMicroseconds else {
      trial = present
      return (wall - jump, .jumped(jump))
    }
    guard elapsed - begun.elapsed >= Self.trialMicroseconds else { return (wall - jump, nil) }
    last = present
    trial = nil
    return (wall, .followed(jump))
  }
}

extension ServerClock {
  /// A clock that follows this one, with jumps bounded and logged. One that a test moves stays as it is.
  func steady(logger: Logger) -> ServerClock {
    guard let elapsed else { return self }
    let now = now
    let clock = Mutex(SteadyClock(wall: now().microseconds, elapsed: elapsed()))
    let steady: @Sendable () -> Timestamp = {
      let (time, event) = clock.withLock { $0.time(wall: now().microseconds, elapsed: elapsed()) }
      switch event {
      case .jumped(let distance):
        logger.warning(
          "the system's clock has jumped",
          metadata: ["seconds": "\(Double(distance) / 1e6)", "counts": "\(distance < 0 ? "at once" : "if it lasts")"])
      case .followed(let distance):
        logger.warning(
          "a jump of the clock has lasted and counts now", metadata: ["seconds": "\(Double(distance) / 1e6)"])
      case nil: break
      }
      return Timestamp(microseconds: time)
    }
    return ServerClock(now: steady, elapsed: elapsed)
  }
}
