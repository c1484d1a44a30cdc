import ArgumentParser
import Foundation
import HearthCache
import HearthData
import HearthModel
import HearthPlan

struct CacheQueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Run a query on what is cached, or show how it is answered.",
    discussion: """
      hearth cache query FOLDER cities --where 'state == "CA"' --limit 10
      hearth cache query FOLDER cities --order-by population:desc --explain

      Conditions, orders and values are those of `hearth data query`.
      """)

  @OptionGroup var options: CacheOptions

  @OptionGroup var query: QueryOptions

  @Flag(help: "Show the plan, its cost and the indexes that are missing, instead of the documents.")
  var explain = false

  @OptionGroup var view: ViewpointOptions

  func run() throws {
    try options.run {
      try options.checkOrder(query.collection)
      try query.words.check()
      let start = ContinuousClock.now
      let clock: (() -> Duration)? = explain ? { ContinuousClock.now - start } : nil
      let (documents, execution, empty, database) = try CacheInspection.read(folder: options.folder) { cache in
        let query = try query.words.query(in: cache.nameForValues)
        let (documents, execution) = try cache.run(query, as: view.viewpoint, clock: clock)
        let empty =
          documents.isEmpty
          ? try (
            cache.collectionPaths(as: view.viewpoint), EmptyCacheAnswer.documents(view.viewpoint, cache.overview()),
            advice(cache)
          ) : nil
        return (documents, execution, empty, cache.nameForValues)
      }
      if !explain {
        try CacheDocuments.show(documents, in: database, options.format)
        if let empty { CacheDocuments.explainEmpty(query.words, empty.0, empty.1, empty.2) }
      } else if options.isJSON {
        Terminal.write(execution.json.indented)
      } else {
        print(execution)
      }
    }
  }

  /// The reason why the words of the query match nothing, from some documents of its collection.
  private func advice(_ cache: CacheInspection) throws -> String? {
    var words = query.words.withoutConditions
    words.limit = EmptyResultAdvice.sampleSize
    let sample = try cache.run(words.query(in: cache.nameForValues), as: view.viewpoint).documents
    let named = query.words.namedDocuments(in: cache.nameForValues).first
    let keys = try named.map { try cache.keysNear($0, as: view.viewpoint) } ?? []
    return EmptyResultAdvice(sample, and: keys, in: cache.nameForValues).text(for: query.words)
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
      "\(ProgressText.count(execution.rowsRead, "row")) and \(ProgressText.count(execution.entriesRead, "index entry")) read, "
        + ProgressText.count(execution.resultCount, "result"))
    for step in execution.steps { line("step", String(format: "%8.2f ms  ", step.milliseconds) + step.name) }
  }
}
