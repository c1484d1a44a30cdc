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

  /// Starts a worker, and another one in its place when it ends.
  ///
  /// The shared cache needs no repair. The other workers have taken over the connection meanwhile, and send what was stored.
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
