import ArgumentParser
import HearthData
import HearthModel

struct DataGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print documents.", usage: "hearth data get <documents> ... [<options>]",
    discussion: """
      hearth data get cities/SF cities/LA

      The exit status is 1 if one of them does not exist.
      """)

  @Argument(help: "The paths of documents, such as cities/SF.")
  var documents: [String]

  @OptionGroup var time: ReadTimeOptions
  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await connection.run { [documents, format, version = time.version] backend in
      let found = try await backend.documents(for: try DataPath.documents(documents), at: version)
      try Self.show(found.filter(\.isFound), format, backend)
      let missing = found.filter { !$0.isFound }
      for document in missing {
        let sentence = await EmptyAnswer(backend).missing(document.key.path)
        Terminal.writeError("hearth data: \(TableLayout.safe(sentence))")
      }
      if !missing.isEmpty { throw ExitCode.failure }
    }
  }

  private static func show(_ documents: [Document], _ format: FormatOptions, _ backend: DataBackend) throws {
    guard !format.isJSON else {
      let output = DocumentOutput(database: backend.databaseID)
      for document in documents { output.take(document) }
      _ = try output.end()
      return
    }
    try format.tables.show(
      try documents.flatMap { DocumentFields.lines(of: $0, try $0.fields.decoded(), in: backend.databaseID) })
  }
}

struct DataDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a document, or everything below a path.",
    usage: "hearth data delete <path> [<options>]",
    discussion: """
      hearth data delete cities/SF
      hearth data delete cities --recursive --yes

      A document that does not exist is reported, and the exit status is 0 all the same. With --recursive the path may be that of a \
      collection. On a terminal you are asked first. An interrupted deletion can run again.
      """)

  @Argument(help: "The path of a document, or with --recursive also of a collection.")
  var path: String

  @Flag(help: "Delete everything below the path, too.")
  var recursive = false

  @Flag(help: "Do not ask.")
  var yes = false

  @Flag(
    name: [.customLong("must-exist"), .customLong("if-exists")],
    help: "Fail with status 1 if the document does not exist.")
  var mustExist = false

  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    if recursive, mustExist { throw ValidationError("--recursive and --must-exist exclude each other.") }
  }

  func run() async throws {
    let next = "Run the same command again to delete the rest."
    try await connection.run(afterInterrupt: recursive ? next : nil, before: confirmedPath) { [self] backend, path in
      guard let path else { return try await deleteOne(backend) }
      try await LongRun.run("Deleting", done: "Deleted", "from \(EmptyAnswer(backend).project)") { progress in
        try await RecursiveDelete(path: path).run(backend, progress: progress)
      } whenEmpty: { _ in
        await nothingBelow(path, backend)
      }
    }
  }

  /// The path of a recursive deletion, if the user means it; nil for that of one document.
  private func confirmedPath(_ backend: DataBackend) throws -> ResourcePath? {
    guard recursive else { return nil }
    guard let path = try? ResourcePath(parsing: path) else {
      throw DataError.argument("\"\(path)\" is not a path, such as cities or cities/SF.")
    }
    try confirm(path, backend)
    return path
  }

  private func deleteOne(_ backend: DataBackend) async throws {
    guard let key = try? DocumentKey(parsing: path) else {
      throw DataError.argument("\"\(path)\" is not the path of a document. Add --recursive to delete a collection.")
    }
    let time = try await backend.delete(key, failure: "Document \"\(path)\" was not deleted")?.timestamp.rfc3339
    let path = key.canonicalString
    if time == nil {
      let answer = EmptyAnswer(backend)
      if mustExist {
        throw DataError("Document \"\(path)\" was not deleted: \(await answer.missing(key.path, as: "it"))")
      }
      Terminal.writeError("hearth data: Nothing was deleted: \(TableLayout.safe(await answer.missing(key.path)))")
    }
    if format.isJSON {
      let deleted: [(name: String, value: JSONText)] = [("path", .string(path)), ("deleted", .bool(time != nil))]
      try StandardOutput().writeLine(
        JSONText.object(deleted + (time.map { [("commitTime", .string($0))] } ?? [])).compact)
    } else if let time {
      try StandardOutput().writeLine(
        "Document \(TableLayout.safe(ShellWord.bare(path))) is deleted, in \(backend.databaseID) at \(time).")
    }
  }

  private func nothingBelow(_ path: ResourcePath, _ backend: DataBackend) async -> String {
    guard path.count.isMultiple(of: 2) else {
      return await EmptyAnswer(backend).explanation(of: DataQuery(collection: path.canonicalString))
    }
    return "Nothing was deleted: \(await EmptyAnswer(backend).missing(path)) Nothing is below it."
  }

  private func confirm(_ path: ResourcePath, _ backend: DataBackend) throws {
    guard !yes else { return }
    let what = "\"\(path.canonicalString)\" and everything below it, in \(backend.databaseID) at \(backend.place)"
    guard Terminal.isInputTerminal else {
      throw DataError("Nothing was deleted: add --yes to delete \(what).")
    }
    try Confirmation.ask("Delete \(what)?")
  }
}
