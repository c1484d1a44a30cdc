internal import Foundation
internal import GRPCCore
internal import HearthModel
internal import HearthWire

// MARK: - Write

extension FirestoreService {
  func write(
    request: StreamingServerRequest<Google_Firestore_V1_WriteRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_WriteResponse> {
    streaming(context) { writer in
      try await untilShutdown {
        var session: WriteSession?
        for try await message in request.messages {
          if let open = session {
            let (response, isLast) = try await open.answer(message)
            try await writer.write(response)
            if isLast { return }
            session?.advance()
          } else {
            let name = try databaseName(message.database, metadata: request.metadata, field: "WriteRequest.database")
            let opened = WriteSession(database: try backend.database(name))
            try await writer.write(opened.greeting(to: message))
            session = opened
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

  /// Runs the body of a stream. When the server stops, the stream ends with UNAVAILABLE, so that clients retry.
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

  /// Handles requests, commits and refreshes in the order of the mailbox until the client closes its side.
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
