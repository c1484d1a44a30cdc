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
      let chart = BarChart(of: measurements.filter { $0.group == group }, title: group)
      try Data(chart.svg.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).svg"))
    }
  }
}

extension BarChart {
  /// Hearth, the floor and the official core for each operation at its largest size, with a line where the goal is.
  init(of measurements: [Measurement], title: String) {
    var last: [String: Measurement] = [:]
    var names: [String] = []
    for measurement in measurements where !measurement.samples.processorTimes.isEmpty {
      if last[measurement.name] == nil { names.append(measurement.name) }
      last[measurement.name] = measurement
    }
    self.init(
      title: "\(title): processor time per operation or item, logarithmic; red line: goal",
      rows: names.compactMap { last[$0] }.map { measurement in
        var bars = [Bar(label: "Hearth", color: .hearth, value: measurement.processorTime)]
        if let floor = measurement.floorTime { bars.append(Bar(label: "floor", color: .floor, value: floor)) }
        if let official = measurement.official {
          bars.append(Bar(label: "official", color: .official, value: official))
        }
        return Row(
          label: "\(measurement.title), \(Table.number(measurement.size))", bars: bars,
          goal: measurement.goal?.processorTime)
      }, format: Table.time)
  }
}
