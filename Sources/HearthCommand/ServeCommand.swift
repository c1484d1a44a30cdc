internal import ArgumentParser
internal import Foundation
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
    discussion: """
      Any project and database id is accepted; a database is created by its first write. Point clients at \
      the server with FIRESTORE_EMULATOR_HOST=HOST:PORT. gRPC and REST (HTTP/1.1 and HTTP/2) share the port.

      Web pages may use the server over REST if they come from this machine (http://localhost:PORT and the like) or from an \
      origin that --allow-origin names.

      The server cannot tell callers apart yet: every caller may read, write and delete everything. So it listens on \
      addresses of other machines only with --open-to-everyone.
      """)

  @Option(help: "The IP address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 lets the system choose.")
  var port = 8080

  @Flag(help: "Listen on an address that other machines reach: every caller may then read and write everything.")
  var openToEveryone = false

  @Option(help: "The folder that holds the databases; it is created when it is missing.")
  var data: String?

  @Flag(help: "Keep the databases in memory: they are gone when the server stops.")
  var inMemory = false

  @Option(
    help: """
      A firestore.indexes.json whose indexes every database gets; it is read again when it changes. Other indexes are made \
      by need.
      """)
  var indexes: String?

  @Flag(
    help: """
      Refuse queries for which production demands an index that is not declared with --indexes. The error says which one.
      """)
  var requireIndexes = false

  @Option(
    help: ArgumentHelp(
      "An origin whose web pages may use the server, such as https://app.example.com; * allows all. Can be repeated.",
      valueName: "origin"))
  var allowOrigin: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      A name by which clients of REST call the server, beside localhost and the address that it listens on; * allows all. \
      Can be repeated.
      """, valueName: "name"))
  var allowHost: [String] = []

  @Flag(help: "End the server on the request POST /shutdown.")
  var allowShutdown = false

  @Flag(
    help: """
      Delete all documents of a database on the request DELETE /emulator/v1/projects/PROJECT/databases/DATABASE/documents, which \
      is always allowed with --in-memory.
      """)
  var allowClear = false

  @OptionGroup(title: "Metrics") var metrics: MetricsOptions

  @OptionGroup(title: "Limits") var limits: LimitOptions

  @Option(help: "How much to log to standard error: \(ServeCommand.levelNames).")
  var logLevel = "info"

  private static let levelNames = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

  func validate() throws {
    guard (0...65535).contains(port) else {
      throw ValidationError("Port \(port) does not exist: choose one between 0 and 65535.")
    }
    guard (data != nil) != inMemory else {
      throw ValidationError("Say where the databases are to be kept: either --data FOLDER or --in-memory.")
    }
    for origin in allowOrigin where origin != "*" {
      guard let scheme = origin.range(of: "://"), !scheme.isEmpty, !origin[scheme.upperBound...].isEmpty,
        !origin[scheme.upperBound...].contains("/")
      else {
        throw ValidationError(
          "--allow-origin is \(origin): say scheme and host, such as https://app.example.com, or *.")
      }
    }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("Log level \"\(logLevel)\" does not exist: choose one of \(Self.levelNames).")
    }
  }

  func run() async throws {
    var logger = Logger(label: "hearth") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = Logger.Level(rawValue: logLevel) ?? .info
    DescriptorLimit.raise()
    let storage: StorageLocation = data.map { .folder($0) } ?? .memory
    var access = WebAccess()
    access.origins = allowOrigin
    access.hosts = allowHost
    let prometheus = metrics.metricsPort.map { _ in PrometheusMetrics(help: ServerMetric.helpTexts) }
    let server: EmbeddedServer
    let endpoint: MetricsEndpoint?
    do {
      server = try await EmbeddedServer.start(host: host, port: port, storage: storage, logger: logger) {
        $0.openToEveryone = openToEveryone
        $0.indexFile = indexes
        $0.limits = limits.limits
        $0.databaseLimits = limits.databaseLimits(requiresIndexes: requireIndexes)
        $0.access = access
        $0.allowsShutdown = allowShutdown
        $0.allowsClear = allowClear
        $0.metrics = prometheus ?? MetricsSystem.factory
      }
      do {
        endpoint = try await metrics.endpoint(of: server, prometheus, hosts: allowHost)
      } catch {
        await server.shutdown()
        throw error
      }
    } catch {
      FileHandle.standardError.write(Data("hearth serve: \(error)\n".utf8))
      throw ExitCode.failure
    }
    print("Hearth is serving on \(server.host):\(server.port)")
    if let endpoint { print("Metrics are at http://\(metrics.addressText):\(endpoint.port)/metrics") }
    fflush(nil)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(
            service: RunningServer(server: server, endpoint: endpoint),
            successTerminationBehavior: .gracefullyShutdownGroup)
        ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }
}

/// Stops the server when the process is asked to end.
private struct RunningServer: Service {
  let server: EmbeddedServer
  let endpoint: MetricsEndpoint?

  /// Added to a signal's number in the exit status of a process that the signal has ended, as shells do.
  private static let signalStatus: Int32 = 128

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await server.waitUntilStopped()
    } onGracefulShutdown: {
      Task { await server.shutdown() }
      Task {
        // The first signal was taken by the service group. Whoever sends a second one does not want to wait.
        for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
          // Without what `exit` still runs, which could wait for the same disk. What is committed is on it.
          _exit(Self.signalStatus + signal.rawValue)
        }
      }
    }
    await endpoint?.stop()
  }
}
