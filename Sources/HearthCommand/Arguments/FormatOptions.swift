import ArgumentParser

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
  case table, json
}

/// Tables or JSON.
struct FormatOptions: ParsableArguments {
  @Option(help: "table or json; by default a table on a terminal and JSON otherwise.")
  var format: OutputFormat?

  @Flag(help: "Do not show tables that are longer than the terminal with $PAGER.")
  var noPager = false

  var isJSON: Bool { format.map { $0 == .json } ?? !Terminal.isOutputTerminal }

  var tables: TableOutput { TableOutput(allowsPager: !noPager) }
}
