internal import BenchmarkKit
internal import Foundation

/// The table as pictures, one for each unit.
enum ServerCharts {
  static func write(_ lines: [MeasuredLine], _ columns: [Column], to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let charts: [(name: String, title: String, unit: Line.Unit)] = [
      ("server-rates", "Operations or documents a second, logarithmic; more is better; red line: goal", .rate),
      ("server-times", "Times, logarithmic; less is better; red line: goal", .time),
      ("server-memory", "Memory, logarithmic; less is better; red line: goal", .bytes),
    ]
    for chart in charts {
      let rows = lines.filter { $0.line.unit == chart.unit }.compactMap { row($0, columns) }
      let picture = BarChart(title: chart.title, rows: rows) { ServerTable.text($0, chart.unit) }
      try Data(picture.svg.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(chart.name).svg"))
    }
  }

  private static func row(_ measured: MeasuredLine, _ columns: [Column]) -> BarChart.Row? {
    let bars = columns.compactMap { column in
      measured.readings[column]?.value.flatMap { value in
        value > 0 ? BarChart.Bar(label: column.rawValue, color: color(column), value: value) : nil
      }
    }
    return bars.isEmpty ? nil : BarChart.Row(label: measured.line.title, bars: bars, goal: measured.line.goal.value)
  }

  private static func color(_ column: Column) -> BarChart.Color {
    switch column {
    case .hearth: .hearth
    case .memory: .memory
    case .emulator: .official
    case .echo: .floor
    case .codec: .secondFloor
    case .sqlite: .storage
    case .locked, .nodes: .secondFloor
    case .lockedMemory, .cluster: .floor
    case .tlsMemory, .tokensMemory: .official
    }
  }
}
