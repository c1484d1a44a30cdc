import ArgumentParser
import Foundation
import HearthCache
import HearthData
import HearthModel
import HearthPlan
import HearthStore

struct CacheInfoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Show size, schema, users and the processes that have the cache open.")

  @OptionGroup var options: CacheOptions

  func run() throws {
    try options.run {
      let overview = try CacheInspection.read(folder: options.folder) { try $0.overview() }
      if options.isJSON { Terminal.write(overview.json.indented) } else { print(overview) }
    }
  }

  private func print(_ cache: CacheOverview) {
    func line(_ title: String, _ text: String) {
      Terminal.write(
        Terminal.styled(title.padding(toLength: 11, withPad: " ", startingAt: 0), .bold) + Terminal.safe(text))
    }
    line("folder", cache.folder)
    line(
      "database",
      cache.databaseID.map { "\($0.projectID) \($0.database)" } ?? "unknown: no client of this release has opened it")
    line(
      "size",
      "\(Terminal.size(cache.fileBytes)), of which \(Terminal.size(cache.usedBytes)) in use; log \(Terminal.size(cache.logBytes))"
    )
    line("schema", cache.schema.map { "\($0.name) \($0.version)" }.joined(separator: ", "))
    line(
      "confirmed",
      (cache.estimatedDocumentCount.map { "at most \(ProgressText.count($0, "document"))" }
        ?? "a number of documents that is not estimated, because of many collections")
        + " (`hearth cache documents` counts them)")
    line("queries", "\(cache.targetCount)")
    line("outbox", "\(cache.pending)")
    if cache.rejected.batches > 0 {
      line("rejected", "\(cache.rejected) that the backend has refused: see `hearth cache rejected`")
    }
    if cache.resolvedConflictCount > 0 {
      let count = ProgressText.count(cache.resolvedConflictCount, "conflict")
      line("conflicts", "\(count) that rules have resolved: see `hearth cache conflicts`")
    }
    if cache.setAsideBatchCount > 0 {
      line(
        "not sent",
        "\(cache.setAsideBatchCount == 1 ? "1 batch" : "\(cache.setAsideBatchCount) batches") set aside, unreadable or of no known user: see `hearth cache outbox`"
      )
    }
    for user in cache.users {
      let unreadable = user.unreadableBatchCount > 0 ? "; set aside: \(user.unreadableBatchCount)" : ""
      let rejected = user.rejected.batches > 0 ? "; rejected: \(user.rejected)" : ""
      let resolved = user.resolvedConflictCount > 0 ? "; resolved conflicts: \(user.resolvedConflictCount)" : ""
      line("user", "\(OutboxOwner(name: user.id).inWords): \(user.pending)\(unreadable)\(rejected)\(resolved)")
    }
    for pinned in cache.pinnedQueries {
      line("pinned", "\(pinned.query): \(ProgressText.count(pinned.documentCount, "confirmed document"))")
    }
    if let use = cache.exclusiveUse {
      line("in use", "by one process that does not share it" + (use.processID.map { ": \($0)" } ?? ""))
    }
    for client in cache.clients {
      let process = client.processID.map { ", process \($0)" } ?? ""
      let role = !client.isAlive ? "ended without leaving" : client.isPrimary ? "primary" : "secondary"
      let queries = ProgressText.count(client.targetCount, "query")
      let user = OutboxOwner(name: client.user).inWords
      line("client", "\(client.name): \(role)\(process), user \(user), \(queries)")
    }
    if let damage = cache.knownDamage { Terminal.write(Terminal.styled("damaged    \(Terminal.safe(damage))", .red)) }
    for name in cache.filesSetAside { line("set aside", name) }
  }
}

struct CacheOutboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "List the writes that wait for the backend, in the order in which they are sent.",
    discussion: "Those that are kept and not sent come last, as set aside. With JSON, one object per line and batch.")

  @OptionGroup var options: CacheOptions

  @OptionGroup var owner: OwnerOptions

  func run() throws {
    try options.run {
      let wanted = owner.owner.map(\.name)
      var (table, count) = (Self.emptyTable, WriteCount())
      var lines: [String] = []
      let empty = try CacheInspection.read(folder: options.folder) { cache in
        (lines, table, count) = ([], Self.emptyTable, WriteCount())
        try cache.forEachPendingBatch(of: wanted) { entry in
          if options.isJSON {
            lines.append(entry.json { $0.dataJSON(in: cache.nameForValues) }.compact)
          } else {
            Self.add(entry, to: &table)
            count.add(entry.contents)
          }
          return true
        }
        return lines.isEmpty && table.rowCount == 0 ? EmptyCacheAnswer.outbox(owner.owner, try cache.overview()) : nil
      }
      if options.isJSON {
        for line in lines { Terminal.write(line) }
      } else {
        try options.format.tables.show(table, ending: "\(count)")
      }
      if let empty { EmptyCacheAnswer.write(empty) }
    }
  }

  private static let emptyTable = TableLayout(["BATCH", "USER", "WRITTEN", "OPERATION", "DOCUMENT"], right: [0])

  private static func add(_ entry: OutboxEntry, to table: inout TableLayout) {
    let (number, user) = ("\(entry.batchID)", entry.owner.inWords)
    switch entry.contents {
    case .unreadable(let reason): table.add([number, user, "", entry.isSetAside ? "set aside" : "unreadable", reason])
    case .batch(let batch):
      for mutation in batch.mutations {
        table.add([
          number, user, batch.localWriteTime.rfc3339, mutation.operationName, mutation.key.canonicalString,
        ])
      }
    }
  }
}

