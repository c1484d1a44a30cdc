/// The line that shows how far long work has come.
package enum ProgressText {
  private static let barWidth = 24

  private static let narrowestBar = 5
  private static let gap = "  "

  /// - Parameters:
  ///   - what: Such as "Importing".
  ///   - width: The characters that there is room for. A short bar, then none, and no rate make room for the rest.
  package static func line(
    _ what: String, _ state: DataProgress.State, _ meter: RateMeter, width: Int = .max
  ) -> String {
    var counts = [count(state.documents, "document")]
    if state.skipped > 0 { counts.append("\(grouped(state.skipped)) skipped") }
    if state.failed > 0 { counts.append("\(grouped(state.failed)) failed") }
    let rate = meter.documentsPerSecond.map { ["\(grouped(Int($0.rounded())))/s"] } ?? []
    let left = meter.secondsLeft(of: state).map { [duration($0) + " left"] } ?? []
    guard let total = state.total, total > 0 else {
      let whole = ([what] + counts + rate).joined(separator: gap)
      return whole.count <= width ? whole : String(([what] + counts).joined(separator: gap).prefix(width))
    }
    let share = Double(min(max(state.done, 0), total)) / Double(total)
    let percent = "\(Int(share * 100)) %"
    let whole = ([what, percent] + counts + rate + left).joined(separator: gap)
    // The bar stands in brackets, with a space before the percentage.
    let bar = min(barWidth, width - whole.count - 3)
    if bar >= narrowestBar {
      let filled = Int(share * Double(bar))
      let drawn = "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: bar - filled) + "] "
      return ([what, drawn + percent] + counts + rate + left).joined(separator: gap)
    }
    let shorter = [whole, ([what, percent] + counts + left).joined(separator: gap)]
    return shorter.first { $0.count <= width } ?? String(([what, percent] + left).joined(separator: gap).prefix(width))
  }

  /// Such as "4 documents".
  package static func count(_ number: Int, _ noun: String) -> String {
    guard number != 1 else { return "1 \(noun)" }
    let takesE = noun.hasSuffix("x") || noun.hasSuffix("ch")
    return "\(grouped(number)) "
      + (takesE ? noun + "es" : noun.hasSuffix("y") ? noun.dropLast() + "ies" : noun + "s")
  }

  /// The line at the end, such as "Exported 1,234 documents from project demo in 2.5 s (494/s)."
  ///
  /// - Parameter place: Such as "from project demo".
  package static func summary(
    _ what: String, _ state: DataProgress.State, _ place: String, earlier: Int, seconds: Double
  ) -> String {
    var text = "\(what) \(count(state.documents, "document"))"
    if earlier > 0 { text += ", \(grouped(earlier)) of them before" }
    if state.skipped > 0 { text += ", skipped \(grouped(state.skipped))" }
    if state.failed > 0 { text += ", left out \(grouped(state.failed))" }
    let tenths = Int((min(max(seconds, 0), 1e9) * 10).rounded())
    text += " \(place) in \(tenths / 10).\(tenths % 10) s"
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
