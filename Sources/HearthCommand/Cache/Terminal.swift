import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the output goes to: a person at a terminal, or another program.
enum Terminal {
  static let isOutputTerminal = isatty(STDOUT_FILENO) != 0
  static let isErrorTerminal = isatty(STDERR_FILENO) != 0
  static let isInputTerminal = isatty(STDIN_FILENO) != 0

  /// The columns of the terminal; those that COLUMNS names, or 100, where that is not known.
  static var width: Int {
    var size = winsize()
    if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }.map { max(20, $0) } ?? 100
  }

  /// Colours only on a terminal, and not where the user has switched them off (https://no-color.org).
  static let usesColours =
    isOutputTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  enum Style: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case dim = "2"
  }

  static func styled(_ text: String, _ style: Style) -> String {
    usesColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// The text without characters that a terminal would obey: a document may hold any.
  static func safe(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
      result.append(isControl ? "\u{FFFD}" : scalar)
    }
    return String(result)
  }

  static func write(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  static func writeError(_ line: String) {
    FileHandle.standardError.write(Data((line + "\n").utf8))
  }

  /// Ends the process at once.
  static func end(_ status: Int32) -> Never { exit(status) }

  static func size(_ bytes: Int64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(bytes), 0)
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : String(format: "%.1f ", value) + units[unit]
  }
}

/// Rows of text in aligned columns.
struct TextTable {
  let titles: [String]
  private(set) var rows: [[String]] = []
  /// The columns whose cells stand at the right, such as numbers.
  var rightColumns: Set<Int> = []

  private static let cellWidth = 80

  init(_ titles: String..., right: Set<Int> = []) {
    self.titles = titles
    rightColumns = right
  }

  mutating func add(_ cells: String...) {
    rows.append(
      cells.map { cell in
        let safe = Terminal.safe(cell)
        return safe.count <= Self.cellWidth ? safe : safe.prefix(Self.cellWidth - 1) + "…"
      })
  }

  func print() {
    let widths = titles.indices.map { column in
      max(titles[column].count, rows.map { $0[column].count }.max() ?? 0)
    }
    Terminal.write(Terminal.styled(line(titles, widths), .bold))
    for row in rows { Terminal.write(line(row, widths)) }
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var parts: [String] = []
    for (column, cell) in cells.enumerated() {
      let padding = String(repeating: " ", count: widths[column] - cell.count)
      let isLast = column == cells.count - 1
      parts.append(rightColumns.contains(column) ? padding + cell : isLast ? cell : cell + padding)
    }
    return parts.joined(separator: "  ")
  }
}

/// A line on standard error that shows how far long work has come; nothing unless that is a terminal.
final class ProgressLine {
  private var isShown = false
  private var latest = ContinuousClock.now - .seconds(1)

  func show(_ text: String, done: Int, total: Int?) {
    let now = ContinuousClock.now
    guard Terminal.isErrorTerminal, now - latest > .milliseconds(100) else { return }
    latest = now
    isShown = true
    var line = "\r\u{1B}[K\(text)"
    if let total, total > 0 {
      let filled = min(20, done * 20 / total)
      line += " [" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled) + "]"
    }
    if done > 0 { line += " \(done)" }
    FileHandle.standardError.write(Data(line.utf8))
  }

  func end() {
    if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    isShown = false
  }
}
