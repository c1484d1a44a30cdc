internal import BenchmarkKit
internal import Foundation

/// Runs the load generator for one scenario: Benchmarks/Peers/load, or ``SwiftLoad``.
struct Load {
  /// The program, and what comes before its options.
  let command: [String]

  /// The generator's output: `Result` in its main.go.
  struct Reading: Codable {
    var rate: Double?
    var p50: Double?
    var p99: Double?
    var worst: Double?
    var bytes: Double?
    var processor: Double?
    var count: Int?
    var note: String?
  }

  func run(_ scenario: String, on server: ServerProcess, _ options: [String: Double]) throws -> Reading {
    try run(scenario, on: server, options, collection: "places")
  }

  func run(
    _ scenario: String, on server: ServerProcess, _ options: [String: Double], collection: String
  ) throws -> Reading {
    try run(scenario, onEachOf: [server], options, collection: collection)[0]
  }

  /// Runs a generator for each server at once.
  func run(
    _ scenario: String, onEachOf servers: [ServerProcess], _ options: [String: Double], collection: String
  ) throws -> [Reading] {
    let words = servers.map { server in
      Array(command.dropFirst()) + [
        "-host", server.host, "-process", "\(server.identifier)", "-collection", collection,
      ]
        + server.loadArguments
        + options.flatMap { ["-\($0.key)", $0.value == $0.value.rounded() ? "\(Int($0.value))" : "\($0.value)"] }
        + [scenario]
    }
    do {
      return try Subprocess.outputs(of: command[0], words).map { try JSONDecoder().decode(Reading.self, from: $0) }
    } catch is Subprocess.Failure {
      return servers.map { _ in Reading(note: "failed") }
    }
  }
}
