internal import BenchmarkKit
internal import Foundation
internal import HearthAuthentication
internal import HearthRPC
internal import Logging

/// The time that it takes to identify a caller by a token, without a server, in a process of its own.
enum TokenCost {
  static let command = "token"

  enum Scenario: String {
    /// The token was verified before.
    case known
    /// Its signature is verified, and is wrong; a good one costs the same.
    case new
  }

  private static let repetitions = [Scenario.known: 20_000, .new: 400]

  /// `token FOLDER TOKEN SCENARIO`, with the folder of ``AccessFiles``: prints a ``Load/Reading``.
  static func main(_ words: [String]) async throws {
    guard words.count == 3, let scenario = Scenario(rawValue: words[2]) else { throw Failure("token: no scenario") }
    let logger = Logger(label: "token") { _ in SwiftLogNoOpLogHandler() }
    let authenticator = try await AccessFiles.authenticator(by: words[0], logger: logger)
    let parts = words[1].split(separator: ".").map(String.init)
    _ = try await authenticator.identify(metadata(words[1]))
    var times: [Double] = []
    for number in 0..<(repetitions[scenario] ?? 0) {
      let token = scenario == .known ? words[1] : "\(parts[0]).\(parts[1]).\(signature(number))"
      let metadata = metadata(token)
      let start = monotonicSeconds
      switch scenario {
      case .known: _ = try authenticator.known(metadata)
      case .new: _ = try? await authenticator.identify(metadata)
      }
      times.append(monotonicSeconds - start)
    }
    let reading = Load.Reading(p50: percentile(50, of: times), p99: percentile(99, of: times), count: times.count)
    try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(reading))
  }

  private static func metadata(_ token: String) -> CallMetadata {
    CallMetadata([(name: "authorization", value: "Bearer \(token)")])
  }

  /// As long as one of a key of 2048 bits.
  private static func signature(_ number: Int) -> String {
    let digits = String(number)
    return digits + String(repeating: "A", count: 342 - digits.count)
  }
}
