import Foundation
import HearthWire
import RawHTTP2
import Synchronization
import TestSupport

/// One attack on a running server: its connections, and the answers that it has waited for.
final class Attack {
  let server: ServerProcess
  /// Chooses sizes and orders of a long run.
  let size: Int
  private(set) var clients: [RawHTTP2Client] = []
  private(set) var callers: [CallClient] = []
  private(set) var sockets: [PlainConnection] = []
  /// Answers that did not come in time, or were wrong.
  private(set) var failures: [String] = []
  private(set) var slowestAnswer = Duration.zero

  /// - Parameter size: A factor for the usual number of attacking clients.
  init(on server: ServerProcess, size: Int) {
    self.server = server
    self.size = size
  }

  func end() {
    for client in clients { client.close() }
    for caller in callers { caller.close() }
    for socket in sockets { socket.close() }
  }

  func fail(_ text: String) { failures.append(text) }

  func note(_ answer: Duration) { slowestAnswer = max(slowestAnswer, answer) }

  // MARK: - Connections

  /// A client that gives nothing back of its windows, so that the server can send `window` bytes and no more.
  func connect(window: UInt32 = 65_535, keepsMessages: Bool = false) async throws -> RawHTTP2Client {
    let client = try await RawHTTP2Client.connect(
      toPort: server.port, keepsMessages: keepsMessages, streamWindow: window, connectionWindow: window)
    clients.append(client)
    return client
  }

  /// A client that does not even read what its windows allow, so that the system's buffers fill up.
  func connectWithoutReading() async throws -> RawHTTP2Client {
    let client = try await RawHTTP2Client.connect(toPort: server.port, reads: false)
    clients.append(client)
    return client
  }

  /// A client that reads its answers.
  func caller() async throws -> CallClient {
    let caller = try await CallClient(port: server.port)
    callers.append(caller)
    return caller
  }

  func socket() async throws -> PlainConnection {
    let socket = try await PlainConnection(port: server.port)
    sockets.append(socket)
    return socket
  }

  // MARK: - Attacks

  /// Starts a call from each of several clients that do not read, and waits until the server can do no more for them.
  func leaveUnread(clients count: Int = 8, _ call: (Int) async throws -> Call) async throws {
    let before = clients.count
    for index in 0..<count * size {
      let client = try await connect()
      try await start(try await call(index), on: client)
    }
    await waitForAnswers(on: Array(clients[before...]), or: 60_000)
    await waitUntilSteady()
  }

  func start(_ call: Call, on client: RawHTTP2Client, stream: UInt32 = 1) async throws {
    try await client.send([.headers(stream, method: call.method)])
    try await client.send(message: call.message, streamID: stream, endsStream: !call.isStream)
  }

  /// Waits for each client's first stream as ``waitForAnswer(on:stream:or:seconds:)`` does, at most 30 s for all together.
  func waitForAnswers(on clients: [RawHTTP2Client], or bytes: Int = .max) async {
    let end = ContinuousClock.now + .seconds(30)
    for client in clients {
      let rest = Int((end - ContinuousClock.now).components.seconds)
      await waitForAnswer(on: client, or: bytes, seconds: max(1, rest))
    }
  }

  /// Waits for the end of a stream, or until `bytes` of its answer have come.
  func waitForAnswer(
    on client: RawHTTP2Client, stream: UInt32 = 1, or bytes: Int = .max, seconds: Int = 30
  ) async {
    do {
      try await client.wait(for: "an answer", seconds: seconds) {
        $0.statuses[stream] != nil || $0.resets[stream] != nil || $0.goAway != nil || $0.isClosed
          || ($0.messageBytes[stream] ?? 0) >= bytes
      }
    } catch {
      fail("no answer within \(seconds) s")
    }
  }

  /// Sends a request from each of several clients, which is answered or refused, and notes how long that takes once the requests are there.
  func sendAndWait(_ call: Call, clients count: Int = 4) async throws {
    let before = clients.count
    for _ in 0..<count * size { try await start(call, on: connect(window: UInt32(Int32.max))) }
    let start = ContinuousClock.now
    // A stream answers with a message, and goes on.
    await waitForAnswers(on: Array(clients[before...]), or: call.isStream ? 1 : .max)
    note(ContinuousClock.now - start)
  }

  /// Waits until the server's memory has not grown for 200 ms, at most for 5 s.
  func waitUntilSteady() async {
    var largest = 0
    var steady = 0
    for _ in 0..<250 where steady < 10 {
      let resident = server.figures.residentBytes
      steady = resident > largest + (256 << 10) ? 0 : steady + 1
      largest = max(largest, resident)
      try? await Task.sleep(for: .milliseconds(20))
    }
  }
}
