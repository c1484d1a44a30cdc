import Logging
import ServiceLifecycle

/// Keeps the worker processes running until the service is shut down.
struct WorkerPool: Service {
  /// The arguments of each worker.
  let arguments: [[String]]
  let logger: Logger

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in arguments {
        group.addTask { try await keepRunning(worker) }
      }
      try await group.waitForAll()
    }
  }

  /// Starts a worker, and replaces it when it ends.
  ///
  /// The shared cache needs no repair. By then another worker has taken over the connection, and sends the stored writes.
  private func keepRunning(_ arguments: [String]) async throws {
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      let worker = try WorkerProcess(arguments: arguments)
      let status = await withGracefulShutdownHandler {
        await worker.end()
      } onGracefulShutdown: {
        worker.askToEnd()
      }
      if Task.isShuttingDownGracefully { return }
      logger.warning("a worker has ended, another one takes its place", metadata: ["status": "\(status)"])
      // A worker that cannot start at all, for example because its port is taken, must not fill the log.
      await cancelWhenGracefulShutdown { try? await Task.sleep(for: .seconds(1)) }
    }
  }
}
