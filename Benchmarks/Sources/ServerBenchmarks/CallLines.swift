internal import Foundation

/// Calls and listeners on the collection of 20,000 documents.
enum CallLines {
  static let all: [Line] = [fill] + sets + warmSets + preparedSets + gets + preparedGets + queries

  static let fill = Line(
    name: "fill", title: "load in batches of 400, 4 at the same time, documents", unit: .rate,
    goal: Line.Goal(value: 20_000), hasMemory: true, rounds: (1, 1)
  ) { column, run in
    if column == .sqlite { return .value(try run.floor.fill()) }
    return Reading(try run.measure("fill", on: run.server(column), ["clients": 4, "deadline": 600]), \.rate)
  }

  private static let sets = [1, 8, 64].map { clients in
    Line(
      name: "set-\(clients)", title: "set one document, \(clients) \(clients == 1 ? "client" : "clients")", unit: .rate,
      goal: Line.Goal(timesEmulator: 2, timesEcho: 0.6), hasMemory: true, rounds: (3, 7)
    ) { column, run in
      if column == .sqlite { return .value(try run.floor.sets(clients: clients, seconds: run.seconds)) }
      return Reading(try run.measure("set", on: run.server(column), ["clients": Double(clients)]), \.rate)
    }
  }

  /// The third of three measurements in a row, when a program that compiles itself while it runs has done so.
  private static let warmSets = [1, 8, 64].map { clients in warmSet("warm-set-\(clients)", "set", clients, "") }

  /// The same with messages that are prepared: Google's client needs more processor time for a call than the servers.
  private static let preparedSets = [1, 8, 64].map { clients in
    warmSet("prepared-set-\(clients)", "prepared-set", clients, ", prepared")
  }

  private static func warmSet(_ name: String, _ scenario: String, _ clients: Int, _ suffix: String) -> Line {
    let times = [8: 1.2, 64: 1.5]
    return Line(
      name: name, title: "set one document, \(clients) \(clients == 1 ? "client" : "clients"), third run\(suffix)",
      unit: .rate, goal: Line.Goal(value: clients == 1 ? 1 / 0.33e-3 : nil, timesEmulator: times[clients]),
      hasMemory: true
    ) { column, run in
      let seconds = run.isQuick ? 2.5 : 8
      if column == .sqlite { return .value(try run.floor.sets(clients: clients, seconds: seconds)) }
      let options = ["clients": Double(clients), "seconds": seconds]
      for _ in 0..<2 { _ = try run.measure(scenario, on: run.server(column), options) }
      return Reading(try run.measure(scenario, on: run.server(column), options), \.rate)
    }
  }

  private static let gets = [1, 8, 64].map { clients in
    Line(
      name: "get-\(clients)", title: "get one document, \(clients) \(clients == 1 ? "client" : "clients")", unit: .rate,
      goal: Line.Goal(timesEmulator: 1.3, timesEcho: 0.7), hasMemory: true, rounds: (3, 7)
    ) { column, run in
      if column == .sqlite { return .value(try run.floor.gets(seconds: run.seconds)) }
      return Reading(try run.measure("get", on: run.server(column), ["clients": Double(clients)]), \.rate)
    }
  }

  private static let preparedGets = [1, 8, 64].map { clients in
    Line(
      name: "prepared-get-\(clients)",
      title: "get one document, \(clients) \(clients == 1 ? "client" : "clients"), prepared", unit: .rate,
      hasMemory: true, rounds: (3, 7)
    ) { column, run in
      if column == .sqlite { return .value(try run.floor.gets(seconds: run.seconds)) }
      return Reading(try run.measure("prepared-get", on: run.server(column), ["clients": Double(clients)]), \.rate)
    }
  }

  private static let queries =
    [(1, 800.0), (8, 1_500.0)].map { clients, goal in
      Line(
        name: "equality-\(clients)",
        title: "equality query, 10 hits, \(clients) \(clients == 1 ? "client" : "clients")",
        unit: .rate, goal: Line.Goal(value: goal)
      ) { column, run in
        if column == .sqlite { return .value(try run.floor.equality(seconds: run.seconds)) }
        return Reading(try run.measure("equality", on: run.server(column), ["clients": Double(clients)]), \.rate)
      }
    } + [
      Line(
        name: "range", title: "range + order + limit 25, 1 client", unit: .rate, goal: Line.Goal(value: 500)
      ) { column, run in
        if column == .sqlite { return .value(try run.floor.range(seconds: run.seconds)) }
        return Reading(try run.measure("range", on: run.server(column)), \.rate)
      }
    ]
}

extension Reading {
  /// One of the load generator's figures.
  init(_ reading: Load.Reading, _ figure: KeyPath<Load.Reading, Double?>) {
    let processor = reading.processor.map { "CPU " + ServerTable.text($0, .time) }
    self.init(value: reading[keyPath: figure], note: reading.note ?? processor)
  }
}

/// The value that so many of 100 do not exceed.
func percentile(_ percent: Int, of values: [Double]) -> Double? {
  let sorted = values.sorted()
  return sorted.isEmpty ? nil : sorted[(sorted.count - 1) * percent / 100]
}
