internal import Foundation

/// Measures all benchmarks, one process after the other, and writes what came out.
struct Runner {
  struct Options {
    var isQuick = false
    var filter = ""
    var repetitions: Int?
    var results = "Benchmarks/results"
    /// The executables with benchmarks; the one that runs is always among them.
    var executables: [String] = []

    init(_ words: [String]) throws {
      var words = words[...]
      if words.first == "run" { words.removeFirst() }
      while let word = words.popFirst() {
        switch word {
        case "--quick": isQuick = true
        case "--filter": filter = try Self.value(&words)
        case "--results": results = try Self.value(&words)
        case "--also": executables.append(try Self.value(&words))
        case "--repetitions":
          guard let number = Int(try Self.value(&words)), number > 0 else { throw UsageError() }
          repetitions = number
        default: throw UsageError()
        }
      }
    }

    private static func value(_ words: inout ArraySlice<String>) throws -> String {
      guard let value = words.popFirst() else { throw UsageError() }
      return value
    }
  }

  let options: Options

  init(_ options: Options) {
    self.options = options
  }

  func run() throws {
    let scratch = NSTemporaryDirectory() + "/hearth-bench-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: scratch) }
    var measurements: [Measurement] = []
    var fixtures: Set<String> = []
    for executable in [CommandLine.arguments[0]] + options.executables {
      let entries = try JSONDecoder().decode([Suite.Entry].self, from: Subprocess.output(of: executable, ["list"]))
      for entry in entries where options.filter.isEmpty || entry.name.contains(options.filter) {
        for size in sizes(entry) {
          let fixture = "\(scratch)/fixture-\(size)"
          if entry.needsFixtures, fixtures.insert(fixture).inserted {
            try FileManager.default.createDirectory(atPath: fixture, withIntermediateDirectories: true)
            _ = try Subprocess.output(of: executable, ["fixture", "\(size)", fixture])
          }
          let folder = "\(scratch)/case"
          try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
          let words = ["case", entry.name, "\(size)", "\(options.repetitions ?? 5)", folder, fixture]
          let measurement = try JSONDecoder().decode(Measurement.self, from: Subprocess.output(of: executable, words))
          try FileManager.default.removeItem(atPath: folder)
          if measurements.last?.group != measurement.group { print(Table.header(measurement.group)) }
          print(Table.row(measurement))
          measurements.append(measurement)
        }
      }
    }
    try Report(measurements).write(to: options.results)
    print("\n" + Table.summary(measurements))
  }

  /// Quick runs leave out the smallest size, which says little and costs little, where there is a choice.
  private func sizes(_ entry: Suite.Entry) -> [Int] {
    options.isQuick && entry.sizes.count > 1 ? Array(entry.sizes.suffix(1)) : entry.sizes
  }
}
