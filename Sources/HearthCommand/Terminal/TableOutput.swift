import HearthData

/// Shows tables: in the width of the terminal, with the number of rows, and through a pager if they are longer than the screen.
struct TableOutput {
  /// False if the user has said `--no-pager`.
  var allowsPager: Bool

  /// - Parameters:
  ///   - layout: The table.
  ///   - noun: A row in words, such as "document"; nil for a table whose rows are not counted.
  /// - Throws: `DataError` if nobody takes the lines.
  func show(_ layout: TableLayout, counting noun: String?) throws {
    try show(layout, ending: noun.map { ProgressText.count(layout.rowCount, $0) })
  }

  /// Shows a table with a line of its own at the end.
  func show(_ layout: TableLayout, ending: String?) throws {
    var lines = layout.lines(width: Terminal.width)
    lines[0] = Terminal.styled(lines[0], .bold)
    if let ending { lines.append(Terminal.styled(ending, .dim)) }
    try show(lines)
  }

  /// Shows lines that are ready.
  func show(_ lines: [String]) throws {
    if allowsPager, Terminal.isOutputTerminal, let height = Terminal.height, lines.count >= height,
      let pager = Pager.chosen, pager.show(lines)
    {
      return
    }
    let output = StandardOutput()
    try output.write(Array(lines.map { $0 + "\n" }.joined().utf8))
  }
}
