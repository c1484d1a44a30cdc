package import Logging
package import Metrics
internal import NIOCore

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
  private let calls: CallServer
  private let listening: any Channel
  private let connections: OpenConnections
  /// The watch of the index file, the refresh of listeners' tokens, and the look for databases that nobody uses.
  private let periodicTasks: [Task<Void, Never>]
  /// Nil if the program has no metrics backend.
  private let sampler: ServerSampler?
  private let logger: Logger
  /// Triggered at the begin of ``shutdown()``.
  private let stopping: ShutdownSignal
  /// Triggered at the end of ``shutdown()``.
  private let stopped = ShutdownSignal()

  /// Streams get this long to end by themselves before their connections are closed.
  private static let shutdownGrace = Duration.milliseconds(1500)

  /// The time that calls without a connection get to end, and then the databases to be closed. Only a disk that hangs needs it.
  private static let callGrace = Duration.seconds(1)
  private static let closingGrace = Duration.seconds(5)

  /// The interval at which the server looks for databases that nobody uses any more.
  private static let idleCheckInterval = Duration.seconds(60)

  private init(
    stopping: ShutdownSignal, host: String, port: Int, backend: EmbeddedBackend, calls: CallServer,
    listening: any Channel,
    connections: OpenConnections, periodicTasks: [Task<Void, Never>], sampler: ServerSampler?, logger: Logger
  ) {
    self.stopping = stopping
    self.host = host
    self.port = port
    self.backend = backend
    self.calls = calls
    self.listening = listening
    self.connections = connections
    self.periodicTasks = periodicTasks
    self.sampler = sampler
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
  ///   - limits: the limits of connections and calls.
  ///   - access: the web pages that may use the server, and the names by which it is called.
  ///   - allowsShutdown: `POST /shutdown` ends the server.
  ///   - allowsClear: `DELETE /emulator/v1/…` deletes all documents of a database on disk, as it always does of one in memory.
  ///   - interceptor: sees every call that may be made.
  ///   - metrics: gets what ``ServerMetric`` lists.
  ///   - metricsInterval: the interval at which what is in use is reported, beside ``reportUse()``.
  /// - Throws: `ServerError` when the folder cannot be used, when the address cannot be bound, or when it is not a loopback
  ///   address and `openToEveryone` is false.
  package static func start(
    host: String = "127.0.0.1", port: Int = 0, openToEveryone: Bool = false, storage: StorageLocation,
    clock: ServerClock = .system, tokenRefreshInterval: Duration = .seconds(30), indexFile: String? = nil,
    indexFileInterval: Duration = .seconds(1), limits: ServerLimits = ServerLimits(),
    access: WebAccess = WebAccess(), allowsShutdown: Bool = false, allowsClear: Bool = false,
    interceptor: (any CallInterceptor)? = nil,
    metrics: any MetricsFactory = MetricsSystem.factory, metricsInterval: Duration = .seconds(10), logger: Logger
  ) async throws -> EmbeddedServer {
    try await start(
      host: host, port: port, openToEveryone: openToEveryone, storage: storage, clock: clock,
      tokenRefreshInterval: tokenRefreshInterval, indexFile: indexFile, indexFileInterval: indexFileInterval,
      limits: limits, access: access, allowsShutdown: allowsShutdown, allowsClear: allowsClear,
      check: Authorization.check,
      interceptor: interceptor, metrics: metrics, metricsInterval: metricsInterval, prepare: nil, logger: logger)
  }

  /// As above.
  ///
  /// - Parameters:
  ///   - check: refuses calls by their metadata.
  ///   - prepare: adds handlers in front of those of each connection, such as TLS.
  static func start(
    host: String = "127.0.0.1", port: Int = 0, openToEveryone: Bool = false, storage: StorageLocation,
    clock: ServerClock = .system, tokenRefreshInterval: Duration = .seconds(30), indexFile: String? = nil,
    indexFileInterval: Duration = .seconds(1), limits: ServerLimits = ServerLimits(),
    access: WebAccess = WebAccess(), allowsShutdown: Bool = false, allowsClear: Bool = false,
    check: @escaping CallServer.Check,
    interceptor: (any CallInterceptor)? = nil, metrics: any MetricsFactory = MetricsSystem.factory,
    metricsInterval: Duration = .seconds(10), prepare: CallListener.Preparation?, logger: Logger
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
    let limits = withinDescriptors(limits, storage, logger)
    let metrics = ServerMetrics(metrics, allowed: limits.numbers)
    let backend = try EmbeddedBackend(
      location: storage, limits: limits.database, clock: clock,
      readSlots: EmbeddedStorage.readSlots(openFiles: DescriptorLimit.current), metrics: metrics, logger: logger)
    if let indexes { await backend.declare(indexes) }
    let service = FirestoreService(backend: backend)
    let stopping = ShutdownSignal()
    let endRequest = ShutdownSignal()
    var access = access
    access.listeningHost = host
    let shutDown: @Sendable () -> Void = { endRequest.trigger() }
    let mayClear = if case .memory = storage { true } else { allowsClear }
    let web = RESTService(
      access: access, methods: service.methods, clear: mayClear ? service.clear : nil,
      shutDown: allowsShutdown ? shutDown : nil)
    let calls = CallServer(
      services: Self.services(service, stopping), web: web, limits: limits, metrics: metrics, check: check,
      interceptor: interceptor, logger: logger)
    let connections = OpenConnections()
    let listening: any Channel
    do {
      listening = try await CallListener(server: calls, connections: connections, prepare: prepare)
        .listen(host: numericHost, port: port)
    } catch {
      await backend.close()
      throw startFailure(error, host: host, port: port)
    }
    let boundPort = listening.localAddress?.port ?? port
    var tasks = [
      Task { await calls.refreshStreams(of: "Listen", every: tokenRefreshInterval) },
      Task {
        while (try? await Task.sleep(for: idleCheckInterval)) != nil {
          await backend.closeIdle()
          await backend.trimHistories()
        }
      },
    ]
    let sampler = metrics.map {
      ServerSampler(metrics: $0, calls: calls, connections: connections, backend: backend)
    }
    if let sampler { tasks.append(Task { await sampler.sample(every: metricsInterval) }) }
    if let indexFile, let indexStamp {
      tasks.append(
        Task { await indexFile.watch(backend, since: indexStamp, every: indexFileInterval, logger: logger) })
    }
    logger.info("listening", metadata: ["host": "\(host)", "port": "\(boundPort)"])
    let server = EmbeddedServer(
      stopping: stopping, host: host, port: boundPort, backend: backend, calls: calls, listening: listening,
      connections: connections, periodicTasks: tasks, sampler: sampler, logger: logger)
    _ = endRequest.observe { Task { await server.shutdown() } }
    return server
  }

  /// Reduces the connections to those for which the process can have sockets, beside the files of its databases.
  private static func withinDescriptors(
    _ limits: ServerLimits, _ storage: StorageLocation, _ logger: Logger
  ) -> ServerLimits {
    guard let limit = DescriptorLimit.current else { return limits }
    let databases = if case .folder = storage { limits.database.databases } else { 0 }
    let connections = DescriptorLimit.connections(wanted: limits.connections, databases: databases, limit: limit)
    guard connections < limits.connections else { return limits }
    logger.warning(
      "fewer connections than --max-connections: the limit of open files leaves no more (ulimit -n, LimitNOFILE)",
      metadata: ["connections": "\(connections)", "wanted": "\(limits.connections)", "open-files": "\(limit)"])
    var limits = limits
    limits.connections = connections
    return limits
  }

  /// Firestore, and what tools ask about any server of gRPC.
  private static func services(_ firestore: FirestoreService, _ stopping: ShutdownSignal) -> [String: [CallMethod]] {
    let health = HealthService(services: [FirestoreService.name], stopping: stopping)
    var services = [FirestoreService.name: firestore.methods, HealthService.name: health.methods]
    let reflection = ReflectionService(
      .server, services: Array(services.keys) + ReflectionService.names)
    for name in ReflectionService.names { services[name] = reflection.methods }
    return services
  }

  /// Translates the system's reason for not listening into a message about the address.
  private static func startFailure(_ error: any Error, host: String, port: Int) -> ServerError {
    let text = String(describing: error)
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

  /// The connections that are open.
  package var connectionCount: Int { connections.count }
  /// The connections that were refused because there were too many.
  package var refusedConnections: Int { calls.load.refusedConnections }
  /// The calls in progress, and the bytes that they hold for and from clients.
  var load: ServerLoad { calls.load }

  /// Reports what is in use now to the metrics backend, in addition to the reports at intervals.
  package func reportUse() {
    sampler?.sample()
  }

  /// Waits until the server has stopped and its databases are closed.
  ///
  /// - Throws: `ServerError` when it stopped by itself because its socket was closed.
  package func waitUntilStopped() async throws(ServerError) {
    let result: Result<Void, any Error>
    do { result = .success(try await listening.closeFuture.get()) } catch { result = .failure(error) }
    guard stopping.isTriggered else {
      throw ServerError(.transport, "The server stopped by itself: its listening socket was closed (\(result)).")
    }
    await stopped.wait()
  }

  /// Ends all streams, finishes the calls in progress and closes the databases. Clients see UNAVAILABLE and retry until a
  /// server listens again. Returns when the port is free and the databases are closed, most often within two seconds.
  ///
  /// If a disk hangs, it returns after ``shutdownGrace``, ``callGrace`` and ``closingGrace`` (7.5 s) all the same. Databases may be open
  /// then, and go on until their disk answers; commits that were not answered may be in them or not.
  package func shutdown() async {
    guard stopping.trigger() else { return await stopped.wait() }
    logger.info("shutting down")
    connections.refuseNew()
    try? await listening.close().get()
    calls.endStreams()
    connections.beginEnding()
    // Clients that leave a stream half open would keep their connections.
    let connections = connections
    let deadline = Task {
      try await Task.sleep(for: Self.shutdownGrace)
      await connections.closeAll()
    }
    await connections.untilEmpty()
    deadline.cancel()
    // Calls whose connections are closed were cancelled.
    let (load, tasks, backend) = (calls.load, periodicTasks, self.backend)
    let isIdle = await Self.isDone(within: Self.callGrace) { await load.untilIdle() }
    for task in tasks { task.cancel() }
    let isClosed = await Self.isDone(within: Self.closingGrace) {
      for task in tasks { await task.value }
      await backend.close()
    }
    if isIdle, isClosed {
      logger.info("stopped")
    } else {
      logger.warning(
        "stopped before everything had ended: what was not answered may be stored or not",
        metadata: ["calls": "\(load.callCount)", "databases-closed": "\(isClosed)"])
    }
    stopped.trigger()
  }

  /// Waits for work, at most for a time.
  ///
  /// - Returns: false if the work goes on.
  private static func isDone(within time: Duration, _ work: @escaping @Sendable () async -> Void) async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    Task {
      await work()
      end.yield(true)
    }
    let timer = Task {
      try await Task.sleep(for: time)
      end.yield(false)
    }
    defer { timer.cancel() }
    return await ends.first { _ in true } ?? false
  }
}
