internal import Foundation

/// Measured lines as lines of text that are also lines of a Markdown table.
enum ServerTable {
  static func header(_ columns: [Column]) -> String {
    let names = ["measured"] + columns.map(\.rawValue) + ["goal"]
    return "| " + names.joined(separator: " | ") + " |\n|" + String(repeating: "---|", count: names.count)
  }

  static func row(_ measured: MeasuredLine, _ columns: [Column], previous: MeasuredLine?) -> String {
    let cells = columns.map { column in
      let reading = measured.readings[column] ?? .none
      let comparison = measured.ratios[column].map { "\(ratio($0)) of \(column.baseline?.rawValue ?? "")" }
      let texts = [reading.value.map { text($0, measured.line.unit) }, reading.note, comparison].compactMap { $0 }
      return texts.isEmpty ? "–" : texts.joined(separator: "; ")
    }
    let goal = measured.verdict(previous: previous).map { ($0.isMet ? "met: " : "MISSED: ") + $0.text } ?? ""
    return "| " + ([measured.line.title] + cells + [goal]).joined(separator: " | ") + " |"
  }

  static func text(_ value: Double, _ unit: Line.Unit) -> String {
    switch unit {
    case .rate: value < 100 ? String(format: "%.1f/s", value) : number(Int(value.rounded())) + "/s"
    case .time:
      switch value {
      case ..<1e-3: String(format: "%.0f µs", value * 1e6)
      case ..<1: String(format: value < 0.01 ? "%.2f ms" : "%.0f ms", value * 1e3)
      default: String(format: "%.2f s", value)
      }
    case .bytes:
      abs(value) < 1_000_000
        ? String(format: "%.1f KB", value / 1e3) : String(format: "%.1f MB", value / 1e6)
    }
  }

  static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }

  private static func number(_ value: Int) -> String {
    var text = ""
    for (index, digit) in String(value).reversed().enumerated() {
      if index > 0, index.isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}
