package import Foundation

#if canImport(Darwin)
  internal import Synchronization
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Programs {
  /// Runs a program on a pseudo-terminal of its own, to its end.
  ///
  /// - Parameter typing: The answers of a person, with the ends of lines. The terminal shows them, too.
  /// - Returns: its exit status and what the terminal got, with ends of lines as the program wrote them.
  package static func runOnTerminal(
    _ program: URL, _ arguments: [String], columns: Int = 80, rows: Int = 1000, typing: String = "",
    environment: [String: String] = [:]
  ) async throws -> Output {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            try onTerminal(
              program, arguments, columns: columns, rows: rows, typing: typing, environment: environment)
          })
      }
    }
  }

  private static func onTerminal(
    _ program: URL, _ arguments: [String], columns: Int, rows: Int, typing: String, environment: [String: String]
  ) throws -> Output {
    let (near, far) = try openTerminal(columns: columns, rows: rows)
    let reader = FileHandle(fileDescriptor: near, closeOnDealloc: true)
    let terminal = FileHandle(fileDescriptor: far, closeOnDealloc: false)
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm-256color"]) { $1 }
      .merging(environment) { $1 }
    process.standardInput = terminal
    process.standardOutput = terminal
    process.standardError = terminal
    try process.run()
    close(far)
    // The terminal keeps it until the program reads a line.
    if !typing.isEmpty { try reader.write(contentsOf: Data(typing.utf8)) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = read(reader.fileDescriptor, &buffer, buffer.count)
      // Linux answers EIO when the last process has closed the terminal.
      guard count > 0 else { break }
      data.append(contentsOf: buffer[..<count])
    }
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
    return Output(status: process.terminationStatus, text: text)
  }

  private static func openTerminal(columns: Int, rows: Int) throws -> (near: Int32, far: Int32) {
    let (near, name) = try openNearEnd()
    let far = open(name, O_RDWR | O_NOCTTY)
    guard far >= 0 else { throw POSIXError(.ENXIO) }
    for descriptor in [near, far] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    var size = winsize()
    (size.ws_col, size.ws_row) = (UInt16(columns), UInt16(rows))
    _ = ioctl(far, UInt(TIOCSWINSZ), &size)
    return (near, far)
  }

  #if canImport(Darwin)
    private static func openNearEnd() throws -> (Int32, far: String) {
      let near = posix_openpt(O_RDWR | O_NOCTTY)
      guard near >= 0, grantpt(near) == 0, unlockpt(near) == 0 else { throw POSIXError(.ENXIO) }
      // `ptsname` has one buffer for all threads.
      let name = naming.withLock { _ in ptsname(near).map { String(cString: $0) } }
      guard let name else { throw POSIXError(.ENXIO) }
      return (near, name)
    }

    private static let naming = Mutex(())
  #else
    /// Linux's TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)): the functions of the C library for them are not visible to Swift.
    private static let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))

    private static func openNearEnd() throws -> (Int32, far: String) {
      let near = open("/dev/ptmx", O_RDWR | O_NOCTTY)
      var (lock, number) = (Int32(0), UInt32(0))
      guard near >= 0, ioctl(near, setLock, &lock) == 0, ioctl(near, getNumber, &number) == 0 else {
        throw POSIXError(.ENXIO)
      }
      return (near, "/dev/pts/\(number)")
    }
  #endif
}
