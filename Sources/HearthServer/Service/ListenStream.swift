internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import NIOCore
internal import SwiftProtobuf
internal import Synchronization

/// A Listen stream: its session and the handling of its events.
///
/// Each event is handled in a task of its own, one after the other. A task keeps the memory of its deepest call as long as it lives (here
/// 15 KB, measured on Linux), and a stream waits for a long time, so it has no task while it waits.
final class ListenStream: Sendable {
  typealias Writer = ResponseWriter<Google_Firestore_V1_ListenResponse>

  private struct State {
    /// Nil before the first request, and while an event is handled.
    var session: ListenSession?
    var unsubscribe: (@Sendable () -> Void)?
  }

  private let service: FirestoreService
  private let call: ServerCall
  private let writer: Writer
  private let state = Mutex(State())

  init(service: FirestoreService, call: ServerCall, writer: Writer) {
    self.service = service
    self.call = call
    self.writer = writer
  }

  /// The session hears of no commit any more.
  func end() {
    state.withLock { $0.unsubscribe }?()
  }

  /// Handles a request or a signal, and sends what was committed since the last time.
  func handle(_ input: ServerCall.Input) async throws {
    // Taken out, because its targets would be copied while another reference to them is kept.
    var session = state.withLock { $0.session.take() }
    switch input {
    case .message(let bytes):
      try await handle(bytes, &session)
    case .signals(let signals):
      // A commit that comes from now on posts a new wake.
      if signals.contains(.refresh) { try await session?.refreshToken() }
    case .end: return
    }
    try await session?.catchUp()
    state.withLock { [session] state in state.session = session }
  }

  private func handle(_ bytes: ByteBuffer, _ session: inout ListenSession?) async throws {
    let request: Google_Firestore_V1_ListenRequest
    do throws(CallStatus) {
      if let excess = try call.excess(in: bytes, as: Google_Firestore_V1_ListenRequest.self) { throw excess }
      request = try Google_Firestore_V1_ListenRequest(decoding: bytes)
    } catch {
      // A query that holds too much, or is nested too deep to be read, ends its target, as one that cannot run for another reason.
      guard let head = try? ListenRequestHead(of: bytes) else { throw error }
      if session == nil { session = try await open(head.request) }
      try await session?.refuse(head.request.addTarget, error)
      return
    }
    if session == nil { session = try await open(request) }
    try await handle(request, of: bytes.readableBytes, &session)
  }

  private func handle(
    _ request: Google_Firestore_V1_ListenRequest, of requestBytes: Int, _ session: inout ListenSession?
  ) async throws {
    guard case .addTarget(let target) = request.targetChange else {
      try await session?.handle(request)
      return
    }
    let memory: TargetMemory
    do throws(CallStatus) {
      memory = try service.targets.take(requestBytes: requestBytes, for: call.origin)
    } catch {
      try await session?.refuse(target, error)
      return
    }
    try await session?.handle(request, memory: memory)
  }

  private func open(_ request: Google_Firestore_V1_ListenRequest) async throws(StatusError) -> ListenSession {
    let name = try service.databaseName(request.database, metadata: call.metadata, field: "ListenRequest.database")
    let database = try await service.sessions.open(name, for: call)
    let subscriber = database.feed.subscribe { [call] in call.post(.wake) }
    state.withLock { state in
      state.unsubscribe = { database.feed.unsubscribe(subscriber) }
    }
    return ListenSession(
      database: database, subscriber: subscriber, isBehind: { [writer] in writer.isBehind }
    ) { [writer] messages in
      try await Self.send(messages, of: database, to: writer)
    }
  }

  /// Sends messages in pieces of ``ListenMessage/bytesPerPiece``.
  private static func send(
    _ messages: [ListenMessage], of database: Session, to writer: Writer
  ) async throws {
    var piece = ByteBuffer()
    for message in messages {
      switch message {
      case .response(let response): try Writer.encode(database.translator.encode(response), to: &piece)
      case .encoded(let bytes): Writer.add(bytes, to: &piece)
      case .frames(let frames):
        if piece.readableBytes == 0 { piece = frames } else { piece.writeImmutableBuffer(frames) }
      }
      guard piece.readableBytes >= ListenMessage.bytesPerPiece else { continue }
      try await writer.write(encoded: piece)
      piece = ByteBuffer()
    }
    if piece.readableBytes > 0 { try await writer.write(encoded: piece) }
  }
}
