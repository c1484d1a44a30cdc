internal import NIOCore

/// The limits of one HTTP/2 connection, and the times after which a dead one is closed.
///
/// Under load, official clients ping with their data, reset each ended call, and open a stream for each listener; the limits are far above
/// that. They end the known floods of HTTP/2 (CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2024-27316). A connection that exceeds one gets
/// GOAWAY ENHANCE_YOUR_CALM and is closed.
///
/// Two further limits are the codec's (swift-nio-http2): 5 CONTINUATION frames in a row, and 200 SETTINGS frames in 30 s.
package struct ConnectionLimits: Sendable, Hashable {
  /// Streams that a connection may have open at the same time: announced in SETTINGS; one more is refused with
  /// REFUSED_STREAM, which clients may try again (RFC 9113, section 5.1.2).
  ///
  /// Server-side programs have a stream for each listener, and Go and Java programs make all their calls on one
  /// connection. An idle listener costs the server about 21 KB (release build, resident size over 2,000).
  package var maximumConcurrentStreams = 16_384

  /// Pings on a connection that has a call, or had one less than ``activityMemory`` ago.
  ///
  /// An answer costs 2.6 µs of processor time, so 2,000 a second are half a percent of a core. Pings that go with frames of
  /// calls do not count: Go and Java clients send one with nearly every DATA frame to measure the bandwidth.
  package var busyPings = RateLimit(burst: 20_000, perSecond: 2_000)

  /// Pings on a connection without a call. Keep-alive of the official clients is one in 10 s at most.
  package var idlePings = RateLimit(burst: 100, perSecond: 1)

  /// The time after its last call in which a connection counts as one with calls.
  package var activityMemory = Duration.seconds(10)

  /// Answers to pings that wait because the peer does not read: each holds memory.
  package var unsentPingAnswers = 1_000

  /// Streams that the client resets before their answer, and resets of streams that were over already; each answered
  /// stream gives one back.
  ///
  /// Apps cancel calls in bursts (a screen with many listeners is left), and official clients reset each call that is
  /// over. A cancelled call costs the server about 0.3 ms of processor time; 500 a second are a sixth of a core.
  package var resets = RateLimit(burst: 20_000, perSecond: 500)

  /// Frames that bring nothing: DATA without content, PRIORITY, unknown types, and WINDOW_UPDATE of less than ``smallUpdateBytes`` beyond
  /// four for each message that the client was sent. Each stream that is opened gives one back.
  ///
  /// Updates of a byte would have the server send its responses byte by byte (CVE-2019-9511).
  package var emptyFrames = RateLimit(burst: 1_000, perSecond: 100)

  /// Updates of a window by less than this draw on ``emptyFrames``.
  static let smallUpdateBytes = 1 << 10

  /// The entries of a SETTINGS frame; one more ends the connection. There are nine settings with a meaning, and the codec visits each
  /// stream for each entry that has one for it.
  static let settingsPerFrame = 32

  /// DATA with content for streams that are over, which a client sent before it learned that they were refused or ended.
  ///
  /// At most a stream's window of 256 KiB each, 16 frames of usual size.
  package var strayFrames = RateLimit(burst: 50_000, perSecond: 5_000)

  /// A connection that was silent for this long gets a PING.
  package var keepAliveTime = Duration.seconds(20)

  /// The time that the peer has to send anything after that PING before the connection is closed. With ``keepAliveTime``, a dead
  /// peer is found within 40 s.
  package var keepAliveTimeout = Duration.seconds(15)

  package init() {}

  /// A number of events at once, and a number per second over time.
  package struct RateLimit: Sendable, Hashable {
    package var burst: Int
    package var perSecond: Int

    package init(burst: Int, perSecond: Int) {
      self.burst = burst
      self.perSecond = perSecond
    }
  }
}

/// Counts down with each event and up with time.
struct TokenBucket {
  private let limit: ConnectionLimits.RateLimit
  private var tokens: Double
  private var updated: NIODeadline

  init(_ limit: ConnectionLimits.RateLimit, now: NIODeadline) {
    self.limit = limit
    tokens = Double(limit.burst)
    updated = now
  }

  /// - Returns: false when the limit is exceeded.
  mutating func take(at now: NIODeadline) -> Bool {
    let seconds = Double((now - updated).nanoseconds) / 1e9
    tokens = min(tokens + max(seconds, 0) * Double(limit.perSecond), Double(limit.burst))
    updated = now
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }

  /// Takes one event back.
  mutating func giveBack() {
    tokens = min(tokens + 1, Double(limit.burst))
  }
}
