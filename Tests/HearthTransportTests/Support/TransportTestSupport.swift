import Foundation
import HearthModel
import HearthTransport
import HearthWire
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

let database = DatabaseID(projectID: "demo", database: "(default)")
let translator = WireTranslator(database: database)
/// An answer on the write stream that carries only a token, as to the handshake.
func writeAnswer(token: [UInt8]) -> Google_Firestore_V1_WriteResponse {
  var message = Google_Firestore_V1_WriteResponse()
  message.streamToken = Data(token)
  return message
}

let cities = Query(path: ResourcePath(["cities"])).target

func configuration(
  port: Int, host: String = "127.0.0.1", credentials: any CredentialsProvider = NoCredentials()
) -> TransportConfiguration {
  TransportConfiguration(host: host, port: port, usesTLS: false, databaseID: database, credentials: credentials)
}

/// Takes the events of one stream and lets a test wait for each.
final class EventRecorder<Message: Sendable & Equatable>: Sendable {
  private let events: AsyncStream<StreamEvent<Message>>
  private let continuation: AsyncStream<StreamEvent<Message>>.Continuation
  private let seen = Mutex<[StreamEvent<Message>]>([])

  init() {
    (events, continuation) = AsyncStream.makeStream()
  }

  func record(_ event: StreamEvent<Message>) {
    seen.withLock { $0.append(event) }
    continuation.yield(event)
  }

  /// The next event that nobody has waited for yet.
  func next() async -> StreamEvent<Message>? {
    var iterator = events.makeAsyncIterator()
    return await iterator.next()
  }

  /// The message of the next event, or nil if that is no message.
  func nextMessage() async -> Message? {
    guard case .message(let message)? = await next() else { return nil }
    return message
  }

  /// The error of the next event, which must be the end of the stream.
  func nextError() async throws -> StatusError {
    let event = await next()
    guard case .closed(let error?)? = event else {
      Issue.record("expected the stream to fail, not \(String(describing: event))")
      throw CancellationError()
    }
    return error
  }

  var all: [StreamEvent<Message>] { seen.withLock { $0 } }
}

/// A value that one task sets and another waits for.
final class Signal<Value: Sendable>: Sendable {
  private let stream: AsyncStream<Value>
  private let continuation: AsyncStream<Value>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  func send(_ value: Value) {
    continuation.yield(value)
  }

  func wait() async -> Value? {
    var iterator = stream.makeAsyncIterator()
    return await iterator.next()
  }
}

/// A socket of 127.0.0.1 that takes connections and never says a word. Without `listening`, its port refuses
/// connections while nobody else can have it.
final class SilentSocket: Sendable {
  let port: Int
  private let descriptor: Int32

  init(listening: Bool) throws {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    descriptor = socket(AF_INET, kind, 0)
    try #require(descriptor >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(isBound)
    if listening {
      try #require(listen(descriptor, 16) == 0)
    }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  /// Another descriptor of the same socket, for its caller to close.
  func duplicate() -> Int32 { dup(descriptor) }

  /// Makes every caller that waits for a connection give up.
  func shutdown() {
    #if canImport(Darwin)
      let both = SHUT_RDWR
    #else
      let both = Int32(SHUT_RDWR)
    #endif
    #if canImport(Glibc)
      _ = Glibc.shutdown(descriptor, both)
    #elseif canImport(Musl)
      _ = Musl.shutdown(descriptor, both)
    #else
      _ = Darwin.shutdown(descriptor, both)
    #endif
  }

  deinit {
    close(descriptor)
  }
}

/// A socket of 127.0.0.1 that answers the first bytes of each connection with some of its own, and ends the connection after
/// whatever comes next.
final class AnsweringSocket: Sendable {
  private let socket: SilentSocket
  var port: Int { socket.port }

  init(_ answer: [UInt8]) throws {
    let socket = try SilentSocket(listening: true)
    self.socket = socket
    let descriptor = socket.duplicate()
    let thread = Thread {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { break }
        if recv(connection, &buffer, buffer.count, 0) > 0 {
          _ = send(connection, answer, answer.count, noSignal)
          _ = recv(connection, &buffer, buffer.count, 0)
        }
        close(connection)
      }
      close(descriptor)
    }
    thread.start()
  }

  /// Lets the thread end.
  deinit { socket.shutdown() }
}

#if canImport(Darwin)
  private let noSignal: Int32 = 0
#else
  private let noSignal = Int32(MSG_NOSIGNAL)
#endif
