internal import Foundation

/// Bars on a logarithmic axis as an SVG picture: some for each row, with a line where the row's goal is.
package struct BarChart {
  package enum Color: String, Sendable {
    case hearth = "#d35400"
    case floor = "#95a5a6"
    case memory = "#f0a070"
    case official = "#2c6fbb"
    case secondFloor = "#c7ced0"
    case storage = "#7f6f5f"
  }

  package struct Bar {
    var label: String
    var color: Color
    var value: Double

    package init(label: String, color: Color, value: Double) {
      self.label = label
      self.color = color
      self.value = value
    }
  }

  package struct Row {
    var label: String
    var bars: [Bar]
    var goal: Double?

    package init(label: String, bars: [Bar], goal: Double?) {
      self.label = label
      self.bars = bars
      self.goal = goal
    }
  }

  private let title: String
  private let rows: [Row]
  private let format: (Double) -> String

  /// - Parameter format: A value with its unit.
  package init(title: String, rows: [Row], format: @escaping (Double) -> String) {
    self.title = title
    self.rows = rows
    self.format = format
  }

  private static let width = 1140.0
  private static let labelWidth = 520.0
  private static let barHeight = 14.0

  package var svg: String {
    let values = rows.flatMap { $0.bars.map(\.value) + [$0.goal].compactMap { $0 } }
    guard let least = values.min(), let most = values.max(), least > 0 else {
      return page(height: 60, text(20, 44, "Nothing was measured."))
    }
    let low = Foundation.log10(least).rounded(.down)
    let high = max(Foundation.log10(most).rounded(.up), low + 1)
    func x(_ value: Double) -> Double {
      Self.labelWidth + (Foundation.log10(value) - low) / (high - low) * (Self.width - Self.labelWidth - 90)
    }
    var body = ""
    var y = 44.0
    for row in rows {
      let top = y
      let middle = y + Double(row.bars.count) * Self.barHeight / 2 + 4
      body += text(Self.labelWidth - 8, middle, row.label, anchor: "end")
      for bar in row.bars {
        let end = max(x(bar.value), Self.labelWidth + 1)
        body += """
          <rect x="\(Self.labelWidth)" y="\(y)" width="\(end - Self.labelWidth)" height="\(Self.barHeight - 2)" \
          fill="\(bar.color.rawValue)"/>\n
          """
        body += text(end + 4, y + 10, "\(bar.label) \(format(bar.value))", size: 10)
        y += Self.barHeight
      }
      if let goal = row.goal {
        body += """
          <line x1="\(x(goal))" x2="\(x(goal))" y1="\(top - 2)" y2="\(y)" stroke="#c0392b" stroke-width="2"/>\n
          """
      }
      y += 12
    }
    for power in Int(low)...Int(high) {
      let value = Foundation.pow(10, Double(power))
      let position = x(value)
      body = """
        <line x1="\(position)" x2="\(position)" y1="38" y2="\(y)" stroke="#ddd"/>\n
        """ + body + text(position, y + 12, format(value), size: 10, anchor: "middle")
    }
    return page(height: y + 24, body)
  }

  private func page(height: Double, _ body: String) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" font-family="sans-serif">
    <rect width="100%" height="100%" fill="white"/>
    \(text(12, 22, title, size: 14))\(body)</svg>

    """
  }

  private func text(_ x: Double, _ y: Double, _ text: String, size: Int = 12, anchor: String = "start") -> String {
    let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    return "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\" text-anchor=\"\(anchor)\">\(escaped)</text>\n"
  }
}
