package import Foundation
internal import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Programs that the tests start: where they are, how they are run, and how their output is read.
package enum Programs {
  /// The folder of the build's executables, next to the test bundle.
  package static var productsFolder: URL {
    #if os(macOS)
      if let bundle = Bundle.allBundles.first(where: { $0.bundlePath.hasSuffix(".xctest") }) {
        return bundle.bundleURL.deletingLastPathComponent()
      }
    #endif
    return URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
  }

  package static func product(_ name: String) -> URL {
    productsFolder.appendingPathComponent(name)
  }

  /// The full path of a program on PATH, or nil.
  package static func find(_ name: String) -> URL? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.lazy.map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  package struct Output: Sendable {
    package var status: Int32
    package var text: String

    package init(status: Int32, text: String) {
      self.status = status
      self.text = text
    }
  }

  /// Runs a program to its end.
  /// - Returns: its exit status and what it wrote, both streams together.
  package static func run(
    _ program: URL, _ arguments: [String], environment: [String: String] = [:]
  ) throws -> Output {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Output(status: process.terminationStatus, text: String(decoding: data, as: UTF8.self))
  }

  /// `run`, without holding up the calling task's thread.
  package static func runInBackground(
    _ program: URL, _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> Output {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try run(program, arguments, environment: environment) })
      }
    }
  }

  /// A port of 127.0.0.1 for a program that takes a while to listen on it.
  ///
  /// Below the ports that systems give to connections and to servers that ask for any (32768 on Linux, 49152 elsewhere): one of those may be
  /// given to another test before the program listens. No port is given twice.
  package static func freePort() throws -> Int {
    for port in (20_000..<32_000).shuffled() where isFree(port) {
      if givenPorts.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw POSIXError(.EADDRINUSE)
  }

  private static let givenPorts = Mutex<Set<Int>>([])

  private static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValueAsInt), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}

#if canImport(Glibc) || canImport(Musl)
  extension __socket_type {
    fileprivate var rawValueAsInt: Int32 { Int32(rawValue) }
  }
#else
  extension Int32 {
    fileprivate var rawValueAsInt: Int32 { self }
  }
#endif
