/// The line that shows how far long work has come.
package enum ProgressText {
  private static let barWidth = 24

  /// - Parameter what: Such as "Importing".
  package static func line(_ what: String, _ state: DataProgress.State, _ meter: RateMeter) -> String {
    var parts = [what]
    if let total = state.total, total > 0 {
      let share = Double(min(max(state.done, 0), total)) / Double(total)
      let filled = Int(share * Double(barWidth))
      parts.append(
        "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: barWidth - filled) + "] "
          + "\(Int(share * 100)) %")
    }
    parts.append("\(grouped(state.documents)) documents")
    if state.skipped > 0 { parts.append("\(grouped(state.skipped)) skipped") }
    if state.failed > 0 { parts.append("\(grouped(state.failed)) failed") }
    if let rate = meter.documentsPerSecond { parts.append("\(grouped(Int(rate.rounded())))/s") }
    if let seconds = meter.secondsLeft(of: state) { parts.append(duration(seconds) + " left") }
    return parts.joined(separator: "  ")
  }

  /// The line at the end, such as "Exported 1,234 documents in 2.5 s (494/s)."
  package static func summary(_ what: String, _ state: DataProgress.State, earlier: Int, seconds: Double) -> String {
    var text = "\(what) \(grouped(state.documents)) documents"
    if earlier > 0 { text += ", \(grouped(earlier)) of them before" }
    if state.skipped > 0 { text += ", skipped \(grouped(state.skipped))" }
    if state.failed > 0 { text += ", left out \(grouped(state.failed))" }
    let tenths = Int((min(max(seconds, 0), 1e9) * 10).rounded())
    text += " in \(tenths / 10).\(tenths % 10) s"
    let count = state.documents + state.skipped - earlier
    if seconds > 0.05, count > 0 { text += " (\(grouped(Int(min(Double(count) / seconds, 1e12))))/s)" }
    return text + "."
  }

  /// A number with commas between its groups of three digits.
  package static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return text
  }

  private static func duration(_ seconds: Int) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    default: "\(seconds / 3600) h"
    }
  }
}
