import ArgumentParser
import Logging
import ServiceLifecycle
import UnixSignals

/// `webservice serve`: starts the workers, and stops them in good order after SIGTERM or SIGINT.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Start the workers.")

  @Option(help: "The number of worker processes.")
  var workers = 3

  @OptionGroup var options: ServiceOptions

  func validate() throws {
    guard (1...64).contains(workers) else { throw ValidationError("--workers \(workers): choose 1 to 64.") }
    guard options.port == 0 || options.port + workers <= 65536 else {
      throw ValidationError("There are not \(workers) ports from \(options.port) on.")
    }
  }

  func run() async throws {
    let logger = Logger(label: "webservice") { StreamLogHandler.standardError(label: $0) }
    let ports = (0..<workers).map { options.port == 0 ? 0 : options.port + $0 }
    let pool = WorkerPool(
      arguments: ports.map { port in
        ["work", "--host", options.host, "--project", options.project, "--cache", options.cache, "--port", "\(port)"]
      }, logger: logger)
    let group = ServiceGroup(
      configuration: .init(services: [pool], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }
}
