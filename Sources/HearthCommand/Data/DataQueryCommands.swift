import ArgumentParser
import HearthData
import HearthModel
import Synchronization

/// The words of a query, which query, count and watch share.
struct QueryOptions: ParsableArguments {
  @Argument(help: "The path of a collection, or with --collection-group the id of a collection group.")
  var collection: String

  @Flag(help: "Ask all collections with this id.")
  var collectionGroup = false

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "A condition such as 'population >= 1000000'; may be repeated, and all must hold.",
      discussion: """
        Operators: == != < <= > >= array-contains array-contains-any in not-in. The value is JSON; what is not JSON is a text. \
        __name__ is the id or the path of the document.
        """))
  var conditions: [String] = []

  @Option(help: "A field, or FIELD:desc; may be repeated.")
  var orderBy: [String] = []

  @Option(help: "No more documents than this.")
  var limit: Int?

  @Option(help: "Begin at this value of the first order, or at an array with a value for each order.")
  var startAt: String?

  @Option(help: "Begin after this position.")
  var startAfter: String?

  @Option(help: "End at this position.")
  var endAt: String?

  @Option(help: "End before this position.")
  var endBefore: String?

  var words: DataQuery {
    var query = DataQuery(collection: collection)
    query.isCollectionGroup = collectionGroup
    query.conditions = conditions
    query.orders = orderBy
    query.limit = limit
    query.startAt = startAt
    query.startAfter = startAfter
    query.endAt = endAt
    query.endBefore = endBefore
    return query
  }
}

struct DataQueryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Print the documents that a query finds.",
    discussion: """
      hearth data query cities --where 'state == "CA"' --where 'population > 1000000' --order-by population:desc --limit 10
      """)

  @OptionGroup var query: QueryOptions

  @Option(help: "Only these fields, separated by commas.")
  var select: String?

  @OptionGroup var time: ReadTimeOptions
  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [words = query.words, select, format, version = time.version] backend, _ in
      let query = try words.query(in: backend.databaseID)
      var fields: [FieldPath]?
      if let select {
        fields = try select.split(separator: ",").map { try DataPath.field(String($0)) }
      }
      let selected = fields
      let output = DocumentOutput(database: backend.databaseID)
      let documents = Mutex<[Document]>([])
      let isJSON = format.isJSON
      try await backend.query(query, selecting: selected, at: version) { document in
        if isJSON { output.take(document) } else { documents.withLock { $0.append(document) } }
      }
      if isJSON {
        _ = try output.end()
        return
      }
      var table = DocumentTable(database: backend.databaseID)
      for document in documents.withLock({ $0 }) { table.add(document, fields: try document.fields.decoded()) }
      let standardOutput = StandardOutput()
      for (index, line) in table.lines(width: Terminal.width).enumerated() {
        try standardOutput.writeLine(index == 0 ? Terminal.styled(line, .bold) : line)
      }
    }
  }
}

struct DataCountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count", abstract: "Count the documents that a query finds, and aggregate their fields.",
    discussion: """
      hearth data count cities --where 'state == "CA"' --sum population --average population

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
    try await connection.run { [words = query.words, sum, average, format] backend, _ in
      let query = try words.query(in: backend.databaseID)
      var aggregations = [(name: "count", Aggregation(alias: "a0", operation: .count(upTo: nil)))]
      for field in sum {
        let operation = Aggregation.Operation.sum(try DataPath.field(field))
        aggregations.append(("sum(\(field))", Aggregation(alias: "a\(aggregations.count)", operation: operation)))
      }
      for field in average {
        let operation = Aggregation.Operation.average(try DataPath.field(field))
        aggregations.append(("average(\(field))", Aggregation(alias: "a\(aggregations.count)", operation: operation)))
      }
      let values = try await backend.aggregate(query, aggregations.map(\.1))
      let results = aggregations.map { ($0.name, values[$0.1.alias] ?? .null) }
      let output = StandardOutput()
      if format.isJSON {
        var writer = ValueJSONWriter(database: backend.databaseID)
        writer.writeFields(MapValue(entries: results))
        writer.append("\n")
        try output.write(writer.bytes)
      } else {
        var layout = TableLayout(results.map { $0.0.uppercased() })
        layout.add(results.map { DocumentTable.cell($0.1, backend.databaseID) })
        for line in layout.lines(width: Terminal.width) { try output.writeLine(line) }
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
    try await connection.run { [document, format, version = time.version] backend, _ in
      let parent = try document.map { try DataPath.document($0).path } ?? ResourcePath()
      let ids = try await backend.collectionIDs(below: parent, at: version)
      let output = StandardOutput()
      if !format.isJSON { try output.writeLine(Terminal.styled("COLLECTION", .bold)) }
      for id in ids {
        let path = parent.appending(id).canonicalString
        let object = JSONText.object([("collection", .string(path))])
        try output.writeLine(format.isJSON ? object.compact : TableLayout.safe(path))
      }
    }
  }
}
