import ArgumentParser
import Foundation
import HearthCache
import HearthModel
import HearthPlan

struct CacheQueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Run a query on what is cached, or show how it is answered.",
    discussion: """
      hearth cache query FOLDER cities --where 'population >= 1000000' --order 'population desc' --limit 10

      Operators: == != < <= > >= array-contains array-contains-any in not-in. A value is JSON; what is not JSON is a text.
      """)

  @OptionGroup var options: CacheOptions

  @Argument(help: "The path of a collection, or with --group the id of a collection group.")
  var collection: String

  @Flag(help: "Ask all collections with this id.")
  var group = false

  @Option(name: .customLong("where"), help: "A condition; may be repeated, and all must hold.")
  var conditions: [String] = []

  @Option(name: .customLong("order"), help: "A field, and asc or desc; may be repeated.")
  var orders: [String] = []

  @Option(help: "No more documents than this.")
  var limit: Int?

  @Flag(help: "Show the plan, its cost and the indexes that are missing, instead of the documents.")
  var explain = false

  @OptionGroup var view: ViewpointOptions

  func run() throws {
    try options.run {
      var text = QueryText(collection: collection)
      text.isCollectionGroup = group
      text.conditions = conditions
      text.orders = orders
      text.limit = limit
      let query = try text.query()
      let start = ContinuousClock.now
      let clock: (() -> Duration)? = explain ? { ContinuousClock.now - start } : nil
      let (documents, execution) = try CacheInspection.read(folder: options.folder) {
        try $0.run(query, as: view.viewpoint, clock: clock)
      }
      if !explain {
        try CacheDocumentsCommand.show(documents, isJSON: options.isJSON)
      } else if options.isJSON {
        Terminal.write(execution.json.indented)
      } else {
        print(execution)
      }
    }
  }

  private func print(_ execution: QueryExecution) {
    func line(_ title: String, _ text: String) {
      Terminal.write(
        Terminal.styled(title.padding(toLength: 10, withPad: " ", startingAt: 0), .bold) + Terminal.safe(text))
    }
    line("plan", execution.planName)
    for name in execution.accesses.compactMap(\.indexName) { line("index", name) }
    if let reason = execution.reason { line("no index", reason) }
    for index in execution.missingIndexes { line("missing", index.description) }
    line(
      "cost",
      "\(execution.rowsRead) rows and \(execution.entriesRead) index entries read, \(execution.resultCount) results")
    for step in execution.steps { line("step", String(format: "%8.2f ms  ", step.milliseconds) + step.name) }
  }
}
