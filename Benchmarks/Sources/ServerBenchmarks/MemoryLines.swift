internal import Foundation

/// Memory, and what one client's load does to others. All but the first line have servers of their own.
enum MemoryLines {
  static let all: [Line] = [
    afterRun, pressure, listeners, connections, quietCommits, commitsDuringScan, start, memoryAfterStart,
  ]

  private static let afterRun = Line(
    name: "memory-after-run", title: "resident memory after the lines above", unit: .bytes,
    goal: Line.Goal(value: 120e6), rounds: (1, 1)
  ) { column, run in
    column == .sqlite ? .none : .value(residentBytes(try run.server(column).identifier))
  }

  /// Documents of 100 KB: 1 GB in a full run, 100 MB in a quick one.
  private static let pressure = Line(
    name: "pressure", title: "peak memory, 200 listeners that do not read and one query of 1 GB (quick: 100 MB)",
    unit: .bytes,
    goal: Line.Goal(value: 300e6), rounds: (1, 1)
  ) { column, run in
    // The emulator refuses messages of more than 4 MiB, and takes minutes for so many listeners. The echo service on HTTP/2 alone does not
    // wait for readers.
    guard column == .hearth || column == .echo else { return .none }
    let large = run.isQuick ? 1_000.0 : 10_000
    let reading = try run.withServer(column) { server in
      try run.fill("places", on: server, ["clients": 2])
      try run.fill("large", on: server, ["documents": large, "size": 100_000])
      return try run.measure(
        "pressure", on: server, ["clients": 200, "samples": large, "deadline": run.isQuick ? 20 : 180])
    }
    return reading.map { Reading($0, \.bytes) } ?? .none
  }

  private static let listeners = share(
    "idle-listeners", "memory per idle listener", goal: 8_000, quick: 2_000, full: 10_000)

  private static let connections = share(
    "idle-connections", "memory per idle connection", goal: 40_000, quick: 500, full: 2_000)

  private static func share(_ name: String, _ title: String, goal: Double, quick: Int, full: Int) -> Line {
    Line(name: name, title: title, unit: .bytes, goal: Line.Goal(value: goal), rounds: (1, 3)) { column, run in
      if column == .sqlite { return .none }
      // The emulator's heap grows in steps of many megabytes: what it grows by says little.
      if column == .emulator, run.isQuick { return .none }
      let reading = try run.withServer(column) { server in
        try run.fill("rooms", on: server, ["documents": 10])
        return try run.measure(
          name, on: server, collection: "rooms", ["documents": 10, "clients": Double(run.isQuick ? quick : full)])
      }
      return reading.map { Reading($0, \.bytes) } ?? .none
    }
  }

  // MARK: - A large collection

  private static func manyCount(_ run: ServerRun) -> Int { run.isQuick ? 100_000 : 1_000_000 }

  private static let quietCommits = Line(
    name: "commit-quiet", title: "commit among 1,000,000 documents (quick: 100,000), p99", unit: .time, rounds: (1, 1)
  ) { column, run in
    try commits(column, run, whileReading: false)
  }

  private static let commitsDuringScan = Line(
    name: "commit-scan", title: "the same while all of them are read", unit: .time,
    goal: Line.Goal(timesPreviousLine: 3),
    rounds: (1, 1)
  ) { column, run in
    try commits(column, run, whileReading: true)
  }

  private static func commits(_ column: Column, _ run: ServerRun, whileReading: Bool) throws -> Reading {
    let seconds = run.isQuick ? 3.0 : 15
    let large = try run.large(column, documentCount: manyCount(run))
    if let floor = large.floor {
      let times =
        whileReading ? try floor.commitsDuringScan(seconds: seconds) : try floor.commits(seconds: seconds)
      return .value(percentile(99, of: times))
    }
    guard let server = large.server else { return .none }
    return Reading(
      try run.measure(
        "scan", on: server, ["samples": whileReading ? Double(manyCount(run)) : 0, "seconds": seconds]), \.p99)
  }

  private static let start = Line(
    name: "start", title: "start with these documents, to the first answer", unit: .time, goal: Line.Goal(value: 0.100),
    rounds: (3, 5)
  ) { column, run in
    let large = try run.large(column, documentCount: manyCount(run))
    if let floor = large.floor { return .value(try floor.open()) }
    guard column == .hearth else { return .none }
    let server = try run.restartLarge()
    let first = try run.measure("first", on: server, collection: "many", ["documents": Double(manyCount(run))])
    return Reading(value: first.p50.map { server.startTime + $0 }, note: first.note)
  }

  private static let memoryAfterStart = Line(
    name: "start-memory", title: "resident memory then", unit: .bytes, goal: Line.Goal(value: 60e6), rounds: (1, 1)
  ) { column, run in
    guard column == .hearth else { return .none }
    _ = try run.large(column, documentCount: manyCount(run))
    let server = try run.restartLarge()
    _ = try run.measure("first", on: server, collection: "many", ["documents": Double(manyCount(run))])
    return .value(residentBytes(server.identifier))
  }
}
