import ArgumentParser
import HearthData
import HearthModel

struct DataDatabasesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "databases", abstract: "List the projects and databases of the backend.",
    usage: "hearth data databases [<options>]",
    discussion: """
      `hearth serve` lists those of all projects that have documents, or had some. Cloud Firestore lists those of --project. Google's \
      emulator has no such list. With JSON, one object per line.
      """)

  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [format] backend in
      let databases = try await backend.databases()
      if databases.isEmpty {
        Terminal.writeError(
          "hearth data: The backend at \(backend.place) has no databases yet: the first write makes one.")
      }
      guard format.isJSON else {
        var layout = TableLayout(["PROJECT", "DATABASE"])
        for database in databases { layout.add([database.projectID, database.database]) }
        return try format.tables.show(layout, counting: "database")
      }
      let output = StandardOutput()
      for database in databases {
        let members: [(name: String, value: JSONText)] = [
          ("project", .string(database.projectID)), ("database", .string(database.database)),
        ]
        try output.writeLine(JSONText.object(members).compact)
      }
    }
  }
}

extension EmptyAnswer {
  /// Says on standard error why a query, or the list of collections, is empty.
  static func explain(_ words: DataQuery?, _ backend: DataBackend) async {
    Terminal.writeError("hearth data: \(TableLayout.safe(await EmptyAnswer(backend).explanation(of: words)))")
  }
}
