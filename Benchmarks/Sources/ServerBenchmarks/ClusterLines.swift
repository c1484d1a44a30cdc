internal import Foundation

/// One server over files, one over PostgreSQL, and four that share a PostgreSQL database: `--cluster`.
enum ClusterLines {
  static let all: [Line] = [fill] + calls + [oneDocument, resume] + otherNodes

  private static let fill: Line = {
    var line = CallLines.fill
    line.goal = Line.Goal()
    return line
  }()

  /// The least part of what one server over files does, of a node over PostgreSQL.
  private static let goals = ["set-64": 0.5, "get-8": 0.7, "range": 0.6]

  private static let calls = CallLines.all.filter { line in
    ["set-", "get-", "range", "equality-"].contains { line.name.hasPrefix($0) }
  }.map { line in
    var line = line
    line.goal = Line.Goal(timesBaseline: goals[line.name].map { [.cluster: $0] } ?? [:])
    if line.name == "set-64" { line.goal.timesBaseline[.nodes] = 1 }
    line.rounds = (3, 5)
    let measure = line.measure
    line.measure = { [name = line.name] column, run in
      guard column == .nodes else { return try measure(column, run) }
      let parts = name.split(separator: "-")
      let clients = parts.count == 2 ? Int(parts[1]) ?? 1 : 1
      return try spread(String(parts[0]), clients, run)
    }
    return line
  }

  /// All clients write the same document.
  private static let oneDocument = Line(
    name: "hot", title: "set one and the same document, 64 clients", unit: .rate, rounds: (3, 5)
  ) { column, run in
    guard column != .nodes else { return try spread("set", 64, run, documents: 1) }
    return Reading(try run.measure("set", on: run.server(column), ["clients": 64, "documents": 1]), \.rate)
  }

  private static let resume = Line(
    name: "resume", title: "resume of a target of 10,000 documents after 10 changes", unit: .time,
    goal: Line.Goal(value: 0.010)
  ) { column, run in
    Reading(try run.measure("resume", on: run.server(column), ["samples": run.isQuick ? 7 : 25]), \.p50)
  }

  private static let otherNodes = [(1, "a listener"), (2_000, "each of 2,000 listeners")].map { listeners, title in
    Line(
      name: "other-\(listeners)", title: "commit to \(title), of four nodes at another one, p99", unit: .time
    ) { column, run in
      // The emulator runs the query for each listener and each commit.
      if column == .emulator, listeners > 1 { return .none }
      var options: [String: Double] = ["clients": Double(listeners)]
      options["samples"] = listeners > 1 ? run.isQuick ? 10 : 50 : run.isQuick ? 50 : 400
      if column == .nodes, let other = run.others.first { options["listeners-port"] = Double(other.port) }
      let reading = try run.measure("fan-out", on: run.server(column), options)
      return Reading(value: reading.p99, note: reading.note ?? reading.p50.map { "p50 " + ServerTable.text($0, .time) })
    }
  }

  /// Lets a load generator for each node share the clients.
  private static func spread(
    _ scenario: String, _ clients: Int, _ run: ServerRun, documents: Int = ServerRun.documentCount
  ) throws -> Reading {
    let nodes = Array(([try run.server(.nodes)] + run.others).prefix(clients))
    let options = ["clients": Double(clients / nodes.count), "documents": Double(documents)]
    let rates = try run.measure(scenario, onEachOf: nodes, options).compactMap(\.rate)
    return rates.count == nodes.count ? .value(rates.reduce(0, +)) : .note("failed")
  }
}
