import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The program that shows long output a screen at a time.
struct Pager {
  /// As a shell takes it.
  let command: String

  /// The program that PAGER names, or else less; nil if PAGER is empty or `cat`, and if there is no less.
  static var chosen: Pager? {
    let environment = ProcessInfo.processInfo.environment
    guard let command = environment["PAGER"] else {
      let folders = (environment["PATH"] ?? "").split(separator: ":")
      let isThere = folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/less") }
      return isThere ? Pager(command: "less") : nil
    }
    let trimmed = command.trimmingCharacters(in: .whitespaces)
    return trimmed.isEmpty || trimmed == "cat" ? nil : Pager(command: trimmed)
  }

  /// The status of a shell that does not find a program.
  private static let notFound: Int32 = 127

  /// Shows the lines, until the user has seen enough.
  ///
  /// - Returns: False if the pager could not be started, so that nothing was shown.
  func show(_ lines: [String]) -> Bool {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardInput = pipe
    // Colours as they are, the lines uncut, and the end of the text without another key if it fits the screen.
    process.environment = ProcessInfo.processInfo.environment.merging(["LESS": "FRX"]) { given, _ in given }
    guard (try? process.run()) != nil else { return false }
    // Ctrl-C is for the pager, and one that ends early is no failure.
    let (interrupt, broken) = (signal(SIGINT, SIG_IGN), signal(SIGPIPE, SIG_IGN))
    defer {
      signal(SIGINT, interrupt)
      signal(SIGPIPE, broken)
    }
    try? pipe.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    try? pipe.fileHandleForWriting.close()
    process.waitUntilExit()
    return process.terminationStatus != Self.notFound
  }
}
