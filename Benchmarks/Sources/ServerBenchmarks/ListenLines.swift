/// Listeners on the collection of 20,000 documents.
enum ListenLines {
  static let all: [Line] = fanOuts + [limit, snapshot, resume] + bursts

  private static let fanOuts = [(1, 0.004), (50, 0.010), (1_000, 0.060)].map { listeners, goal in
    Line(
      name: "fan-out-\(listeners)",
      title: "commit to \(listeners == 1 ? "the listener" : "each of \(listeners) listeners"), p50", unit: .time,
      goal: Line.Goal(value: goal)
    ) { column, run in
      // The emulator runs the query for each listener and each commit.
      let isSlow = column == .emulator && listeners > 1
      if column == .emulator, listeners > 50 { return .none }
      if column == .sqlite { return .value(percentile(50, of: try run.floor.commits(seconds: run.seconds / 2))) }
      return Reading(
        try run.measure(
          "fan-out", on: run.server(column),
          [
            "clients": Double(listeners), "samples": isSlow ? 3 : run.isQuick ? 20 : 100,
            "deadline": deadline(column, run),
          ]),
        \.p50)
    }
  }

  /// Seconds after which a server counts as too slow. With 50 listeners the emulator often is.
  private static func deadline(_ column: Column, _ run: ServerRun) -> Double {
    if !run.isQuick { return 300 }
    return column == .emulator ? 12 : 20
  }

  private static let limit = Line(
    name: "fan-out-limit", title: "commit to each of 50 listeners with a limit query, p99", unit: .time,
    goal: Line.Goal(value: 0.040)
  ) { column, run in
    if column == .sqlite { return .value(percentile(99, of: try run.floor.commits(seconds: run.seconds / 2))) }
    let samples = column == .emulator ? 3.0 : run.isQuick ? 10 : 100
    return Reading(
      try run.measure(
        "fan-out-limit", on: run.server(column),
        ["clients": 50, "samples": samples, "deadline": deadline(column, run)]), \.p99)
  }

  private static let snapshot = Line(
    name: "snapshot", title: "first snapshot of 20,000 documents to one listener", unit: .time,
    goal: Line.Goal(value: 0.250, timesEcho: 1.5)
  ) { column, run in
    if column == .sqlite { return .value(percentile(50, of: try run.floor.snapshots(seconds: run.seconds / 2))) }
    return Reading(try run.measure("snapshot", on: run.server(column), ["samples": run.isQuick ? 3 : 9]), \.p50)
  }

  private static let resume = Line(
    name: "resume", title: "resume of a target of 10,000 documents after 10 changes", unit: .time,
    goal: Line.Goal(value: 0.005)
  ) { column, run in
    if column == .sqlite { return .value(percentile(50, of: try run.floor.resumes(seconds: run.seconds / 2))) }
    return Reading(try run.measure("resume", on: run.server(column), ["samples": run.isQuick ? 7 : 25]), \.p50)
  }

  /// Commits that follow each other without a pause, from four clients, to one stream whose results all of them change.
  private static let bursts = [
    ("burst-limit", "a target with a limit"),
    ("burst-limit-to-last", "a target with limitToLast"),
    ("burst-limit-not-reached", "a target whose limit is not reached"),
    ("burst-eight", "eight targets: limits, orders, none, documents"),
  ].map { name, targets in
    Line(
      name: name, title: "commit in a burst to a stream with \(targets), the slowest", unit: .time,
      goal: Line.Goal(value: 0.5)
    ) { column, run in
      // The echo service sends one document of one target, and SQLite has no listeners.
      guard column == .hearth || column == .emulator else { return .none }
      return Reading(
        try run.measure(
          name, on: run.server(column),
          ["clients": 4, "samples": run.isQuick ? 400 : 4_000, "deadline": deadline(column, run)]), \.worst)
    }
  }
}
