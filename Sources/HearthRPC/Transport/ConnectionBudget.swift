internal import NIOCore

/// Distinguishes normal use of a connection from a flood, by the cost and the content of its frames.
///
/// One method for each event; those that can exceed a limit return the reason as ``Excess``.
struct ConnectionBudget {
  /// The limit that was exceeded; the text goes to the peer with GOAWAY.
  enum Excess: String {
    /// The text that gRPC gives to this (gRFC A8); Go clients then ping less often.
    case pings = "too_many_pings"
    case unsentPingAnswers = "ping_answers_not_read"
    case resets = "too_many_resets"
    case emptyFrames = "too_many_empty_frames"
    case strayFrames = "too_much_data_for_closed_streams"
    case settings = "too_many_settings"

    var limit: ServerLimit {
      switch self {
      case .pings: .pings
      case .unsentPingAnswers: .unsentPingAnswers
      case .resets: .resets
      case .emptyFrames, .settings: .emptyFrames
      case .strayFrames: .strayFrames
      }
    }
  }

  private let limits: ConnectionLimits
  private var busyPings: TokenBucket
  private var idlePings: TokenBucket
  private var resets: TokenBucket
  private var emptyFrames: TokenBucket
  private var strayFrames: TokenBucket
  /// Pings that frames of calls have paid for.
  private var paidPings = 0
  /// Small updates of windows that messages to the client have paid for.
  private var paidUpdates = 0
  private var unsentPingAnswers = 0
  private var openStreams = 0
  private var lastCallEnded: NIODeadline?

  init(limits: ConnectionLimits, now: NIODeadline) {
    self.limits = limits
    busyPings = TokenBucket(limits.busyPings, now: now)
    idlePings = TokenBucket(limits.idlePings, now: now)
    resets = TokenBucket(limits.resets, now: now)
    emptyFrames = TokenBucket(limits.emptyFrames, now: now)
    strayFrames = TokenBucket(limits.strayFrames, now: now)
  }

  /// HEADERS or DATA with content went in either direction.
  mutating func callFramePassed() {
    paidPings = min(paidPings + 1, limits.busyPings.burst)
  }

  mutating func streamOpened() {
    openStreams += 1
    emptyFrames.giveBack()
    payForUpdates()
  }

  /// Bytes went to the client, and none of the client's windows has cut them short.
  mutating func responseSent() {
    payForUpdates()
  }

  /// The maximum number of WINDOW_UPDATE frames that grpc-core sends for a message: for the stream one for the message's head and one for
  /// its content, for the connection with the next frame that it sends (src/core/ext/transport/chttp2/transport/flow_control.cc).
  private static let updatesPerMessage = 4

  private mutating func payForUpdates() {
    paidUpdates = min(paidUpdates + Self.updatesPerMessage, limits.busyPings.burst)
  }

  /// WINDOW_UPDATE of less than ``ConnectionLimits/smallUpdateBytes``. Go, Java and Node update when a quarter or half of the window is
  /// used up; grpc-core gives back each message that it has read.
  mutating func smallUpdate(at now: NIODeadline) -> Excess? {
    if paidUpdates > 0 {
      paidUpdates -= 1
      return nil
    }
    return emptyFrame(at: now)
  }

  /// - Parameter wasReset: the client ended it before the server did.
  mutating func streamEnded(wasReset: Bool, at now: NIODeadline) {
    openStreams -= 1
    lastCallEnded = now
    if !wasReset { resets.giveBack() }
  }

  /// The client reset a stream, open or over, or opened one more than it may.
  mutating func streamReset(at now: NIODeadline) -> Excess? {
    resets.take(at: now) ? nil : .resets
  }

  mutating func emptyFrame(at now: NIODeadline) -> Excess? {
    emptyFrames.take(at: now) ? nil : .emptyFrames
  }

  mutating func strayFrame(at now: NIODeadline) -> Excess? {
    strayFrames.take(at: now) ? nil : .strayFrames
  }

  /// - Parameter canSend: false while the peer does not take what is sent to it.
  mutating func ping(at now: NIODeadline, canSend: Bool) -> Excess? {
    if canSend {
      unsentPingAnswers = 0
    } else {
      unsentPingAnswers += 1
      if unsentPingAnswers > limits.unsentPingAnswers { return .unsentPingAnswers }
    }
    if paidPings > 0 {
      paidPings -= 1
      return nil
    }
    let isAllowed = hasCalls(at: now) ? busyPings.take(at: now) : idlePings.take(at: now)
    return isAllowed ? nil : .pings
  }

  private func hasCalls(at now: NIODeadline) -> Bool {
    if openStreams > 0 { return true }
    guard let lastCallEnded else { return false }
    return now - lastCallEnded < TimeAmount(limits.activityMemory)
  }
}
