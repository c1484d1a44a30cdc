import ArgumentParser
import HearthData
import HearthModel
import Synchronization

struct DataQueryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Print the documents that a query finds.",
    discussion: """
      hearth data query cities --where 'state == "CA"' --limit 10
      hearth data query cities --where 'population > 1000000' \\
        --order-by population:desc
      """)

  @OptionGroup var query: QueryOptions

  @Option(help: "Only these fields, separated by commas.")
  var select: String?

  @OptionGroup var time: ReadTimeOptions
  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [words = query.words, select, format, version = time.version] backend in
      let query = try words.query(in: backend.databaseID)
      let selected = try select.map { try FieldText.list($0, at: "--select \"\($0)\"") }
      let output = DocumentOutput(database: backend.databaseID)
      let documents = Mutex<[Document]>([])
      let isJSON = format.isJSON
      let unseen = UnseenFields(selected ?? [])
      try await backend.query(query, selecting: selected, at: version) { document in
        unseen.look(at: document)
        if isJSON { output.take(document) } else { documents.withLock { $0.append(document) } }
      }
      let count: Int
      if isJSON {
        count = try output.end()
      } else {
        var table = DocumentTable(database: backend.databaseID)
        for document in documents.withLock({ $0 }) { table.add(document, fields: try document.fields.decoded()) }
        try format.tables.show(table.layout, counting: "document")
        count = table.layout.rowCount
      }
      guard count > 0 else { return await EmptyAnswer.explain(words, backend) }
      for path in unseen.paths {
        let sentence = await FieldAdvice(words, backend).missing(path)
        Terminal.writeError("hearth data: --select: \(TableLayout.safe(sentence))")
      }
    }
  }
}

struct DataCountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count", abstract: "Count the documents that a query finds, and aggregate their fields.",
    discussion: """
      hearth data count cities --where 'state == "CA"' --sum population

      With --sum and --average only the documents that have all these fields are counted.
      """)

  @OptionGroup var query: QueryOptions

  @Option(help: "A field whose numbers are added; may be repeated.")
  var sum: [String] = []

  @Option(help: "A field whose numbers are averaged; may be repeated.")
  var average: [String] = []

  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    guard sum.count + average.count < Aggregation.maximumCount else {
      throw ValidationError("A request has at most \(Aggregation.maximumCount - 1) sums and averages beside the count.")
    }
  }

  func run() async throws {
    try await connection.run { [words = query.words, sum, average, format] backend in
      let query = try words.query(in: backend.databaseID)
      var aggregations = [(name: "count", Aggregation(alias: "a0", operation: .count(upTo: nil)))]
      var paths: [FieldPath] = []
      for field in sum {
        let path = try FieldText.path(field, at: "--sum \"\(field)\"")
        paths.append(path)
        aggregations.append(("sum(\(field))", Aggregation(alias: "a\(aggregations.count)", operation: .sum(path))))
      }
      for field in average {
        let path = try FieldText.path(field, at: "--average \"\(field)\"")
        paths.append(path)
        aggregations.append(
          ("average(\(field))", Aggregation(alias: "a\(aggregations.count)", operation: .average(path))))
      }
      let values = try await backend.aggregate(query, aggregations.map(\.1))
      let results = aggregations.map { ($0.name, values[$0.1.alias] ?? .null) }
      if format.isJSON {
        var writer = ValueJSONWriter(database: backend.databaseID)
        writer.writeFields(MapValue(entries: results))
        writer.append("\n")
        try StandardOutput().write(writer.bytes)
      } else {
        var layout = TableLayout(results.map { $0.0.uppercased() })
        layout.add(results.map { DocumentTable.cell($0.1, backend.databaseID) })
        try format.tables.show(layout, counting: nil)
      }
      guard case .integer(let count)? = values["a0"] else { return }
      guard count > 0 else {
        var words = words
        words.aggregatedFields = sum + average
        return await EmptyAnswer.explain(words, backend)
      }
      // A number that is none makes a sum one, and is not counted.
      guard !results.contains(where: { if case .double(let sum) = $0.1 { sum.isNaN } else { false } }) else { return }
      for path in Set(paths).sorted() {
        let sentence = await FieldAdvice(words, backend).numbers(at: path, aggregations.map(\.1), counted: count)
        if let sentence { Terminal.writeError("hearth data: \(TableLayout.safe(sentence))") }
      }
    }
  }
}

struct DataCollectionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collections", abstract: "List the collections of the database, or those below a document.",
    discussion: "With JSON, one object per line.")

  @Argument(help: "The path of a document; without it, the collections at the root are listed.")
  var document: String?

  @OptionGroup var time: ReadTimeOptions
  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [document, format, version = time.version] backend in
      let parent = try document.map { try DataPath.document($0).path } ?? ResourcePath()
      let ids = try await backend.collectionIDs(below: parent, at: version)
      let paths = ids.map { parent.appending($0).canonicalString }
      if ids.isEmpty {
        if document == nil {
          await EmptyAnswer.explain(nil, backend)
        } else {
          try await Self.nothing(below: parent, backend)
        }
      }
      guard format.isJSON else {
        var layout = TableLayout(["COLLECTION"])
        for path in paths { layout.add([ShellWord.bare(path)]) }
        return try format.tables.show(layout, counting: "collection")
      }
      let output = StandardOutput()
      for path in paths { try output.writeLine(JSONText.object([("collection", .string(path))]).compact) }
    }
  }

  private static func nothing(below parent: ResourcePath, _ backend: DataBackend) async throws {
    let key = try DataPath.document(parent.canonicalString)
    let document = try await backend.documents(for: [key], at: nil).first
    let reason = document?.isFound == true ? "." : ": \(await EmptyAnswer(backend).missing(parent, as: "it"))"
    let sentence = "There are no collections below \"\(parent.canonicalString)\"\(reason)"
    Terminal.writeError("hearth data: \(TableLayout.safe(sentence))")
  }
}
