/// The server that answers: the columns of the table.
enum Column: String, CaseIterable {
  case hearth = "Hearth"
  /// Without a disk, as the emulator is.
  case memory = "Hearth in memory"
  case emulator = "emulator"
  case echo = "echo"
  /// Only with `--codec`.
  case codec = "echo on HTTP/2 alone"
  case sqlite = "SQLite"
  /// With TLS, tokens and rules. Only with `--locked`, as the following.
  case locked = "Hearth, locked"
  case lockedMemory = "Hearth in memory, locked"
  case tlsMemory = "in memory, TLS alone"
  case tokensMemory = "in memory, tokens and rules alone"
  /// Over a PostgreSQL server of its own, which makes its commits durable. Only with `--cluster`, as the following.
  case cluster = "a node over PostgreSQL"
  case nodes = "four nodes"

  static let usual: [Column] = [.hearth, .memory, .emulator, .echo, .sqlite]
  static let withLocked: [Column] = [.hearth, .locked, .memory, .lockedMemory, .tlsMemory, .tokensMemory]

  static let withCluster: [Column] = [.hearth, .cluster, .nodes, .emulator]

  /// The column that the values of this one are divided by; nil if it is compared by goals only.
  var baseline: Column? {
    switch self {
    case .locked, .cluster: .hearth
    case .lockedMemory, .tlsMemory, .tokensMemory: .memory
    case .nodes: .cluster
    default: nil
    }
  }

  var protection: AccessFiles.Protection {
    switch self {
    case .locked, .lockedMemory: [.tls, .tokens]
    case .tlsMemory: .tls
    case .tokensMemory: .tokens
    default: []
    }
  }

  var isInMemory: Bool { self == .memory || baseline == .memory }
}

/// The value of one column in one line.
struct Reading {
  var value: Double?
  /// Says why there is no value, or what is special about it.
  var note: String?

  static func value(_ value: Double?) -> Reading { Reading(value: value) }
  static func note(_ note: String) -> Reading { Reading(note: note) }
  /// There is nothing to measure in this column.
  static let none = Reading()
}

/// One measured thing: a line of the table.
struct Line: Sendable {
  enum Unit: Sendable {
    /// Operations per second: more is better.
    case rate
    /// Seconds: less is better.
    case time
    /// Less is better.
    case bytes
  }

  /// Limits for Hearth's value.
  struct Goal: Sendable {
    var value: Double?
    var timesEmulator: Double?
    var timesEcho: Double?
    var timesPreviousLine: Double?
    /// For columns that are compared with their baseline.
    var timesBaseline: [Column: Double] = [:]
  }

  var name: String
  var title: String
  var unit: Unit
  var goal = Goal()
  /// True if it is measured of a server in memory too.
  var hasMemory = false
  /// Rounds of a quick run and of a full one. In each round all columns are measured once; the median counts.
  var rounds = (quick: 1, full: 3)
  var measure: @Sendable (Column, ServerRun) throws -> Reading
}

/// The medians of a line.
struct MeasuredLine {
  var line: Line
  var readings: [Column: Reading]
  /// The medians over all rounds of what a server has reached, divided by what its baseline has in the same round.
  var ratios: [Column: Double] = [:]

  /// Compares Hearth's value with each part of the goal; nil if there is no value.
  func verdict(previous: MeasuredLine?) -> (isMet: Bool, text: String)? {
    guard let value = readings[.hearth]?.value else { return nil }
    let moreIsBetter = line.unit == .rate
    var isMet = true
    var parts: [String] = []
    if let limit = line.goal.value {
      isMet = isMet && (moreIsBetter ? value >= limit : value <= limit)
      parts.append(ServerTable.text(limit, line.unit))
    }
    let relations: [(Double?, Double?, String)] = [
      (line.goal.timesEmulator, readings[.emulator]?.value, "emulator"),
      (line.goal.timesEcho, readings[.echo]?.value, "echo"),
      (line.goal.timesPreviousLine, previous?.readings[.hearth]?.value, "the line above"),
    ]
    for case (let times?, let other?, let name) in relations where other > 0 {
      let ratio = value / other
      isMet = isMet && (moreIsBetter ? ratio >= times : ratio <= times)
      parts.append("\(times) x \(name) (\(ServerTable.ratio(ratio)))")
    }
    for (column, times) in line.goal.timesBaseline.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let ratio = ratios[column] else { continue }
      isMet = isMet && (moreIsBetter ? ratio >= times : ratio <= times)
      parts.append("\(times) x \(column.baseline?.rawValue ?? "") (\(ServerTable.ratio(ratio)))")
    }
    return parts.isEmpty ? nil : (isMet, parts.joined(separator: ", "))
  }
}
