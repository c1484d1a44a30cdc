internal import Foundation

/// Writes measurements as one JSON file and one chart per group.
struct Report {
  let measurements: [Measurement]

  init(_ measurements: [Measurement]) {
    self.measurements = measurements
  }

  func write(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(measurements).write(to: URL(fileURLWithPath: folder + "/results.json"))
    var groups: [String] = []
    for measurement in measurements where !groups.contains(measurement.group) { groups.append(measurement.group) }
    for group in groups {
      let name = group.lowercased().replacingOccurrences(of: " ", with: "-")
      let chart = Chart(title: group, measurements: measurements.filter { $0.group == group })
      try Data(chart.svg.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).svg"))
    }
  }
}

/// Bars of processor time on a logarithmic axis: Hearth, the floor and the official core for each operation at its
/// largest size, with a line where the goal is.
struct Chart {
  let title: String
  let measurements: [Measurement]

  private struct Bar {
    var label: String
    var color: String
    var seconds: Double
  }

  private static let width = 1140.0
  private static let labelWidth = 520.0
  private static let barHeight = 14.0

  var svg: String {
    let rows = largest
    let times = rows.flatMap { bars($0).map(\.seconds) + [$0.goal?.processorTime].compactMap { $0 } }
    guard let least = times.min(), let most = times.max(), least > 0 else { return empty }
    let low = Foundation.log10(least).rounded(.down)
    let high = max(Foundation.log10(most).rounded(.up), low + 1)
    func x(_ seconds: Double) -> Double {
      Self.labelWidth + (Foundation.log10(seconds) - low) / (high - low) * (Self.width - Self.labelWidth - 90)
    }
    var body = ""
    var y = 44.0
    for row in rows {
      let bars = bars(row)
      let middle = y + Double(bars.count) * Self.barHeight / 2 + 4
      body += text(Self.labelWidth - 8, middle, "\(row.title), \(Table.number(row.size))", anchor: "end")
      for bar in bars {
        let end = max(x(bar.seconds), Self.labelWidth + 1)
        body += """
          <rect x="\(Self.labelWidth)" y="\(y)" width="\(end - Self.labelWidth)" height="\(Self.barHeight - 2)" \
          fill="\(bar.color)"/>\n
          """
        body += text(end + 4, y + 10, "\(bar.label) \(Table.time(bar.seconds))", size: 10)
        y += Self.barHeight
      }
      if let goal = row.goal?.processorTime {
        let top = y - Double(bars.count) * Self.barHeight
        body += """
          <line x1="\(x(goal))" x2="\(x(goal))" y1="\(top - 2)" y2="\(y)" stroke="#c0392b" stroke-width="2"/>\n
          """
      }
      y += 12
    }
    for power in Int(low)...Int(high) {
      let position = x(Foundation.pow(10, Double(power)))
      body = """
        <line x1="\(position)" x2="\(position)" y1="38" y2="\(y)" stroke="#ddd"/>\n
        """ + body + text(position, y + 12, Table.time(Foundation.pow(10, Double(power))), size: 10, anchor: "middle")
    }
    return page(height: y + 24, body)
  }

  private var largest: [Measurement] {
    var last: [String: Measurement] = [:]
    var names: [String] = []
    for measurement in measurements where !measurement.samples.processorTimes.isEmpty {
      if last[measurement.name] == nil { names.append(measurement.name) }
      last[measurement.name] = measurement
    }
    return names.compactMap { last[$0] }
  }

  private func bars(_ measurement: Measurement) -> [Bar] {
    var bars = [Bar(label: "Hearth", color: "#d35400", seconds: measurement.processorTime)]
    if let floor = measurement.floorTime { bars.append(Bar(label: "floor", color: "#95a5a6", seconds: floor)) }
    if let official = measurement.official { bars.append(Bar(label: "official", color: "#2c6fbb", seconds: official)) }
    return bars
  }

  private var empty: String { page(height: 60, text(20, 44, "No times were measured.")) }

  private func page(height: Double, _ body: String) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" font-family="sans-serif">
    <rect width="100%" height="100%" fill="white"/>
    \(text(12, 22, "\(title): processor time per operation or item, logarithmic; red line: goal", size: 14))\(body)</svg>

    """
  }

  private func text(_ x: Double, _ y: Double, _ text: String, size: Int = 12, anchor: String = "start") -> String {
    let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    return "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\" text-anchor=\"\(anchor)\">\(escaped)</text>\n"
  }
}
