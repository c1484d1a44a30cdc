// Prints what tests took, suite by suite, slowest first, for `scripts/test --timings`: `timings [GROUP WIDTH FILE]…`, with the event stream
// of each group of tests and how many of its tests ran at once, 0 for any number.
//
// What the test run itself prints is the time from the start of a test to its end, and tests start long before it is their turn. Here a
// suite's time is the sum over its tests of the time in which each ran; tests that ran at the same time count each, and so does the time in
// which a test waits for its turn at HeavyWork. The stream says when a case of a test with arguments began. Other tests began, in the order
// of their starts, whenever one before them had ended.
import Foundation

/// A line of an event stream: a test or suite, or something that happened to one.
private struct Line: Decodable {
  struct Payload: Decodable {
    struct Instant: Decodable {
      /// In seconds.
      let absolute: Double
    }

    /// The case of a test with arguments.
    struct Case: Decodable { let id: String }

    let kind: String
    let id: String?
    let name: String?
    let displayName: String?
    let isParameterized: Bool?
    let testID: String?
    let instant: Instant?
    let testCase: Case?

    enum CodingKeys: String, CodingKey {
      case kind, id, name, displayName, isParameterized, testID, instant
      case testCase = "_testCase"
    }
  }

  let kind: String
  let payload: Payload
}

/// A test without arguments, or one case of a test with some.
private struct Run {
  let test: String
  /// When the test started, which is before its turn came.
  let start: Double
  /// Nil for a test without arguments.
  var begin: Double?
  var end: Double?
}

private struct Cost {
  var seconds = 0.0
  var tests = 0

  mutating func add(_ other: Cost) {
    seconds += other.seconds
    tests += other.tests
  }
}

/// The tests of a group, in the order of their starts.
private struct Group {
  private var names: [String: String] = [:]
  /// True for each test that has arguments. Suites are left out.
  private var tests: [String: Bool] = [:]
  private var starts: [String: Double] = [:]
  private var runs: [Run] = []
  /// The places in `runs` of those that have not ended, by test or case.
  private var open: [String: Int] = [:]

  init(events: Data) {
    let decoder = JSONDecoder()
    for bytes in events.split(separator: UInt8(ascii: "\n")) {
      // The last line of a run that was killed may be cut off.
      guard let line = try? decoder.decode(Line.self, from: bytes) else { continue }
      if line.kind == "test" { declare(line.payload) } else { note(line.payload) }
    }
    runs.sort { $0.start < $1.start }
  }

  private mutating func declare(_ payload: Line.Payload) {
    guard let id = payload.id else { return }
    names[id] = payload.displayName ?? payload.name
    if payload.kind == "function" { tests[id] = payload.isParameterized ?? false }
  }

  private mutating func note(_ payload: Line.Payload) {
    guard let id = payload.testID, let hasArguments = tests[id], let time = payload.instant?.absolute else { return }
    switch payload.kind {
    case "testStarted":
      starts[id] = time
      if !hasArguments { begin(Run(test: id, start: time), as: id) }
    case "testCaseStarted":
      guard let testCase = payload.testCase else { return }
      begin(Run(test: id, start: starts[id] ?? time, begin: time), as: id + testCase.id)
    case "testCaseEnded":
      guard let testCase = payload.testCase else { return }
      end(id + testCase.id, at: time)
    case "testEnded": if !hasArguments { end(id, at: time) }
    default: break
    }
  }

  private mutating func begin(_ run: Run, as key: String) {
    open[key] = runs.count
    runs.append(run)
  }

  private mutating func end(_ key: String, at time: Double) {
    if let place = open.removeValue(forKey: key) { runs[place].end = time }
  }

  /// The time of each test that has ended, with `width` tests at once.
  private func costs(width: Int) -> [String: Cost] {
    var costs: [String: Cost] = [:]
    // When each of the places that run tests is free again.
    var places = [Double](repeating: 0, count: width)
    for run in runs {
      guard let end = run.end else { continue }
      var begin = run.begin ?? run.start
      if let free = places.indices.min(by: { places[$0] < places[$1] }) {
        if run.begin == nil { begin = min(max(begin, places[free]), end) }
        places[free] = end
      }
      costs[run.test, default: Cost()].add(Cost(seconds: end - begin, tests: 1))
    }
    return costs
  }

  /// The lines about suites that took a second or longer, and one about all others.
  func report(width: Int) -> [String] {
    let suites = Dictionary(grouping: costs(width: width)) { String($0.key.prefix { $0 != "/" }) }.map { suite, tests in
      (
        suite: suite, cost: tests.reduce(into: Cost()) { $0.add($1.value) },
        slowest: tests.max { $0.value.seconds < $1.value.seconds }
      )
    }
    var lines: [String] = []
    var rest = Cost()
    for (suite, cost, slowest) in suites.sorted(by: { $0.cost.seconds > $1.cost.seconds }) {
      guard cost.seconds >= 1, let slowest else {
        rest.add(cost)
        continue
      }
      let name = names[suite].map { "\"\($0)\" (\(suite))" } ?? suite
      let test = names[slowest.key] ?? slowest.key
      lines.append("\(text(cost)) \(name), \(seconds(slowest.value.seconds)) s of them in \"\(test)\"")
    }
    lines.append("\(text(rest)) all others")
    return lines
  }

  private func text(_ cost: Cost) -> String {
    let (time, tests) = (seconds(cost.seconds), "\(cost.tests)")
    let blanks = { String(repeating: " ", count: max(0, $0)) }
    return "\(blanks(9 - time.count))\(time) s, \(blanks(5 - tests.count))\(tests) tests and cases:"
  }

  private func seconds(_ value: Double) -> String { String(format: "%.1f", value) }
}

private var arguments = CommandLine.arguments.dropFirst()
while arguments.count >= 3 {
  let (name, width, file) = (arguments.removeFirst(), arguments.removeFirst(), arguments.removeFirst())
  guard let width = Int(width), let events = FileManager.default.contents(atPath: file) else {
    FileHandle.standardError.write(Data("timings: there is no event stream of the group \(name) at \(file)\n".utf8))
    continue
  }
  print("timings: \(name)")
  for line in Group(events: events).report(width: max(width, 0)) { print(line) }
}
