/// Rows of text in columns, cut to a width in cells of the terminal.
package struct TableLayout: Sendable {
  private let titles: [String]
  /// The columns whose cells stand at the right, such as numbers.
  private let rightColumns: Set<Int>
  private var rows: [[String]] = []

  package var rowCount: Int { rows.count }

  private static let gap = 2
  private static let widestCell = 60
  private static let narrowestColumn = 6

  package init(_ titles: [String], right: Set<Int> = []) {
    self.titles = titles.map { Self.safe($0) }
    rightColumns = right
  }

  package mutating func add(_ cells: [String]) {
    let missing = max(0, titles.count - cells.count)
    rows.append(cells.prefix(titles.count).map { Self.safe($0) } + Array(repeating: "", count: missing))
  }

  /// The lines; the first has the titles. None takes more cells than the width; columns that do not fit are left out, from the last on.
  package func lines(width: Int) -> [String] {
    var widths = titles.indices.map { column in
      min(Self.widestCell, max(CellWidth.of(titles[column]), rows.lazy.map { CellWidth.of($0[column]) }.max() ?? 0))
    }
    func total() -> Int { widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) }
    // First the widest columns become narrower, then the last ones go.
    while total() > width, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
      widths[widest] > Self.narrowestColumn
    {
      widths[widest] = max(Self.narrowestColumn, widths[widest] - (total() - width))
    }
    while total() > width, widths.count > 1 { widths.removeLast() }
    if let only = widths.first, widths.count == 1 { widths = [min(only, max(1, width))] }
    return ([titles] + rows).map { line($0, widths) }
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (column, width) in widths.enumerated() {
      let cell = CellWidth.cut(cells[column], to: width)
      let padding = String(repeating: " ", count: max(0, width - CellWidth.of(cell)))
      if column > 0 { line += String(repeating: " ", count: Self.gap) }
      line += rightColumns.contains(column) ? padding + cell : cell + padding
    }
    while line.last == " " { line.removeLast() }
    return line
  }

  /// The text with escapes, such as `\n` and `\u{1b}`, in place of characters that a terminal would obey, or that would change the direction
  /// of what follows.
  package static func safe(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isObeyed) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      guard isObeyed(scalar) else {
        result.unicodeScalars.append(scalar)
        continue
      }
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return result
  }

  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
