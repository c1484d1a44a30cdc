internal import Foundation

/// Measurements as lines of text that are also lines of a Markdown table.
enum Table {
  static func header(_ group: String) -> String {
    let columns = [
      "operation", "N", "CPU", "wall", "allocations", "peak memory", "disk", "floor", "x floor", "official", "goal",
    ]
    return "\n### \(group)\n\n| \(columns.joined(separator: " | ")) |\n"
      + "|" + String(repeating: "---|", count: columns.count)
  }

  static func row(_ measurement: Measurement) -> String {
    let m = measurement
    let each = m.unit == .item ? " each" : ""
    let cells = [
      m.title, number(m.size), m.samples.processorTimes.isEmpty ? "" : time(m.processorTime) + each,
      m.samples.wallTimes.isEmpty ? "" : time(m.wallTime) + each, m.allocations.map(count) ?? "",
      m.peakMemoryBytes.map(bytes) ?? "", m.diskBytes.map(bytes) ?? "", m.floorTime.map(time) ?? "",
      m.timesFloor.map { String(format: $0 < 1.2 ? "%.2f" : "%.1f", $0) } ?? "", m.official.map(time) ?? "", goal(m),
    ]
    return "| " + cells.joined(separator: " | ") + " |"
  }

  static func summary(_ measurements: [Measurement]) -> String {
    let judged = measurements.filter { $0.meetsGoal != nil }
    let missed = judged.filter { $0.meetsGoal == false }
    var text = "goals: \(judged.count - missed.count) met, \(missed.count) missed"
    for m in missed { text += "\n  missed: \(m.title), \(number(m.size)) (\(goal(m)))" }
    return text
  }

  static func goal(_ m: Measurement) -> String {
    guard let goal = m.goal, let isMet = m.meetsGoal else { return "" }
    var parts: [String] = []
    if let limit = goal.processorTime { parts.append(time(limit)) }
    if let limit = goal.timesFloor { parts.append("\(limit) x floor") }
    if let limit = goal.wallTimesFloor {
      parts.append(String(format: "wall %.1f x floor's (\(limit))", m.wallTimesFloor ?? .nan))
    }
    if let limit = goal.wallTime { parts.append("wall \(time(limit))") }
    if let limit = goal.wallTime99 { parts.append("99 %: \(m.wallTime99.map(time) ?? "-") (\(time(limit)))") }
    if let least = goal.gain { parts.append(String(format: "gain %.2f (\(least))", 1 / (m.wallTimesFloor ?? .nan))) }
    if let limit = goal.peakMemoryBytes { parts.append(bytes(limit)) }
    if let limit = goal.diskBytes { parts.append(bytes(limit)) }
    return (isMet ? "met: " : "MISSED: ") + parts.joined(separator: ", ")
  }

  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<1e-3: String(format: seconds < 1e-5 ? "%.2f µs" : "%.1f µs", seconds * 1e6)
    case ..<1: String(format: seconds < 1e-2 ? "%.2f ms" : "%.0f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func bytes(_ count: Int) -> String {
    count < 1_000_000 ? String(format: "%.0f kB", Double(count) / 1e3) : String(format: "%.1f MB", Double(count) / 1e6)
  }

  static func count(_ value: Double) -> String {
    value < 100 ? String(format: "%.1f", value) : number(Int(value))
  }

  static func number(_ value: Int) -> String {
    var text = ""
    for (index, digit) in String(value).reversed().enumerated() {
      if index > 0, index.isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}
