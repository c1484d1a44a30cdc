package import Foundation

/// Runs another program and takes what it prints.
package enum Subprocess {
  /// The program has ended with a failure of its own.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Throws: ``Failure`` if the program ends with another status than 0.
  package static func output(of executable: String, _ arguments: [String]) throws -> Data {
    try outputs(of: executable, [arguments])[0]
  }

  /// Runs a program several times at once. What each prints is short: it is read when all run.
  ///
  /// - Throws: As ``output(of:_:)``.
  package static func outputs(of executable: String, _ arguments: [[String]]) throws -> [Data] {
    let started = try arguments.map { arguments in
      let (process, pipe) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: executable)
      process.arguments = arguments
      process.standardOutput = pipe
      try process.run()
      return (process, pipe, arguments)
    }
    return try started.map { process, pipe, arguments in
      let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(description: "\(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
      }
      return output
    }
  }
}
