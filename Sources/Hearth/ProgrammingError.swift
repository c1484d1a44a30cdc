internal import Synchronization

/// A call that breaks a rule of the API: a malformed path, an unsupported value, settings changed too late.
///
/// The official SDK raises an Objective-C exception for it, which Swift programs cannot catch. All checks are throwing functions, so that
/// tests can look at their messages. The public functions do not throw: they pass the error to ``fatalProgrammingError(_:)``. Disk,
/// network, server and file contents never cause such an error.
struct ProgrammingError: Error, Equatable, CustomStringConvertible {
  let message: String

  init(_ message: String) {
    self.message = message
  }

  var description: String { message }
}

/// The reaction to a broken rule. Tests replace it by one that records the error and ends the thread instead of the process.
let programmingErrorHandler = Mutex<@Sendable (ProgrammingError) -> Never>({ fatalError($0.message) })

/// Stops the process with the message of a broken rule, also in optimised builds.
func fatalProgrammingError(_ error: ProgrammingError) -> Never {
  let handler = programmingErrorHandler.withLock { $0 }
  handler(error)
}

/// The result of a check, or the end of the process if the caller broke a rule.
func requireValid<Result: ~Copyable>(_ body: () throws(ProgrammingError) -> Result) -> Result {
  do {
    return try body()
  } catch {
    fatalProgrammingError(error)
  }
}
