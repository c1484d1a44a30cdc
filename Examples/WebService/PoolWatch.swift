import Foundation
import ServiceLifecycle

/// Ends the worker when its standard input ends: the pool wants it to, or is gone.
struct PoolWatch: Service {
  func run() async throws {
    let (input, continuation) = AsyncStream.makeStream(of: Void.self)
    Thread.detachNewThread {
      while readLine() != nil {}
      continuation.finish()
    }
    await cancelWhenGracefulShutdown { for await _ in input {} }
  }
}
