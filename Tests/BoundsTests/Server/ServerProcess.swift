import Foundation
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `hearth serve` as a process of its own, whose memory, files and descriptors can be counted.
///
/// HEARTH_BOUNDS_SERVER names another program than the one that was built, such as one of a release build.
final class ServerProcess {
  /// Small limits, so that a run of seconds reaches them.
  static let flags = [
    "--max-received-bytes", "\(32 << 20)", "--max-request-bytes-in-progress", "\(32 << 20)",
    "--max-queued-bytes", "\(16 << 20)", "--history-megabytes", "32", "--max-wal-megabytes", "64",
    "--metrics-port", "0", "--log-level", "error",
  ]
  /// Descriptors that the process may have. `ulimit -n` sets the hard limit as well, so the server cannot raise it.
  static let descriptorLimit = 256

  let port: Int
  let folder: URL
  let figures: ProcessFigures
  private let process: LineProcess
  private let metricsAddress: URL

  init(folder: URL) async throws {
    let program =
      ProcessInfo.processInfo.environment["HEARTH_BOUNDS_SERVER"].map { URL(fileURLWithPath: $0) }
      ?? Programs.product("hearth")
    process = try LineProcess(
      URL(fileURLWithPath: "/bin/sh"),
      ["-c", "ulimit -n \(Self.descriptorLimit) && exec \"$0\" \"$@\"", program.path]
        + ["serve", "--port", "0", "--data", folder.path] + Self.flags)
    guard let serving = await process.nextLine(), let port = serving.split(separator: ":").last.flatMap({ Int($0) }),
      let metrics = await process.nextLine(),
      let address = metrics.split(separator: " ").last.flatMap({ URL(string: String($0)) })
    else { throw ServerEnded() }
    self.port = port
    figures = ProcessFigures(pid: process.processIdentifier)
    self.folder = folder
    metricsAddress = address
  }

  struct ServerEnded: Error {}

  /// Runs `body` with a server whose data is in a new folder.
  static func withServer(_ body: (ServerProcess) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-bounds-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try await ServerProcess(folder: folder)
    do {
      try await body(server)
      await server.stop()
    } catch {
      await server.stop()
      throw error
    }
  }

  func stop() async {
    process.killAtOnce()
    _ = await process.waitForExit()
  }

  // MARK: - What it uses

  /// Sizes of the files in the data folder: of write-ahead logs, and of all others.
  var fileBytes: (logs: Int, others: Int) {
    var bytes = (logs: 0, others: 0)
    for file in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
      let attributes = try? FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(file).path)
      let size = (attributes?[.size] as? Int) ?? 0
      if file.hasSuffix("-wal") { bytes.logs += size } else { bytes.others += size }
    }
    return bytes
  }

  /// Use of a limit, as the server's own metrics have it.
  func metric(limit: String) async throws -> Double? {
    let (data, _) = try await URLSession.shared.data(for: URLRequest(url: metricsAddress, timeoutInterval: 5))
    let text = String(decoding: data, as: UTF8.self)
    let prefix = "hearth_server_limit_used{limit=\"\(limit)\"} "
    return text.split(separator: "\n").first { $0.hasPrefix(prefix) }.flatMap { Double($0.dropFirst(prefix.count)) }
  }
}
