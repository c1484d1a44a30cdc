package import GRPCCore
internal import GRPCNIOTransportHTTP2
package import Logging

/// A running Firestore server: the gRPC service of `google.firestore.v1.Firestore` on top of the embedded storage.
///
/// ```swift
/// let server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
/// print("listening on port \(server.port)")
/// await server.shutdown()
/// ```
///
/// Requests without an `authorization` header and those of `Bearer owner` have full access.
package final class EmbeddedServer: Sendable {
  /// The address as it was given.
  package let host: String
  /// The port that the server listens on; the one the system chose when 0 was asked for.
  package let port: Int

  private let backend: EmbeddedBackend
  private let transportServer: GRPCServer<HTTP2ServerTransport.Custom<GuardedListener>>
  private let serving: Task<Void, any Error>
  private let connections: OpenConnections
  /// Watches the index file, and closes idle databases.
  private let housekeeping: [Task<Void, Never>]
  private let logger: Logger
  /// Triggered at the end of ``shutdown()``.
  private let stopped = ShutdownSignal()

  /// Streams get this long to end by themselves before their connections are closed.
  private static let shutdownGrace = Duration.milliseconds(1500)

  /// The interval at which the server looks for databases that nobody uses any more.
  private static let idleCheckInterval = Duration.seconds(60)

  /// Largest request message, in bytes. Commits may have 10 MiB; official clients allow 17 MiB both ways.
  private static let maximumRequestBytes = 17 * 1024 * 1024

  private init(
    host: String, port: Int, backend: EmbeddedBackend,
    transportServer: GRPCServer<HTTP2ServerTransport.Custom<GuardedListener>>, serving: Task<Void, any Error>,
    connections: OpenConnections, housekeeping: [Task<Void, Never>], logger: Logger
  ) {
    self.host = host
    self.port = port
    self.backend = backend
    self.transportServer = transportServer
    self.serving = serving
    self.connections = connections
    self.housekeeping = housekeeping
    self.logger = logger
  }

  /// Opens the storage, binds the address and serves until ``shutdown()``.
  ///
  /// - Parameters:
  ///   - host: an IP address of this machine, or `localhost`.
  ///   - port: 0...65535; 0 lets the system choose, see ``port``.
  ///   - storage: the place of the databases.
  ///   - clock: commit times come from here.
  ///   - openToEveryone: serve on an address that other machines reach. Every caller may then read and write everything.
  ///   - tokenRefreshInterval: the interval at which an idle listen stream gets a fresh resume token, if there were commits.
  ///   - indexFile: the path of a `firestore.indexes.json` whose indexes every database gets. It is read again when it changes.
  ///   - indexFileInterval: the interval at which the server looks for a change of the file.
  ///   - connectionLimits: the limits of one connection.
  ///   - interceptors: see every call that may be made.
  /// - Throws: `ServerError` when the folder cannot be used, when the address cannot be bound, or when it is not a loopback
  ///   address and `openToEveryone` is false.
  package static func start(
    host: String = "127.0.0.1", port: Int = 0, openToEveryone: Bool = false, storage: StorageLocation,
    clock: ServerClock = .system, tokenRefreshInterval: Duration = .seconds(30), indexFile: String? = nil,
    indexFileInterval: Duration = .seconds(1), connectionLimits: ConnectionLimits = ConnectionLimits(),
    interceptors: [any ServerInterceptor] = [], logger: Logger
  ) async throws -> EmbeddedServer {
    guard (0...65535).contains(port) else {
      throw ServerError(.address, "Port \(port) does not exist: choose one between 0 and 65535.")
    }
    let numericHost = host == "localhost" ? "127.0.0.1" : host
    guard let reach = AddressReach(numericHost: numericHost) else {
      throw ServerError(
        .address, "Cannot listen on \(host): the host must be localhost or an IP address of this machine.")
    }
    if reach == .otherMachines {
      guard openToEveryone else {
        throw ServerError(
          .address,
          "\(host) can be reached from other machines, and this server cannot tell callers apart yet: every caller "
            + "may read, write and delete everything. Use a loopback address such as 127.0.0.1, or say "
            + "--open-to-everyone if that is what you want.")
      }
      logger.warning(
        "open to everyone: every caller of this address may read, write and delete everything",
        metadata: ["host": "\(host)"])
    }
    let indexFile = indexFile.map(IndexFile.init(path:))
    let indexStamp = indexFile?.stamp
    let indexes = try indexFile?.read()
    let backend = try EmbeddedBackend(location: storage, clock: clock, logger: logger)
    if let indexes { await backend.declare(indexes) }
    let listener = GuardedListener(host: numericHost, port: port, limits: connectionLimits, logger: logger)
    let transport = listener.makeTransport(maximumRequestBytes: maximumRequestBytes)
    let service = FirestoreService(backend: backend, logger: logger, tokenRefreshInterval: tokenRefreshInterval)
    let server = GRPCServer(
      transport: transport, services: [service], interceptors: [AuthorizationInterceptor()] + interceptors)
    let serving = Task { try await server.serve() }
    let address = await transport.listeningAddress
    guard let boundPort = address?.ipv4?.port ?? address?.ipv6?.port else {
      server.beginGracefulShutdown()
      await backend.close()
      throw await startFailure(of: serving, host: host, port: port)
    }
    var housekeeping = [
      Task {
        while (try? await Task.sleep(for: idleCheckInterval)) != nil { await backend.closeIdle() }
      }
    ]
    if let indexFile, let indexStamp {
      housekeeping.append(
        Task { await indexFile.watch(backend, since: indexStamp, every: indexFileInterval, logger: logger) })
    }
    logger.info("listening", metadata: ["host": "\(host)", "port": "\(boundPort)"])
    return EmbeddedServer(
      host: host, port: boundPort, backend: backend, transportServer: server, serving: serving,
      connections: listener.connections, housekeeping: housekeeping, logger: logger)
  }

  /// Translates the transport's reason for not listening into a message about the address.
  private static func startFailure(
    of serving: Task<Void, any Error>, host: String, port: Int
  ) async -> ServerError {
    var text = "the transport has no address"
    do { try await serving.value } catch { text = String(describing: (error as? RuntimeError)?.cause ?? error) }
    if text.contains("Address already in use") {
      return ServerError(
        .address, "Port \(port) on \(host) is already in use: stop the program that uses it or choose another port.")
    }
    if text.contains("Permission denied") {
      return ServerError(.address, "Port \(port) on \(host) is not allowed for this user: choose one above 1023.")
    }
    return ServerError(
      .address, "Cannot listen on \(host) port \(port): \(text) (the host must be an IP address of this machine).")
  }

  /// Waits until the server has stopped and its databases are closed.
  ///
  /// - Throws: `ServerError` when it stopped by itself because the transport failed.
  package func waitUntilStopped() async throws(ServerError) {
    let result = await serving.result
    if backend.shutdownSignal.isTriggered {
      await stopped.wait()
    } else if case .failure(let error) = result {
      throw ServerError(.transport, "The server stopped by itself: \(error)")
    }
  }

  /// Ends all streams, finishes the calls in progress and closes the databases. Clients see UNAVAILABLE and retry until a
  /// server listens again. Returns when the port is free, at the latest after about two seconds.
  package func shutdown() async {
    logger.info("shutting down")
    backend.shutdownSignal.trigger()
    connections.refuseNew()
    transportServer.beginGracefulShutdown()
    let (serving, connections) = (serving, connections)
    let deadline = Task {
      try await Task.sleep(for: Self.shutdownGrace)
      await Self.cancel(serving, closing: connections)
    }
    _ = await serving.result
    deadline.cancel()
    for task in housekeeping {
      task.cancel()
      await task.value
    }
    await backend.close()
    logger.info("stopped")
    stopped.trigger()
  }

  /// Closes all connections, and cancels the task that takes their streams only after that: see ``OpenConnections``.
  ///
  /// gRPC's transport alone would wait for clients that leave a stream half open.
  static func cancel(_ serving: Task<Void, any Error>, closing connections: OpenConnections) async {
    await connections.closeAll()
    serving.cancel()
  }
}
