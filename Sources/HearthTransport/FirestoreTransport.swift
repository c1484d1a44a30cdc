internal import GRPCCore
internal import HearthModel
internal import HearthWire
internal import Logging
internal import Synchronization

/// Carries out the requests of HearthSync: streams and calls to one database of one backend.
///
/// It keeps no state beyond one call, except the shared connection. All methods may be called from any thread.
package final class FirestoreTransport: Sendable {
  struct State {
    var connection: Connection?
    /// Retired connections, which finish their streams and calls.
    var retired: [ObjectIdentifier: Connection] = [:]
    /// The running streams, each with its task and a function that ends it.
    var streams: [UInt64: RunningStream] = [:]
    var lastStreamNumber: UInt64 = 0
    /// Per RPC method: the tokens of the last stream that the backend closed with UNAUTHENTICATED. Cleared by `invalidateCredentials()`.
    var refusedTokens: [String: RequestTokens] = [:]
    var isShutDown = false
  }

  struct RunningStream {
    var close: @Sendable () -> Void
    var task: Task<Void, Never>
  }

  let configuration: TransportConfiguration
  let translator: WireTranslator
  let state = Mutex(State())
  let tokenFetches = TokenFetches()
  /// Held while a connection is made, so that streams which open together share one.
  private let connecting = Mutex(())

  /// Connects with the first stream or call.
  ///
  /// - Throws: a `StatusError` (invalid argument) when the host, the port or the database's name cannot be right.
  package init(_ configuration: TransportConfiguration) throws {
    try configuration.validate()
    self.configuration = configuration
    translator = WireTranslator(database: configuration.databaseID)
  }

  /// Retires the present connection: its streams continue, later ones use a new connection.
  ///
  /// Called when the network has changed and the old connection may be dead without a sign.
  package func reconnect() {
    state.withLock { state in
      if let connection = state.connection {
        retire(connection, in: &state)
      }
    }
  }

  /// The backend refused the tokens of a stream that has ended: later streams and calls get new ones.
  package func invalidateCredentials() {
    let refused = state.withLock { state in
      defer { state.refusedTokens = [:] }
      return Set(state.refusedTokens.values)
    }
    for tokens in refused { invalidate(tokens) }
  }

  func invalidate(_ tokens: RequestTokens) {
    configuration.credentials.invalidate(tokens.access)
    configuration.appCheck.invalidate(tokens.appCheck)
  }

  /// Closes all streams, cancels all calls and ends the connections. Streams and calls that begin later fail.
  package func shutdown() async {
    tokenFetches.close()
    let (streams, connections) = state.withLock { state in
      state.isShutDown = true
      if let connection = state.connection {
        retire(connection, in: &state)
      }
      return (Array(state.streams.values), Array(state.retired.values))
    }
    for stream in streams {
      stream.close()
      stream.task.cancel()
    }
    for stream in streams {
      await stream.task.value
    }
    for connection in connections {
      connection.end()
    }
  }
}

// MARK: - Connections

extension FirestoreTransport {
  /// The current connection, made if there is none.
  func connection() throws -> Connection {
    if let connection = try currentConnection() { return connection }
    // With TLS, making one reads the certificates that the system trusts; a lock of its own keeps other users of `state` from waiting.
    return try connecting.withLock { _ in
      if let connection = try currentConnection() { return connection }
      configuration.logger.debug("Connecting", metadata: ["endpoint": "\(configuration.endpoint)"])
      let connection = try Connection(configuration)
      return try state.withLock { state in
        guard !state.isShutDown else {
          connection.end()
          throw shutDownError
        }
        state.connection = connection
        return connection
      }
    }
  }

  private func currentConnection() throws -> Connection? {
    try state.withLock { state in
      guard !state.isShutDown else { throw shutDownError }
      return state.connection
    }
  }

  private var shutDownError: StatusError {
    StatusError(code: .cancelled, message: "The connection to \(configuration.endpoint) was shut down.")
  }

  /// Makes the next stream or call use a new connection if this one is not reliable any more.
  func review(_ connection: Connection, after error: StatusError) {
    guard error.code == .unavailable || error.code == .deadlineExceeded else { return }
    state.withLock { state in
      guard state.connection === connection else { return }
      retire(connection, in: &state)
    }
  }

  private func retire(_ connection: Connection, in state: inout State) {
    state.connection = nil
    state.retired[ObjectIdentifier(connection)] = connection
    connection.retire()
    Task { [weak self] in
      await connection.waitUntilEnded()
      self?.state.withLock { state in
        state.retired[ObjectIdentifier(connection)] = nil
      }
    }
  }
}
