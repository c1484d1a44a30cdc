internal import BenchmarkKit
internal import Foundation
internal import HearthServer
internal import Logging
internal import Synchronization

/// A server in a process of its own, so that its memory and processor time are not the benchmark's.
final class ServerProcess {
  static let hostCommand = "host"

  let port: Int
  /// The process that serves; for the emulator not the one that was started.
  let identifier: Int32
  /// Seconds from the start of the process until it listened.
  let startTime: Double

  /// Further arguments of the load generator, so that the server lets it in.
  let loadArguments: [String]

  private let process: Process
  private let input = Pipe()

  var host: String { "127.0.0.1:\(port)" }

  /// Starts a server of this executable, which says its port and ends with its standard input.
  ///
  /// - Parameter words: the command and its arguments.
  init(_ words: [String], loadArguments: [String] = []) throws {
    self.loadArguments = loadArguments
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = words
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    let start = monotonicSeconds
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw Failure("\(words.joined(separator: " ")) does not serve: \(line)")
    }
    startTime = monotonicSeconds - start
    self.port = port
    self.process = process
    identifier = process.processIdentifier
  }

  /// Starts Google's emulator, or returns nil where it is not installed.
  static func emulator(in folder: String) throws -> ServerProcess? {
    guard let gcloud = findProgram("gcloud") else { return nil }
    return try ServerProcess(gcloud: gcloud, folder: folder)
  }

  private init?(gcloud: String, folder: String) throws {
    loadArguments = []
    port = try Self.freePort()
    process = Process()
    process.executableURL = URL(fileURLWithPath: gcloud)
    process.arguments = ["emulators", "firestore", "start", "--host-port=127.0.0.1:\(port)"]
    var environment = ProcessInfo.processInfo.environment
    environment["CLOUDSDK_CONFIG"] = folder
    environment["CLOUDSDK_CORE_DISABLE_PROMPTS"] = "1"
    process.environment = environment
    process.standardInput = input
    let log = folder + "/emulator.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: log)
    process.standardError = process.standardOutput
    let start = monotonicSeconds
    try process.run()
    let started = process.processIdentifier
    Self.foreign.withLock { _ = $0.insert(started) }
    while !Self.accepts(port) {
      // Not installed, or not able to start.
      guard process.isRunning, monotonicSeconds - start < 60 else {
        Self.end(process.processIdentifier)
        return nil
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
    startTime = monotonicSeconds - start
    let all = Self.descendants(of: process.processIdentifier)
    identifier = all.max { residentBytes($0) ?? 0 < residentBytes($1) ?? 0 } ?? process.processIdentifier
  }

  func stop() {
    input.fileHandleForWriting.closeFile()
    let isForeign = Self.foreign.withLock { $0.remove(process.processIdentifier) != nil }
    if isForeign { Self.end(process.processIdentifier) }
    process.waitUntilExit()
  }

  /// The processes that do not end with their standard input.
  private static let foreign = Mutex<Set<Int32>>([])

  /// Lets signals that end this process end them too. The result has to be kept.
  static func endWithSignals() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        for process in foreign.withLock({ $0 }) { end(process) }
        exit(128 + number)
      }
      source.resume()
      return source
    }
  }

  // MARK: - In the server's process

  /// `host [--access FOLDER PROTECTION | --cluster URL] [FOLDER]`: serves the databases of a folder or of a PostgreSQL database, or without one
  /// databases in memory, until standard input ends; with `--access` as ``AccessFiles`` says.
  static func host(_ words: ArraySlice<String>) async throws {
    var words = words
    let logger = Logger(label: "host") { _ in SwiftLogNoOpLogHandler() }
    var access: (folder: String, protection: AccessFiles.Protection)?
    if words.first == "--access" {
      let folder = words.dropFirst().first ?? ""
      let protection = words.dropFirst(2).first.flatMap { Int($0) } ?? 0
      access = (folder, AccessFiles.Protection(rawValue: protection))
      words = words.dropFirst(3)
    }
    let isOfCluster = words.first == ClusterHosts.option
    let storage = try isOfCluster ? ClusterHosts.storage(words.dropFirst()) : words.first.map { .folder($0) } ?? .memory
    var configuration = EmbeddedServer.Configuration(storage: storage)
    if let access {
      try await AccessFiles.configure(&configuration, by: access.folder, access.protection, logger: logger)
    }
    let server = try await EmbeddedServer.start(configuration, logger: logger)
    announce(port: server.port)
    await server.shutdown()
  }

  /// Says the port, and returns when the benchmark is done with the server.
  static func announce(port: Int) {
    FileHandle.standardOutput.write(Data("\(port)\n".utf8))
    while readLine() != nil {}
  }

  // MARK: - Processes

  /// Ends a process and those that it started.
  private static func end(_ identifier: Int32) {
    for process in descendants(of: identifier) + [identifier] { kill(process, SIGTERM) }
  }

  private static func descendants(of identifier: Int32) -> [Int32] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    var parents: [Int32: Int32] = [:]
    for entry in entries {
      // The name, in parentheses, may hold anything (proc(5)).
      guard let number = Int32(entry), let stat = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
        let words = stat.split(separator: ")").last?.split(separator: " "), words.count > 1
      else { continue }
      parents[number] = Int32(words[1])
    }
    var found: [Int32] = []
    var next = [identifier]
    while let parent = next.popLast() {
      let children = parents.filter { $0.value == parent }.map(\.key)
      found += children
      next += children
    }
    return found
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }

  private static func withSocket<T>(_ port: Int, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    #if os(Linux)
      let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let socket = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    defer { close(socket) }
    var address = address(port)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func accepts(_ port: Int) -> Bool {
    withSocket(port) { connect($0, $1, $2) == 0 }
  }

  private static func freePort() throws -> Int {
    let port = withSocket(0) { socket, address, length -> Int? in
      guard bind(socket, address, length) == 0 else { return nil }
      var bound = sockaddr_in()
      var size = length
      let isKnown = withUnsafeMutablePointer(to: &bound) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
      }
      return isKnown ? Int(in_port_t(bigEndian: bound.sin_port)) : nil
    }
    guard let port else { throw Failure("no free port") }
    return port
  }
}

struct Failure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

/// The first program of that name in PATH.
func findProgram(_ name: String) -> String? {
  let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
  return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// The resident size of a process (VmRSS in proc(5)), where the system has such a file.
func residentBytes(_ process: Int32) -> Double? {
  guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
  for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
    return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }.map { $0 * 1024 }
  }
  return nil
}
