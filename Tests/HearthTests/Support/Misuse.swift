import Foundation
import Synchronization

@testable import Hearth

/// Calls that stop the process, made so that they stop a thread only.
///
/// The thread of a call that breaks a rule is parked for good, because nothing may return from where the process would have
/// stopped. It holds no lock, and it ends with the process.
enum Misuse {
  private static let observers = Mutex<[ObjectIdentifier: @Sendable (ProgrammingError) -> Void]>([:])

  private static let installed: Void = programmingErrorHandler.withLock {
    $0 = { error in
      guard let observer = observers.withLock({ $0.removeValue(forKey: ObjectIdentifier(Thread.current)) }) else {
        fatalError(error.message)
      }
      observer(error)
      let never = DispatchSemaphore(value: 0)
      while true { never.wait() }
    }
  }

  /// The message with which a call would have stopped the process, or nil if it returned.
  static func message(_ call: @escaping @Sendable () -> Void) async -> String? {
    await error(call)?.message
  }

  /// As ``message(_:)``, with the name of the call.
  static func error(_ call: @escaping @Sendable () -> Void) async -> ProgrammingError? {
    _ = installed
    return await withCheckedContinuation { continuation in
      let thread = Thread {
        let id = ObjectIdentifier(Thread.current)
        observers.withLock { $0[id] = { continuation.resume(returning: $0) } }
        call()
        guard observers.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
        continuation.resume(returning: nil)
      }
      thread.stackSize = 512 * 1024
      thread.start()
    }
  }
}