struct CacheDocumentsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "documents", abstract: "List the collections, or the documents of one.",
    discussion: "With JSON, one object per line.")

  @OptionGroup var options: CacheOptions

  @Argument(
    help: "The path of a collection, such as cities or cities/SF/shops; without it, all collections are listed.")
  var collection: String?

  @Option(parsing: .unconditional, help: "No more documents than this.")
  var limit = 100

  @OptionGroup var view: ViewpointOptions

  func run() throws {
    try options.run {
      guard let collection else { return try listCollections() }
      try options.checkOrder(collection)
      var words = DataQuery(collection: collection)
      words.limit = limit
      try words.check()
      // One more tells whether there are more.
      words.limit = limit == .max ? limit : limit + 1
      let (documents, empty, database) = try CacheInspection.read(folder: options.folder) { cache in
        let query = try words.query(in: cache.nameForValues)
        let documents = try cache.run(query, as: view.viewpoint).documents
        let empty =
          documents.isEmpty
          ? try (
            cache.collectionPaths(as: view.viewpoint), EmptyCacheAnswer.documents(view.viewpoint, cache.overview())
          )
          : nil
        return (documents, empty, cache.nameForValues)
      }
      try CacheDocuments.show(
        Array(documents.prefix(limit)), in: database, options.format, isCut: documents.count > limit)
      if let empty { CacheDocuments.explainEmpty(words, empty.0, empty.1) }
    }
  }

  private func listCollections() throws {
    let (collections, empty) = try CacheInspection.read(folder: options.folder) { cache in
      let collections = try cache.collections(as: view.viewpoint)
      return (
        collections, collections.isEmpty ? EmptyCacheAnswer.documents(view.viewpoint, try cache.overview()) : nil
      )
    }
    if options.isJSON {
      for collection in collections {
        let members: [(name: String, value: JSONText)] = [
          ("collection", .string(collection.path.canonicalString)),
          ("documents", .integer(collection.documentCount)),
        ]
        Terminal.write(JSONText.object(members).compact)
      }
    } else {
      var table = TableLayout(["COLLECTION", "CONFIRMED"], right: [1])
      for collection in collections {
        table.add([collection.path.canonicalString, ProgressText.grouped(collection.documentCount)])
      }
      try options.format.tables.show(table, counting: "collection")
    }
    if let empty { EmptyCacheAnswer.write(empty) }
  }
}

struct CacheGetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print documents.", usage: "hearth cache get <folder> <documents> ... [<options>]",
    discussion: """
      Prints what the cache knows: a document may also be known not to exist. The exit status is 1 if the cache knows nothing of one.
      """)

  @OptionGroup var options: CacheOptions

  @Argument(help: "The paths of documents, such as cities/SF.")
  var documents: [String]

  @OptionGroup var view: ViewpointOptions

  func run() throws {
    try options.run {
      try options.checkOrder(documents.first)
      let keys = try DataPath.documents(documents)
      let (found, database) = try CacheInspection.read(folder: options.folder) { cache in
        (try keys.map { try cache.document(for: $0, as: view.viewpoint) }, cache.nameForValues)
      }
      let known = found.filter { !$0.isUnknown }
      if options.isJSON {
        try CacheDocuments.write(known, in: database)
      } else {
        try options.format.tables.show(
          try known.flatMap { DocumentFields.lines(of: $0, try $0.shownFields, in: database) })
      }
      let unknown = found.filter(\.isUnknown)
      for document in unknown {
        let sentence = try CacheInspection.read(folder: options.folder) { cache in
          try EmptyCacheAnswer.document(
            document.key, confirmed: view.confirmed, cache.ownersOfWrites(to: document.key),
            among: cache.keysNear(document.key, as: view.viewpoint), cache.collectionPaths(as: view.viewpoint))
        }
        EmptyCacheAnswer.write(sentence)
      }
      if !unknown.isEmpty { throw ExitCode.failure }
    }
  }
}

struct CacheIndexesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "indexes", abstract: "List the local indexes with their sizes.",
    discussion: "Counts all entries of the indexes. With JSON, one object per line and index.")

  @OptionGroup var options: CacheOptions

  func run() throws {
    try options.run {
      let indexes = try CacheInspection.read(folder: options.folder) { try $0.indexes() }
      if options.isJSON {
        for index in indexes { Terminal.write(index.json.compact) }
      } else {
        var table = TableLayout(["INDEX", "ORIGIN", "STATE", "ENTRIES", "SIZE"], right: [3, 4])
        for index in indexes {
          table.add([
            index.definition.description, index.origin == .declared ? "declared" : "automatic",
            index.fill == .complete ? "complete" : "filling", "\(index.rowCount)", Terminal.size(index.byteCount),
          ])
        }
        try options.format.tables.show(table, counting: "index")
      }
      if indexes.isEmpty { EmptyCacheAnswer.write(EmptyCacheAnswer.indexes) }
    }
  }
}
