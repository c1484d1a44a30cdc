import Foundation
import Testing

/// The kind of cache that the client has in a run.
enum SpecMode: String, Sendable, CaseIterable {
  case memoryEager = "memory, eager"
  case memoryLeastRecentlyUsed = "memory, LRU"
  case durable
  /// Several clients on one file.
  case shared = "durable, shared"
}

/// One test of the corpus in one mode.
struct SpecCase: Sendable, CustomTestStringConvertible {
  var file: String
  var name: String
  var mode: SpecMode
  var maxConcurrentLimboResolutions: Int
  var steps: [JSON]

  var testDescription: String { "\(file): \(name) [\(mode.rawValue)]" }
}

/// The tests of a folder in the format of the official SDKs' sync-engine spec tests.
///
/// The folder is the one named by the environment variable `HEARTH_SPEC_TESTS`, or `shared/spec-tests` next to the project's folder.
struct SpecCorpus: Sendable {
  var cases: [SpecCase] = []
  /// Tests that are not run: benchmarks.
  var skippedCount = 0
  /// Files that are not in the format.
  var problems: [String] = []

  private static let namedFolder = ProcessInfo.processInfo.environment["HEARTH_SPEC_TESTS"]

  private static let folder =
    namedFolder.map { URL(fileURLWithPath: $0, isDirectory: true) }
    ?? URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/spec-tests", isDirectory: true)

  /// True if there is a folder to read. A folder that was named must be there: its absence is a failure, not a skip.
  static let isAvailable = namedFolder != nil || FileManager.default.fileExists(atPath: folder.path)

  static let shared = isAvailable ? SpecCorpus(folder: folder) : SpecCorpus()

  init() {}

  init(folder: URL) {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
    } catch {
      problems = ["folder \(folder.path) cannot be read: \(error)"]
      return
    }
    if names.isEmpty { problems = ["folder \(folder.path) holds no JSON file"] }
    var exclusive: [SpecCase] = []
    for file in names.sorted() {
      do {
        let data = try Data(contentsOf: folder.appendingPathComponent(file))
        let tests = try JSONDecoder().decode([String: JSON].self, from: data)
        for (name, test) in tests.sorted(by: { $0.key < $1.key }) { try add(file, name, test, exclusive: &exclusive) }
      } catch {
        problems.append("\(file): \(error)")
      }
    }
    if !exclusive.isEmpty { cases = exclusive }
  }

  private mutating func add(_ file: String, _ name: String, _ test: JSON, exclusive: inout [SpecCase]) throws {
    let tags = Set(try test["tags"]?.strings() ?? [])
    guard let config = test["config"], let steps = try test["steps"]?.array() else {
      throw SpecFailure("\"\(name)\" has no \"config\" or no \"steps\"")
    }
    guard !tags.contains("benchmark") else {
      skippedCount += 1
      return
    }
    let isShared = try tags.contains("multi-client") || config["numClients"]?.integer() ?? 1 > 1
    var modes: [SpecMode] = isShared ? [.shared] : []
    if !isShared, !tags.contains("durable-persistence") {
      modes.append(try config["useEagerGCForMemory"]?.bool() == true ? .memoryEager : .memoryLeastRecentlyUsed)
    }
    if !isShared, !tags.contains("eager-gc") { modes.append(.durable) }
    let limit = try config["maxConcurrentLimboResolutions"]?.integer()
    for mode in modes {
      let test = SpecCase(
        file: file, name: name, mode: mode, maxConcurrentLimboResolutions: limit.flatMap(Int.init(exactly:)) ?? .max,
        steps: steps)
      cases.append(test)
      if tags.contains("exclusive") { exclusive.append(test) }
    }
  }
}
