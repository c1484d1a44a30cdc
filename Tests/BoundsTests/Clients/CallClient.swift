import HearthWire
import NIOHPACK
import RawHTTP2
import SwiftProtobuf
import Synchronization

/// A client that reads the answers of its calls. It starts one call after the other.
final class CallClient: Sendable {
  let http: RawHTTP2Client
  private let lastStream = Mutex<UInt32>(0)
  /// Messages that have come and were not taken, by their streams.
  private let unread = Mutex<[UInt32: [[UInt8]]]>([:])

  init(port: Int) async throws {
    http = try await RawHTTP2Client.connect(toPort: port, keepsMessages: true)
  }

  struct Refused: Error, CustomStringConvertible {
    var method: String
    var status: String
    var text: String
    var description: String { "\(method) ended with status \(status): \(text)" }
  }

  /// Starts a call.
  /// - Returns: its stream, which stays open for further messages if the call is a stream.
  func start(_ call: Call) async throws -> UInt32 {
    let stream = lastStream.withLock { last in
      last = last == 0 ? 1 : last + 2
      return last
    }
    try await http.send([.headers(stream, method: call.method)])
    try await http.send(message: call.message, streamID: stream, endsStream: !call.isStream)
    return stream
  }

  /// The messages that answer a call, which must end with OK.
  @discardableResult
  func answers(to call: Call, seconds: Int = 60) async throws -> [[UInt8]] {
    let stream = try await start(call)
    try await http.wait(for: "the answer to \(call.method)", seconds: seconds) {
      $0.statuses[stream] != nil || $0.resets[stream] != nil || $0.isClosed
    }
    let received = http.received
    guard received.statuses[stream] == "0" else {
      throw Refused(
        method: call.method, status: received.statuses[stream] ?? "none",
        text: received.headers[stream]?.first(name: "grpc-message") ?? "")
    }
    return http.takeMessages(of: stream)
  }

  /// The next message of a stream; nil when it has ended.
  func message(of stream: UInt32, seconds: Int = 60) async throws -> [UInt8]? {
    while true {
      let received = http.received
      let isOver = received.statuses[stream] != nil || received.resets[stream] != nil || received.isClosed
      let bytes = received.messageBytes[stream] ?? 0
      let new = http.takeMessages(of: stream)
      let message = unread.withLock { unread in
        unread[stream, default: []] += new
        return unread[stream, default: []].isEmpty ? nil : unread[stream, default: []].removeFirst()
      }
      if message != nil || isOver { return message }
      try await http.wait(for: "a message", seconds: seconds) {
        ($0.messageBytes[stream] ?? 0) > bytes || $0.statuses[stream] != nil || $0.resets[stream] != nil || $0.isClosed
      }
    }
  }

  func answer<Response: Message>(to call: Call, as: Response.Type) async throws -> Response {
    guard let bytes = try await answers(to: call).first else {
      throw Refused(method: call.method, status: "0", text: "no message")
    }
    return try Response(serializedBytes: bytes)
  }

  func close() { http.close() }
}
