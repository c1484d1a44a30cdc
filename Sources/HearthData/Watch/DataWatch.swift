package import HearthModel
internal import HearthTransport

/// Listens to a query until the task is cancelled.
package struct DataWatch: Sendable {
  package var query: Query
  /// True to end with the first complete result.
  package var endsWithFirstResult = false

  package init(query: Query) { self.query = query }

  /// - Parameter onSnapshot: Called for each consistent state with the changes since the one before; the first has all documents.
  /// - Throws: A ``DataError`` if the backend refuses the listener, or was not there at the beginning; `CancellationError`.
  package func run(
    _ backend: DataBackend, onSnapshot: ([WatchedChange], SnapshotVersion) async throws -> Void
  ) async throws {
    var result = WatchedResult(target: 1)
    var isFirst = true
    var pause = Duration.milliseconds(250)
    while true {
      // Without a token the backend sends all of the result again.
      if result.resumeToken.isEmpty { result.beginAgain() }
      let (events, continuation) = AsyncStream.makeStream(of: StreamEvent<WatchResponse>.self)
      let stream = backend.transport.openWatchStream { event in
        continuation.yield(event)
        if case .closed = event { continuation.finish() }
      }
      defer { stream.close() }
      stream.send(.addTarget(request(result)))
      for await event in events {
        switch event {
        case .opened: break
        case .closed(let error):
          let error = error ?? StatusError(code: .unavailable, message: "The backend has ended the stream.")
          guard error.isPassing, !(isFirst && error.code == .unavailable) else {
            throw backend.failure(error, doing: "Listening")
          }
        case .message(let message):
          switch result.received(message) {
          case .nothing: break
          case .ended(let error): throw backend.failure(error, doing: "Listening")
          case .mustListenAgain(let former):
            stream.send(.removeTarget(former))
            stream.send(.addTarget(request(result)))
          case .snapshot(let changes, let version):
            (isFirst, pause) = (false, .milliseconds(250))
            try await onSnapshot(changes, version)
            if endsWithFirstResult { return }
          }
        }
      }
      try await Task.sleep(for: pause)
      pause = min(pause * 2, .seconds(16))
    }
  }

  private func request(_ result: WatchedResult) -> TargetRequest {
    TargetRequest(targetID: result.target, target: query.target, resumeToken: result.resumeToken)
  }
}
