import ArgumentParser
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import UnixSignals

/// `webservice work`: a worker, which answers HTTP requests from the shared cache.
struct Work: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Be one of the workers.", shouldDisplay: false)

  @OptionGroup var options: ServiceOptions

  func run() async throws {
    let logger = Logger(label: "worker-\(getpid())") { StreamLogHandler.standardError(label: $0) }
    let store = ItemStore(host: options.host, project: options.project, cache: options.cache, logger: logger)
    let application = Application(
      router: ItemRoutes(store: store).router,
      configuration: .init(address: .hostname("127.0.0.1", port: options.port), serverName: "hearth-webservice"),
      onServerRunning: { channel in
        let line = "worker \(getpid()) listens on port \(channel.localAddress?.port ?? 0)\n"
        FileHandle.standardOutput.write(Data(line.utf8))
      },
      logger: logger)
    // Shut down in the reverse order: first no more requests, then the database.
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: store),
          .init(service: application),
          .init(service: PoolWatch(), successTerminationBehavior: .gracefullyShutdownGroup),
        ],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }
}
