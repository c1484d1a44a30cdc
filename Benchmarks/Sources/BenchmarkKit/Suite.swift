internal import Foundation

/// The benchmarks of one executable, and what it does when it is started.
///
/// `run` measures everything: each benchmark at each size in a process of its own, so that one's memory is not
/// another's. `list`, `fixture` and `case` are what that process is told; they answer in JSON on standard output.
public struct Suite {
  public var benchmarks: [Benchmark]
  /// Prepares what the benchmarks of one size read, in an empty folder.
  public var makeFixtures: ((_ size: Int, _ folder: String) throws -> Void)?

  public init(_ benchmarks: [Benchmark], makeFixtures: ((_ size: Int, _ folder: String) throws -> Void)? = nil) {
    self.benchmarks = benchmarks
    self.makeFixtures = makeFixtures
  }

  struct Entry: Codable {
    var name: String
    var sizes: [Int]
    var needsFixtures: Bool
  }

  public func main(_ arguments: [String] = CommandLine.arguments) -> Never {
    do {
      try execute(arguments)
      exit(0)
    } catch {
      FileHandle.standardError.write(Data("benchmark: \(error)\n".utf8))
      exit(1)
    }
  }

  private func execute(_ arguments: [String]) throws {
    let words = Array(arguments.dropFirst())
    switch words.first {
    case "list":
      let entries = benchmarks.map { Entry(name: $0.name, sizes: $0.sizes, needsFixtures: makeFixtures != nil) }
      try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(entries))
    case "fixture" where words.count == 3:
      guard let size = Int(words[1]) else { throw UsageError() }
      try makeFixtures?(size, words[2])
    case "case" where words.count == 6:
      guard let size = Int(words[2]), let repetitions = Int(words[3]),
        let benchmark = benchmarks.first(where: { $0.name == words[1] })
      else { throw UsageError() }
      let session = Session(
        benchmark, size: size, folder: words[4], fixtures: words[5], repetitions: repetitions)
      try benchmark.body(session)
      try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(session.measurement))
    default:
      try Runner(Runner.Options(words)).run()
    }
  }
}

struct UsageError: Error, CustomStringConvertible {
  var description: String {
    """
    usage: scripts/bench [--quick] [--client] [--filter TEXT] [--repetitions N] [--results FOLDER]
      --quick            only the largest size of each operation
      --client           also what goes through the public API
      --filter TEXT      only benchmarks whose name contains TEXT
      --repetitions N    instead of 5
      --results FOLDER   where JSON and charts go, instead of Benchmarks/results
    """
  }
}
