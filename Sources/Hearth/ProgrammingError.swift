internal import Synchronization

/// A call that breaks a rule of the API: a malformed path, an unsupported value, settings changed too late.
///
/// The official SDK raises an Objective-C exception for it, which Swift programs cannot catch. All checks are throwing functions, so that
/// tests can look at their messages. The public functions do not throw: they pass the error to ``fatalProgrammingError(_:in:file:line:)``. Disk,
/// network, server and file contents never cause such an error.
struct ProgrammingError: Error, Equatable, CustomStringConvertible {
  let message: String
  /// The call that has broken the rule; nil until the error leaves the checks.
  var call: Call?

  /// A function of the public API. The line that called it is in the backtrace alone: a parameter for it would change the signatures of the
  /// official API, which programs pass as functions and repeat in protocols of their own (decision 30).
  struct Call: Equatable {
    let function: String
    /// The place in Hearth that has checked it.
    let file: StaticString
    let line: UInt

    static func == (a: Call, b: Call) -> Bool { a.function == b.function && a.line == b.line }
  }

  init(_ message: String) {
    self.message = message
  }

  var description: String { message }
}

/// The reaction to a broken rule. Tests replace it by one that records the error and ends the thread instead of the process.
let programmingErrorHandler = Mutex<@Sendable (ProgrammingError) -> Never>({ error in
  guard let call = error.call else { fatalError(error.message) }
  fatalError("\(call.function): \(error.message)", file: call.file, line: call.line)
})

/// Stops the process with the message of a broken rule, also in optimised builds.
///
/// - Parameter function: The public function that was called wrongly: that of the caller, unless it passes on another one.
func fatalProgrammingError(
  _ error: ProgrammingError, in function: StaticString = #function, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  var error = error
  error.call = ProgrammingError.Call(function: "\(function)", file: file, line: line)
  let handler = programmingErrorHandler.withLock { $0 }
  handler(error)
}

/// The result of a check, or the end of the process if the caller broke a rule.
///
/// - Parameter function: As in ``fatalProgrammingError(_:in:file:line:)``.
func requireValid<Result: ~Copyable>(
  in function: StaticString = #function, file: StaticString = #fileID, line: UInt = #line,
  _ body: () throws(ProgrammingError) -> Result
) -> Result {
  do {
    return try body()
  } catch {
    fatalProgrammingError(error, in: function, file: file, line: line)
  }
}
