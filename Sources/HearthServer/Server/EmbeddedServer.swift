internal import Foundation
package import HearthModel
internal import HearthRPC
package import Logging
internal import NIOCore

/// A running Firestore server: the gRPC service of `google.firestore.v1.Firestore` on top of the databases of its process.
///
/// ```swift
/// let server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
/// print("listening on port \(server.port)")
/// await server.shutdown()
/// ```
///
/// Every caller has full access, unless ``Configuration/callers`` says otherwise.
package final class EmbeddedServer: Sendable {
  /// The address as it was given.
  package let host: String
  /// The port that the server listens on; the one the system chose when 0 was asked for.
  package let port: Int

  private let databases: any Databases
  private let calls: CallServer
  private let listening: any Channel
  private let connections: OpenConnections
  /// The watch of the index file, the refresh of listeners' tokens, and the look for databases that nobody uses.
  private let periodicTasks: [Task<Void, Never>]
  /// Nil if the program has no metrics backend.
  private let sampler: ServerSampler?
  private let logger: Logger
  /// Triggered at the start of ``shutdown()``.
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
    stopping: ShutdownSignal, host: String, port: Int, databases: any Databases, calls: CallServer,
    listening: any Channel, connections: OpenConnections, periodicTasks: [Task<Void, Never>], sampler: ServerSampler?,
    logger: Logger
  ) {
    self.stopping = stopping
    self.host = host
    self.port = port
    self.databases = databases
    self.calls = calls
    self.listening = listening
    self.connections = connections
    self.periodicTasks = periodicTasks
    self.sampler = sampler
    self.logger = logger
  }

  /// Starts a server whose configuration has the given values, and what `configure` changes.
  ///
  /// - Parameters:
  ///   - host: See ``Configuration/host``.
  ///   - port: See ``Configuration/port``.
  ///   - storage: The place of the databases.
  ///   - configure: Sets everything else.
  /// - Throws: As ``start(_:logger:)``.
  package static func start(
    host: String = "127.0.0.1", port: Int = 0, storage: StorageLocation, logger: Logger,
    configure: (inout Configuration) -> Void = { _ in }
  ) async throws -> EmbeddedServer {
    var configuration = Configuration(storage: storage)
    (configuration.host, configuration.port) = (host, port)
    configure(&configuration)
    return try await start(configuration, logger: logger)
  }

  /// Opens the storage, binds the address and serves until ``shutdown()``.
  ///
  /// - Throws: `ServerError` when the folder or the certificate cannot be used, when the address cannot be bound, or when other machines reach
  ///   it although callers are not told apart or their tokens would travel unencrypted.
  package static func start(_ configuration: Configuration, logger: Logger) async throws -> EmbeddedServer {
    if try configuration.checkAddress() {
      logger.warning(
        "open to everyone: every caller of this address may read, write and delete everything",
        metadata: ["host": "\(configuration.host)"])
    }
    let certificate = try configuration.certificate.map { (files) throws(ServerError) in
      try Self.certificate(files, logger)
    }
    let rulesFile = configuration.rulesFile.map { RulesFile(path: $0, of: configuration.callers.rules) }
    if let rulesFile { rulesFile.log(try rulesFile.read(), logger) }
    let indexFile = configuration.indexFile.map(IndexFile.init(path:))
    let indexStamp = indexFile?.stamp
    let indexes = try indexFile?.read()
    if let indexFile, let indexes { indexFile.log(indexes, logger) }
    let databaseLimits = configuration.databaseLimits
    let openFiles = DescriptorLimit.current
    var limits = withinDescriptors(openFiles, configuration, logger)
    limits.failedAuthenticationsPerMinute = configuration.failedAuthenticationsPerMinute
    limits.hasAddressesOfClients = configuration.hasAddressesOfClients
    let metrics = ServerMetrics(configuration.metrics, allowed: limits.numbers(with: databaseLimits))
    let databases = try await configuration.storage.open(
      limits: databaseLimits, clock: configuration.clock, openFiles: openFiles, metrics: metrics, logger: logger)
    if let indexes { await databases.declare(indexes) }
    let service = FirestoreService(sessions: Sessions(databases: databases, accessGuard: configuration.callers.rules))
    let stopping = ShutdownSignal()
    let endRequest = ShutdownSignal()
    let calls = CallServer(
      services: Self.services(service, stopping, databases.availability),
      web: web(of: service, endRequest, databases.availability, configuration, logger),
      limits: limits,
      metrics: metrics, authenticator: configuration.callers.authenticator,
      unserved: { UnservedCalls.reason(call: $0) },
      interceptor: configuration.interceptor, logger: logger)
    let connections = OpenConnections()
    let listening: any Channel
    do {
      let refusals = DescriptorLimit.refusals(beyond: limits.connections)
      listening = try await CallListener(
        server: calls, connections: connections, refusals: refusals,
        prepare: certificate?.prepare ?? configuration.prepare
      ).listen(host: configuration.numericHost, port: configuration.port)
    } catch {
      await databases.close()
      throw startFailure(error, host: configuration.host, port: configuration.port)
    }
    let sampler = metrics.map {
      ServerSampler(
        metrics: $0, calls: calls, connections: connections, databases: databases, targets: service.targets,
        certificate: certificate)
    }
    var tasks = periodicTasks(calls, databases, sampler, configuration)
    if let indexFile, let indexStamp {
      tasks.append(
        Task {
          await indexFile.watch(
            databases, since: indexStamp, every: configuration.intervals.indexFile, logger: logger)
        })
    }
    if let rulesFile {
      tasks.append(Task { await rulesFile.watch(every: configuration.intervals.rulesFile, logger: logger) })
    }
    configuration.callers.rules.observe { [weak calls] in calls?.refreshStreams(of: "Listen") }
    if let certificate {
      tasks.append(Task { await certificate.watch(every: configuration.intervals.certificate) })
    }
    let port = listening.localAddress?.port ?? configuration.port
    logger.debug("listening", metadata: ["host": "\(configuration.host)", "port": "\(port)"])
    let server = EmbeddedServer(
      stopping: stopping, host: configuration.host, port: port, databases: databases, calls: calls,
      listening: listening, connections: connections, periodicTasks: tasks, sampler: sampler, logger: logger)
    _ = endRequest.observe { Task { await server.shutdown() } }
    return server
  }

  private static func certificate(
    _ files: ServerCertificate.Files, _ logger: Logger
  ) throws(ServerError) -> ServerCertificate {
    do {
      return try ServerCertificate(files, logger: logger)
    } catch {
      throw ServerError(.certificate, error.description)
    }
  }

  /// The services that answer requests other than calls of gRPC.
  private static func web(
    of service: FirestoreService, _ endRequest: ShutdownSignal, _ availability: Availability?,
    _ configuration: Configuration, _ logger: Logger
  ) -> RESTService {
    var access = configuration.access
    access.listeningHost = configuration.host
    let shutDown: @Sendable () -> Void = { endRequest.trigger() }
    let mayClear =
      if case .memory = configuration.storage { true } else { configuration.permissions.contains(.clearing) }
    let isDevelopment = configuration.callers.isDevelopment
    let mayShutDown = isDevelopment && configuration.permissions.contains(.shutdown)
    return RESTService(
      access: access, service: FirestoreService.name, methods: service.methods,
      paths: FirestorePaths(
        clear: mayClear ? service.clear(logger) : nil,
        setRules: isDevelopment ? RulesRequest(configuration.callers.rules, logger).method : nil,
        coverage: isDevelopment ? CoverageRequest(configuration.callers.rules) : nil,
        shutDown: mayShutDown ? shutDown : nil, availability: availability))
  }

  private static func periodicTasks(
    _ calls: CallServer, _ databases: any Databases, _ sampler: ServerSampler?, _ configuration: Configuration
  ) -> [Task<Void, Never>] {
    let refresh = Task { await calls.refreshStreams(of: "Listen", every: configuration.intervals.tokenRefresh) }
    let upkeep = Task {
      while (try? await Task.sleep(for: idleCheckInterval)) != nil {
        await databases.tend()
      }
    }
    let watch = Task { await databases.watch(every: configuration.intervals.databases) }
    var tasks = [refresh, upkeep, watch]
    if let availability = databases.availability {
      tasks.append(Task { await endStreams(calls, whenUnavailable: availability) })
    }
    if let sampler { tasks.append(Task { await sampler.sample(every: configuration.intervals.metrics) }) }
    return tasks
  }

  /// Listeners of databases that are out of reach for this time end, so that their clients find another server.
  private static let unavailableTime = Duration.seconds(10)

  private static func endStreams(_ calls: CallServer, whenUnavailable availability: Availability) async {
    while !Task.isCancelled {
      if availability.isAvailable { await availability.change(from: true) }
      let isAvailable = await isDone(within: unavailableTime) { await availability.change(from: false) }
      // Each finds out by itself that it cannot go on.
      if !isAvailable, !Task.isCancelled { calls.refreshStreams(of: "Listen") }
    }
  }

  /// Reduces the number of connections to the file descriptors that the files of the databases leave.
  private static func withinDescriptors(
    _ limit: Int?, _ configuration: Configuration, _ logger: Logger
  ) -> ServerLimits {
    var limits = configuration.limits
    guard let limit else { return limits }
    let files = configuration.storage.descriptors(
      databases: configuration.databaseLimits.databases, openFiles: limit)
    let connections = DescriptorLimit.connections(wanted: limits.connections, files: files, limit: limit)
    guard connections < limits.connections else { return limits }
    logger.warning(
      "fewer connections than --max-connections: the limit of open files leaves no more (ulimit -n, LimitNOFILE)",
      metadata: ["connections": "\(connections)", "wanted": "\(limits.connections)", "open-files": "\(limit)"])
    limits.connections = connections
    return limits
  }

  /// Firestore, and what tools ask about any server of gRPC.
  private static func services(
    _ firestore: FirestoreService, _ stopping: ShutdownSignal, _ availability: Availability?
  ) -> [String: [CallMethod]] {
    let health = HealthService(
      services: [FirestoreService.name], stopping: stopping, availability: availability ?? Availability())
    var services = [FirestoreService.name: firestore.methods, HealthService.name: health.methods]
    let reflection = ReflectionService(
      .server, services: Array(services.keys) + ReflectionService.names)
    // Reflection does not name it: nearly all of that API is not served.
    services[AdminService.name] = AdminService(sessions: firestore.sessions).methods
    for name in ReflectionService.names { services[name] = reflection.methods }
    return services
  }

  /// Translates the system's reason for not listening into a message about the address.
  private static func startFailure(_ error: any Error, host: String, port: Int) -> ServerError {
    switch (error as? IOError)?.errnoCode {
    case EADDRINUSE:
      return ServerError(
        .address, "Port \(port) on \(host) is already in use: stop the program that uses it or choose another port.")
    case EACCES:
      return ServerError(
        .address,
        "Port \(port) on \(host) is not allowed for this user: choose one above 1023, or give the program the capability "
          + "CAP_NET_BIND_SERVICE.")
    case EADDRNOTAVAIL:
      return ServerError(
        .address,
        "Cannot listen on \(host) port \(port): the address is none of this machine. Choose another, such as 127.0.0.1."
      )
    default:
      let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
      return ServerError(.address, "Cannot listen on \(host) port \(port): \(reason).")
    }
  }

  /// The connections that are open.
  package var connectionCount: Int { connections.count }
  /// The connections that were refused because there were too many.
  package var refusedConnections: Int { calls.load.refusedConnections }
  /// The calls in progress, and the bytes that they hold for and from clients.
  var load: ServerLoad { calls.load }

  /// The names of the databases that exist, in order.
  ///
  /// - Throws: `StatusError` if they cannot be found out.
  package func databaseNames() async throws -> [DatabaseID] {
    try await databases.names()
  }

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
      let reason = if case .failure(let error) = result { ": \(error)" } else { "" }
      throw ServerError(.transport, "The server stopped by itself: its listening socket was closed\(reason).")
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
    let (load, tasks, databases) = (calls.load, periodicTasks, self.databases)
    let isIdle = await Self.isDone(within: Self.callGrace) { await load.untilIdle() }
    for task in tasks { task.cancel() }
    let isClosed = await Self.isDone(within: Self.closingGrace) {
      for task in tasks { await task.value }
      await databases.close()
    }
    if isIdle, isClosed {
      logger.info("stopped")
    } else {
      logger.warning(
        "stopped before all calls had ended: unanswered commits may be stored or not",
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
