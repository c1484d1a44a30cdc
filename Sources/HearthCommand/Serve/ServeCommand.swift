internal import ArgumentParser
internal import Foundation
internal import HearthAuthentication
internal import HearthRPC
internal import HearthServer
internal import Logging
internal import Metrics
internal import ServiceLifecycle
internal import UnixSignals

/// `hearth serve`: runs the server until SIGINT or SIGTERM. A second signal ends the process at once.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve Firestore databases over gRPC and REST.",
    usage: """
      hearth serve --data FOLDER [<options>]
      hearth serve --in-memory [<options>]\(clusterUsage)
      """,
    discussion: """
      Any project and database id is accepted; a database is created by its first write. Point clients at the server with \
      FIRESTORE_EMULATOR_HOST=HOST:PORT. gRPC and REST (HTTP/1.1 and HTTP/2) share the port.

      Web pages may use the server over REST if they come from this machine (http://localhost:PORT and the like) or from an \
      origin that --allow-origin names.

      Without options that say who may call, every caller may read, write and delete everything. So by default only programs on \
      this machine can reach it. With --host and --open-to-everyone, other machines can reach it, too. With --admin-token-file and \
      the like, administrators may do everything and others what --rules allow; where other machines can reach it, the server then \
      demands TLS.
      """)

  #if PostgreSQL
    private static let clusterUsage = "\nhearth serve --storage URL [<options>]"
  #else
    private static let clusterUsage = ""
  #endif

  @OptionGroup(title: "Address and data") var place: PlaceOptions

  @OptionGroup(title: "Callers") var callers: CallerOptions

  @OptionGroup(title: "TLS") var certificate: CertificateOptions

  @OptionGroup(title: "Access") var access: AccessOptions

  @OptionGroup(title: "Indexes") var indexes: IndexOptions

  @OptionGroup(title: "Metrics") var metrics: MetricsOptions

  @OptionGroup(title: "Limits of requests and databases") var limits: LimitOptions

  @OptionGroup(title: "Limits of connections") var connectionLimits: ConnectionLimitOptions

  func validate() throws {
    if let port = metrics.metricsPort, port == place.port, port != 0, metrics.metricsHost == place.host {
      throw ValidationError("--port and --metrics-port are both \(port): choose another --metrics-port.")
    }
    if certificate.tlsAtProxy, callers.maxFailedAuthenticationsPerMinute ?? 0 > 0 {
      throw ValidationError(
        "--max-failed-authentications-per-minute counts by address, and with --tls-at-proxy all callers have that of the proxy: "
          + "use one of them.")
    }
    guard callers.tellsCallersApart else { return }
    guard !access.allowShutdown else {
      throw ValidationError(
        "--allow-shutdown lets everybody end the server, and other options say who may call: use one of them.")
    }
    guard access.openToEveryone else { return }
    throw ValidationError(
      "--open-to-everyone lets every caller do everything, and other options say who may call: use one of them.")
  }

  func run() async throws {
    var logger = Logger(label: "hearth") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = place.level
    DescriptorLimit.raise()
    let prometheus = metrics.metricsPort.map { _ in PrometheusMetrics(help: ServerMetric.helpTexts) }
    let secrets = FilesReadOnce(paths: callers.secretFiles.map(\.path), logger: logger)
    let (server, endpoint): (EmbeddedServer, MetricsEndpoint?)
    do {
      (server, endpoint) = try await start(prometheus, logger)
    } catch {
      Terminal.writeError("hearth serve: \(Terminal.safeLines("\(error)"))")
      throw (error as? ServerError)?.kind == .configuration ? ExitCode.validationFailure : ExitCode.failure
    }
    let running = RunningServer(
      server: server, endpoint: endpoint, secrets: secrets, startReport: await report(server, endpoint, logger))
    // At the level debug, the group prints the whole server with each line.
    var groupLogger = logger
    groupLogger.logLevel = max(logger.logLevel, .info)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(service: running, successTerminationBehavior: .gracefullyShutdownGroup)
        ], gracefulShutdownSignals: Self.endingSignals, logger: groupLogger))
    try await group.run()
  }

  /// The signals that end the server. A daemon gets SIGHUP when its files have changed, which the server notices by itself; on a terminal it means
  /// that nobody is there any more.
  private static var endingSignals: [UnixSignal] {
    guard isatty(STDIN_FILENO) == 0 else { return [.sigterm, .sigint, .sighup] }
    signal(SIGHUP, SIG_IGN)
    return [.sigterm, .sigint]
  }

  private func start(
    _ prometheus: PrometheusMetrics?, _ logger: Logger
  ) async throws -> (EmbeddedServer, MetricsEndpoint?) {
    var serverLimits = limits.limits
    connectionLimits.apply(to: &serverLimits)
    serverLimits.failedAuthenticationsPerMinute = callers.maxFailedAuthenticationsPerMinute
    let secrets = callers.secretFiles + [certificate.files?.key].compactMap { $0 }.map { SecretFile(path: $0) }
    for secret in secrets { secret.warnIfOpenToAll(logger) }
    let callers = try await callers.callers(logger)
    let server = try await EmbeddedServer.start(
      host: place.host, port: place.port, storage: place.storage, logger: logger
    ) {
      $0.callers = callers
      $0.rulesFile = self.callers.rules
      $0.certificate = certificate.files
      if access.openToEveryone { $0.permissions.insert(.openToEveryone) }
      if certificate.tlsAtProxy { $0.permissions.insert(.withoutTLS) }
      if access.allowShutdown { $0.permissions.insert(.shutdown) }
      if access.allowClear { $0.permissions.insert(.clearing) }
      $0.indexFile = indexes.indexes
      $0.limits = serverLimits
      $0.databaseLimits = limits.databaseLimits(requiresIndexes: indexes.requireIndexes)
      $0.access = access.access
      $0.metrics = prometheus ?? MetricsSystem.factory
    }
    do {
      return (server, try await metrics.endpoint(of: server, prometheus, hosts: access.allowHost))
    } catch {
      await server.shutdown()
      throw error
    }
  }

  private func report(_ server: EmbeddedServer, _ endpoint: MetricsEndpoint?, _ logger: Logger) async -> String {
    var report = StartReport(host: server.host, port: server.port, folder: place.data)
    report.storage = place.storageText
    report.usesTLS = certificate.files != nil
    report.tellsCallersApart = callers.tellsCallersApart
    report.rules = callers.rules
    report.usersDatabases = callers.usersDatabases
    report.certificateNames = certificate.names
    do {
      report.databases = try await server.databaseNames()
    } catch {
      logger.warning("the databases cannot be listed", metadata: ["error": .escaped("\(error)")])
    }
    report.metrics = endpoint.map { "http://\(metrics.addressText):\($0.port)/metrics" }
    return report.lines.joined(separator: "\n")
  }
}

/// Stops the server when the process is asked to end.
private struct RunningServer: Service {
  let server: EmbeddedServer
  let endpoint: MetricsEndpoint?
  let secrets: FilesReadOnce
  /// Printed when the service runs. Then the group takes signals, so that a program that reads this may send one at once.
  let startReport: String

  /// Added to a signal's number in the exit status of a process that the signal has ended, as shells do.
  private static let signalStatus: Int32 = 128
  private static let secretsInterval = Duration.seconds(1)

  func run() async throws {
    Terminal.write(startReport)
    let watch = Task { await secrets.watch(every: Self.secretsInterval) }
    defer { watch.cancel() }
    try await withGracefulShutdownHandler {
      try await server.waitUntilStopped()
    } onGracefulShutdown: {
      Task { await server.shutdown() }
      Task {
        // The first signal was taken by the service group. The sender of a second one does not want to wait.
        for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
          // Without what `exit` still runs, which could wait for the same disk. What is committed is on it.
          _exit(Self.signalStatus + signal.rawValue)
        }
      }
    }
    await endpoint?.stop()
  }
}
