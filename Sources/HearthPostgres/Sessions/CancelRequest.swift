#if PostgreSQL
  internal import CPostgres
  internal import Foundation

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// A request to the server to cancel the statement of a session.
  final class CancelRequest: Sendable {
    // Sendable: `PQcancel` only reads it, and may be called from any thread ("even in a thread separate from the one manipulating the
    // PGconn object", section 34.7 of PostgreSQL's manual). It is freed once, by the last owner.
    private nonisolated(unsafe) let pointer: OpaquePointer

    /// - Returns: Nil if the connection is lost.
    init?(_ connection: OpaquePointer) {
      guard let pointer = PQgetCancel(connection) else { return nil }
      self.pointer = pointer
    }

    deinit { PQfreeCancel(pointer) }

    /// Sends the request on a thread of its own: `PQcancel` blocks until the server has answered, and has no deadline.
    ///
    /// - Parameter completion: Called on that thread, also if no server could be asked.
    func send(_ completion: @escaping @Sendable () -> Void) {
      Thread.detachNewThread { [self] in
        // A peer that is gone is an error of `PQcancel`, not a signal for the process. The thread ends with the request.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
          _ = PQcancel(pointer, message.baseAddress, Int32(message.count))
        }
        completion()
      }
    }
  }
#endif
