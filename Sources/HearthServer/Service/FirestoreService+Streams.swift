internal import Foundation
internal import GRPCCore
internal import HearthModel
internal import HearthWire
internal import Synchronization

// MARK: - Write

extension FirestoreService {
  func write(
    request: StreamingServerRequest<Google_Firestore_V1_WriteRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_WriteResponse> {
    streaming(context) { writer in
      try await untilShutdown {
        var conversation: WriteConversation?
        for try await message in request.messages {
          if let open = conversation {
            let (response, isLast) = try await open.answer(message)
            try await writer.write(response)
            if isLast { return }
            conversation?.advance()
          } else {
            let name = try databaseName(message.database, metadata: request.metadata, field: "WriteRequest.database")
            let opened = WriteConversation(database: try backend.database(name))
            try await writer.write(opened.greeting(to: message))
            conversation = opened
          }
        }
      }
    }
  }

  /// The database of a stream: the message names it, or the header that all SDKs send.
  fileprivate func databaseName(
    _ name: String, metadata: Metadata, field: String
  ) throws(StatusError) -> DatabaseID {
    if name.isEmpty, let prefix = metadata[stringValues: "google-cloud-resource-prefix"].first(where: { _ in true }) {
      return try ResourceName.database(prefix, at: "google-cloud-resource-prefix")
    }
    return try ResourceName.database(name, at: field)
  }

  /// Runs the body of a stream; when the server stops, the stream ends with UNAVAILABLE, upon which clients come back.
  fileprivate func untilShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask(operation: body)
      group.addTask {
        await backend.shutdownSignal.wait()
        try Task.checkCancellation()
        throw StatusError(code: .unavailable, message: "the server is shutting down")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

/// A write stream after its handshake: one response for each request, in order.
private struct WriteConversation {
  let database: HostedDatabase
  /// Clients send the token of the latest response back; nothing depends on it.
  private var responseCount = 0

  init(database: HostedDatabase) {
    self.database = database
  }

  mutating func advance() { responseCount += 1 }

  /// The response to the first message.
  func greeting(to message: Google_Firestore_V1_WriteRequest) throws -> Google_Firestore_V1_WriteResponse {
    guard message.writes.isEmpty else {
      throw StatusError.invalid("'writes' must not be set on an initial write request.")
    }
    guard message.streamID.isEmpty else {
      throw StatusError.invalid("Resuming streams is not supported, do not set stream ID.")
    }
    var response = Google_Firestore_V1_WriteResponse()
    response.streamID = WireTranslator.batchLabelAnnouncement
    response.streamToken = token(0)
    return response
  }

  private func token(_ number: Int) -> Data { Data("\(number)".utf8) }

  /// Commits the writes of one message. A message without writes is the goodbye.
  func answer(
    _ message: Google_Firestore_V1_WriteRequest
  ) async throws -> (response: Google_Firestore_V1_WriteResponse, isLast: Bool) {
    var response = Google_Firestore_V1_WriteResponse()
    response.streamToken = token(responseCount + 1)
    if message.writes.isEmpty { return (response, true) }
    let mutations = try message.writes.map {
      try WriteLimits.checked(database.translator.decode(write: $0), database: database.id)
    }
    let label = try message.labels[WireTranslator.batchLabelName].map { text throws(StatusError) in
      try RequestLabel(parsing: text, mutations: mutations, database: database.id)
    }
    let outcome = try await database.storage.commit(CommitRequest(mutations: mutations, label: label))
    response.writeResults = outcome.results.map { database.translator.encode($0) }
    response.commitTime = database.translator.encode(outcome.version)
    return (response, false)
  }
}

// MARK: - Listen

extension FirestoreService {
  func listen(
    request: StreamingServerRequest<Google_Firestore_V1_ListenRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_ListenResponse> {
    streaming(context) { writer in
      try await untilShutdown {
        let mailbox = ListenMailbox()
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            do {
              for try await message in request.messages { try mailbox.post(message) }
              mailbox.finish()
            } catch {
              mailbox.finish(throwing: error)
            }
          }
          group.addTask {
            while !Task.isCancelled {
              try await Task.sleep(for: tokenRefreshInterval)
              mailbox.postRefresh()
            }
          }
          defer { group.cancelAll() }
          try await serve(mailbox, metadata: request.metadata, writer: writer)
        }
      }
    }
  }

  /// Handles what comes in until the client closes its side.
  private func serve(
    _ mailbox: ListenMailbox, metadata: Metadata, writer: RPCWriter<Google_Firestore_V1_ListenResponse>
  ) async throws {
    var session: ListenSession?
    var unsubscribe: (@Sendable () -> Void)?
    defer { unsubscribe?() }
    for try await event in mailbox.events {
      switch event {
      case .request(let message):
        if session == nil {
          let name = try databaseName(message.database, metadata: metadata, field: "ListenRequest.database")
          let database = try backend.database(name)
          let subscriber = database.storage.feed.subscribe { mailbox.postWake() }
          unsubscribe = { database.storage.feed.unsubscribe(subscriber) }
          session = ListenSession(database: database, subscriber: subscriber) { responses in
            try await writer.write(contentsOf: responses.map { database.translator.encode($0) })
          }
        }
        try await session?.handle(message)
      case .wake:
        mailbox.wakeIsTaken()
      case .refresh:
        try await session?.refreshToken()
      }
      try await session?.catchUp()
    }
  }
}

/// What a listen stream has to deal with, in order of arrival, bounded in size.
private final class ListenMailbox: Sendable {
  enum Event: Sendable {
    case request(Google_Firestore_V1_ListenRequest)
    /// Something was committed that the stream may be interested in.
    case wake
    /// It is time for a fresh resume token.
    case refresh
  }

  /// So many requests may wait while the client does not take its messages.
  private static let capacity = 1024

  let events: AsyncThrowingStream<Event, any Error>
  private let continuation: AsyncThrowingStream<Event, any Error>.Continuation
  /// One wake in the mailbox stands for all commits up to the time when it is taken.
  private let isWakePosted = Mutex(false)

  init() {
    (events, continuation) = AsyncThrowingStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingOldest(Self.capacity))
  }

  func post(_ request: Google_Firestore_V1_ListenRequest) throws {
    if case .dropped = continuation.yield(.request(request)) {
      throw StatusError(
        code: .resourceExhausted,
        message: "\(Self.capacity) requests of the stream wait to be handled: the client does not take its messages")
    }
  }

  func postWake() {
    let isFirst = isWakePosted.withLock { isPosted in
      defer { isPosted = true }
      return !isPosted
    }
    // In a full mailbox there are events enough after which the stream catches up.
    if isFirst, case .dropped = continuation.yield(.wake) { wakeIsTaken() }
  }

  /// To be called before the stream catches up.
  func wakeIsTaken() {
    isWakePosted.withLock { $0 = false }
  }

  func postRefresh() {
    continuation.yield(.refresh)
  }

  func finish(throwing error: (any Error)? = nil) {
    continuation.finish(throwing: error)
  }
}
