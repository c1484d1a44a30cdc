import ArgumentParser
import HearthData
import HearthModel

struct DataWatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print the documents of a query, and each change of them as it comes.",
    discussion: """
      hearth data watch cities --where 'state == "CA"'

      Changes are printed once the backend has sent a consistent state; a connection that is lost after that is made again, and nothing is printed twice. \
      With JSON each line has a member "change": added, changed or removed. On a terminal they are +, ~ and -. Ctrl-C ends it.
      """)

  @OptionGroup var query: QueryOptions

  @Flag(help: "End when the present documents are printed.")
  var once = false

  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [words = query.words, once, format] backend in
      var watch = DataWatch(query: try words.query(in: backend.databaseID))
      watch.endsWithFirstResult = once
      let (output, isJSON, database) = (StandardOutput(), format.isJSON, backend.databaseID)
      var isFirst = true
      try await watch.run(backend) { changes, _ in
        var writer = ValueJSONWriter(database: database)
        if isFirst, changes.isEmpty { await EmptyAnswer.explain(words, backend) }
        isFirst = false
        for change in changes {
          if isJSON { try Self.write(change, to: &writer) } else { writer.append(try Self.line(change, database)) }
          writer.append("\n")
        }
        try output.write(writer.bytes)
      }
    }
  }

  private static func write(_ change: WatchedChange, to writer: inout ValueJSONWriter) throws {
    switch change {
    case .added(let document):
      writer.append("{\"change\":\"added\",\"document\":")
      try DocumentLine.write(document, to: &writer)
    case .changed(let document):
      writer.append("{\"change\":\"changed\",\"document\":")
      try DocumentLine.write(document, to: &writer)
    case .removed(let key):
      writer.append("{\"change\":\"removed\",\"path\":")
      writer.write(key.canonicalString)
    }
    writer.append("}")
  }

  private static func line(_ change: WatchedChange, _ database: DatabaseID) throws -> String {
    func contents(_ document: Document) throws -> String {
      DocumentTable.cell(.map(try document.fields.decoded()), database)
    }
    func path(_ key: DocumentKey) -> String { ShellWord.bare(key.canonicalString) }
    let (mark, style, text): (String, Terminal.Style, String) =
      switch change {
      case .added(let document): ("+", .green, "\(path(document.key))  \(try contents(document))")
      case .changed(let document): ("~", .bold, "\(path(document.key))  \(try contents(document))")
      case .removed(let key): ("-", .red, path(key))
      }
    let safe = TableLayout.safe(text)
    let room = max(20, Terminal.width - 2)
    return Terminal.styled(mark, style) + " " + CellWidth.cut(safe, to: room)
  }
}
