/// The calls of ``CallLines`` on a server that is open, and on one with TLS, tokens and rules: `--locked`.
enum LockedLines {
  /// The locked server may be so much slower.
  private static let goal = Line.Goal(timesBaseline: [.locked: 0.85, .lockedMemory: 0.85])

  static let all: [Line] = calls + tokens

  /// Prepared messages are not sent over TLS.
  private static let calls: [Line] = CallLines.all.filter { line in
    !["warm", "prepared"].contains { line.name.hasPrefix($0) }
  }.map { line in
    guard line.name != CallLines.fill.name else {
      var fill = line
      fill.goal = Line.Goal()
      return fill
    }
    var line = line
    (line.goal, line.rounds) = (goal, (5, 9))
    return line
  }

  private static let tokens = [
    (TokenCost.Scenario.known, "identify a caller by a token that was verified before"),
    (.new, "identify a caller by another token, whose signature is verified"),
  ].map { scenario, title in
    Line(name: "token-\(scenario.rawValue)", title: title, unit: .time) { column, run in
      column == .locked ? Reading(try run.access.cost(scenario), \.p50) : .none
    }
  }
}
