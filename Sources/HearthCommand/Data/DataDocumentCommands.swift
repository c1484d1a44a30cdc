import ArgumentParser
import Foundation
import HearthData
import HearthModel

struct DataGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print documents.",
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
    try await connection.run { [documents, format, version = time.version] backend, _ in
      var keys: [DocumentKey] = []
      for document in documents { keys.append(try DataPath.document(document)) }
      let found = try await backend.documents(for: keys, at: version)
      try Self.show(found.filter(\.isFound), isJSON: format.isJSON, backend)
      let missing = found.filter { !$0.isFound }
      for document in missing {
        Terminal.writeError(
          "hearth data: document \"\(TableLayout.safe(document.key.canonicalString))\" does not exist.")
      }
      if !missing.isEmpty { throw ExitCode.failure }
    }
  }

  private static func show(_ documents: [Document], isJSON: Bool, _ backend: DataBackend) throws {
    guard !isJSON else {
      let output = DocumentOutput(database: backend.databaseID)
      for document in documents { output.take(document) }
      _ = try output.end()
      return
    }
    let output = StandardOutput()
    for document in documents {
      try output.writeLine(Terminal.styled(TableLayout.safe(document.key.canonicalString), .bold))
      var layout = TableLayout(["  FIELD", "VALUE"])
      for entry in try document.fields.decoded().entries {
        layout.add(["  " + entry.key, DocumentTable.cell(entry.value, backend.databaseID)])
      }
      layout.add(["  (updated)", document.version.timestamp.rfc3339])
      for line in layout.lines(width: Terminal.width) { try output.writeLine(line) }
    }
  }
}

struct DataSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Write a document.",
    discussion: """
      hearth data set cities/SF --json '{"name": "San Francisco", "population": 860000}'
      hearth data set cities/SF --update --json '{"address.zip": "94103"}' --delete-field mayor

      Without --merge and --update the document is replaced.
      """)

  @Argument(help: "The path of a document, such as cities/SF.")
  var document: String

  @Option(help: "The fields as a JSON object.")
  var json: String?

  @Option(help: "A file with the fields as a JSON object; - for standard input.", completion: .file())
  var file: String?

  @Flag(help: "Set the given fields, also within maps, and keep the others.")
  var merge = false

  @Flag(help: "Take the names as field paths, such as address.zip; the document must exist.")
  var update = false

  @Option(help: "With --merge or --update: a field path to remove; may be repeated.")
  var deleteField: [String] = []

  @Flag(help: "Fail unless the document exists.")
  var ifExists = false

  @Flag(help: "Fail if the document exists.")
  var ifMissing = false

  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    if merge, update { throw ValidationError("--merge and --update exclude each other.") }
    if ifExists, ifMissing { throw ValidationError("--if-exists and --if-missing exclude each other.") }
    if update, ifMissing { throw ValidationError("--update needs a document, so --if-missing makes no sense.") }
    if json != nil, file != nil { throw ValidationError("--json and --file exclude each other.") }
    if json == nil, file == nil, deleteField.isEmpty {
      throw ValidationError("Say what to write with --json or --file.")
    }
    if !deleteField.isEmpty, !merge, !update { throw ValidationError("--delete-field needs --merge or --update.") }
  }

  func run() async throws {
    try await connection.run(before: { _ in try text() }) { [self] backend, text in
      var write = DocumentWrite(key: try DataPath.document(document))
      write.mode = merge ? .merge : update ? .update : .replace
      write.removedFields = deleteField
      write.mustExist = ifExists ? true : ifMissing ? false : nil
      let mutation = try write.mutation(json: text, place: place, in: backend.databaseID)
      try await backend.commit(mutation, failure: "Document \"\(document)\" was not written")
    }
  }

  private var place: String { file.map { $0 == "-" ? "standard input" : "\"\($0)\"" } ?? "--json" }

  private func text() throws -> String {
    guard let file else { return json ?? "{}" }
    do {
      let data =
        file == "-"
        ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: file))
      guard let text = String(validating: data, as: UTF8.self) else {
        throw DataError("\(place): the text is not valid UTF-8.")
      }
      return text
    } catch let error as DataError {
      throw error
    } catch {
      throw DataError("\(place) cannot be read: \(error.localizedDescription)")
    }
  }
}

struct DataDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a document, or everything below a path.",
    discussion: """
      hearth data delete cities/SF
      hearth data delete cities --recursive --yes

      With --recursive the path may be that of a collection. On a terminal you are asked first. An interrupted deletion can run again.
      """)

  @Argument(help: "The path of a document, or with --recursive also of a collection.")
  var path: String

  @Flag(help: "Delete everything below the path, too.")
  var recursive = false

  @Flag(help: "Do not ask.")
  var yes = false

  @Flag(help: "Fail unless the document exists.")
  var ifExists = false

  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    if recursive, ifExists { throw ValidationError("--recursive and --if-exists exclude each other.") }
  }

  func run() async throws {
    let next = "Run the same command again to delete the rest."
    try await connection.run(afterInterrupt: recursive ? next : nil, before: confirmedPath) { [self] backend, path in
      guard let path else { return try await deleteOne(backend) }
      try await LongRun.run("Deleting", done: "Deleted") { progress in
        try await RecursiveDelete(path: path).run(backend, progress: progress)
      }
    }
  }

  /// The path of a recursive deletion, if the user means it; nil for that of one document.
  private func confirmedPath(_ backend: DataBackend) throws -> ResourcePath? {
    guard recursive else { return nil }
    guard let path = try? ResourcePath(parsing: path) else {
      throw DataError("\"\(path)\" is not a path, such as cities or cities/SF.")
    }
    try confirm(path, backend)
    return path
  }

  private func deleteOne(_ backend: DataBackend) async throws {
    guard let key = try? DocumentKey(parsing: path) else {
      throw DataError("\"\(path)\" is not the path of a document. Add --recursive to delete a collection.")
    }
    let mutation = Mutation.delete(key, precondition: ifExists ? .exists(true) : .none)
    try await backend.commit(mutation, failure: "Document \"\(path)\" was not deleted")
  }

  private func confirm(_ path: ResourcePath, _ backend: DataBackend) throws {
    guard !yes else { return }
    let what =
      "\"\(TableLayout.safe(path.canonicalString))\" and everything below it, in \(backend.databaseID) at \(backend.place)"
    guard Terminal.isInputTerminal else {
      throw DataError("Nothing was deleted: add --yes to delete \(what).")
    }
    FileHandle.standardError.write(Data("Delete \(what)? [y/N] ".utf8))
    guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else {
      throw DataError("Nothing was deleted.")
    }
  }
}
