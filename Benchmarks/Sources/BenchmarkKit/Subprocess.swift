package import Foundation

/// Runs another program and takes what it prints.
package enum Subprocess {
  /// The program has ended with a failure of its own.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Throws: ``Failure`` if the program ends with another status than 0.
  package static func output(of executable: String, _ arguments: [String]) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
    return output
  }
}
