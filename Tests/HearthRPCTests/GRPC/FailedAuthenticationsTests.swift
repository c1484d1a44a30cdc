import HearthModel
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC

@Suite("Failed authentications of addresses")
struct FailedAuthenticationsTests {
  private static let limit = 5
  private static let start = ContinuousClock.now

  private static func client(_ number: Int) throws -> ClientNetwork {
    try #require(ClientNetwork(numericHost: "10.0.\(number / 256).\(number % 256)"))
  }

  /// Remembers every failure.
  private struct Model {
    private var failures: [(client: Int, time: Int)] = []
    private var windowStart: Int?

    private static let windowSeconds = 60

    mutating func add(_ client: Int, at time: Int) {
      if windowStart.map({ time >= $0 + Self.windowSeconds }) ?? true {
        windowStart = time
        failures = []
      }
      failures.append((client, time))
    }

    /// The failures of the window that has not ended, and its remaining seconds.
    func window(at time: Int) -> (failures: [Int], rest: Int)? {
      guard let windowStart, time < windowStart + Self.windowSeconds else { return nil }
      return (failures.map(\.client), windowStart + Self.windowSeconds - time)
    }
  }

  /// One history: failures and questions of some clients, with pauses.
  private static func run(
    _ random: inout SeededGenerator, clients: Int, capacity: Int,
    _ check: (_ client: Int, _ wait: Duration?, _ window: (failures: [Int], rest: Int)?) -> Void
  ) throws {
    var failures = FailedAuthentications(limit: limit, capacity: capacity)
    var model = Model()
    var time = 0
    for _ in 0..<400 {
      if random.chance(10) { time += random.below(30) }
      // A few clients fail often, others seldom.
      let number = random.chance(60) ? random.below(3) : random.below(clients)
      let now = start + .seconds(time)
      if random.chance(70) {
        failures.add(try client(number), at: now)
        model.add(number, at: time)
      }
      #expect(failures.count <= capacity)
      check(number, failures.wait(of: try client(number), at: now), model.window(at: time))
    }
  }

  @Test("a client waits exactly if it has failed too often in the window, and until its end", arguments: 1...20)
  func exact(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try Self.run(&random, clients: 30, capacity: 100) { client, wait, window in
      let count = window?.failures.count { $0 == client } ?? 0
      #expect(wait == (count >= Self.limit ? window.map { .seconds($0.rest) } : nil))
    }
  }

  @Test("with more clients than are counted, nobody waits for others, and who fails often waits", arguments: 1...20)
  func bounded(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let capacity = 2 + random.below(10)
    try Self.run(&random, clients: 200, capacity: capacity) { client, wait, window in
      let (failures, rest) = window ?? ([], 0)
      let count = failures.count { $0 == client }
      if count < Self.limit { #expect(wait == nil) }
      if count >= Self.limit + failures.count / (capacity + 1) { #expect(wait == .seconds(rest)) }
    }
  }

  @Test("a million addresses take no more memory than thousands, and do not free one that has failed too often")
  func manyAddresses() throws {
    var failures = FailedAuthentications(limit: 600, capacity: 1_000)
    let guessing = try #require(ClientNetwork(numericHost: "192.0.2.1"))
    for number in 0..<1_000_000 {
      let text = "2001:db8:\(String(number / 65_536, radix: 16)):\(String(number % 65_536, radix: 16))::1"
      failures.add(try #require(ClientNetwork(numericHost: text)), at: Self.start)
      if number.isMultiple(of: 500) { failures.add(guessing, at: Self.start) }
    }
    #expect(failures.count <= 1_000)
    // 2,000 failures, less a thousandth of a million.
    #expect(failures.wait(of: guessing, at: Self.start) == FailedAuthentications.window)
  }

  @Test("a call is refused with the time to wait, until the window is over")
  func refusal() throws {
    let seconds = Mutex(0.0)
    let start = Self.start
    let limit = AuthenticationLimit(2) { start + .seconds(seconds.withLock { $0 }) }
    let client = try Self.client(1)
    try limit.check(client)
    limit.failed(client)
    seconds.withLock { $0 = 20 }
    limit.failed(client)
    let status = try #require(throws: CallStatus.self) { try limit.check(client) }
    #expect(status.code == .resourceExhausted && status.exceeded == .failedAuthenticationsPerMinute)
    #expect(status.message.contains("For 41 s"), "\(status.message)")
    try limit.check(Self.client(2))
    seconds.withLock { $0 = 60 }
    try limit.check(client)
  }

  @Test("the log is told of failures with their addresses, of a flood only now and then how many there were")
  func logged() throws {
    let seconds = Mutex(0.0)
    let start = Self.start
    let recorder = LogRecorder()
    let log = AuthenticationLog(recorder.logger) { start + .seconds(seconds.withLock { $0 }) }
    func fail(_ client: ClientNetwork?) { log.failed(CallStatus(.unauthenticated, "no\nsuch token"), by: client) }
    fail(ClientNetwork(numericHost: "192.0.2.1"))
    for number in 0..<500 { fail(try Self.client(number)) }
    seconds.withLock { $0 = 9.9 }
    fail(nil)
    #expect(recorder.lines.count == 1)
    seconds.withLock { $0 = 10 }
    fail(ClientNetwork(numericHost: "2001:db8:0:1::7"))
    seconds.withLock { $0 = 20 }
    fail(nil)
    #expect(
      recorder.lines == [
        #"warning a call failed to authenticate address=192.0.2.1 reason=no\u{a}such token"#,
        #"warning a call failed to authenticate address=2001:db8:0:1::/64 not-logged-before=501 reason=no\u{a}such token"#,
        #"warning a call failed to authenticate address=unknown reason=no\u{a}such token"#,
      ])
  }
}
