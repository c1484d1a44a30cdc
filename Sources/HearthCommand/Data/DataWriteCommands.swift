import ArgumentParser
import Foundation
import HearthData
import HearthModel

/// The words of a write, which set and update share.
struct WriteOptions: ParsableArguments {
  @Argument(help: "The path of a document, such as cities/SF.")
  var document: String

  @Option(help: "The fields as a JSON object.")
  var json: String?

  @Option(help: "A file with the fields as a JSON object; - for standard input.", completion: .file())
  var file: String?

  @Option(help: "A field path to remove, not with `set` alone; may be repeated.")
  var deleteField: [String] = []

  func validate() throws {
    if json != nil, file != nil { throw ValidationError("--json and --file exclude each other.") }
    if json == nil, file == nil, deleteField.isEmpty {
      throw ValidationError("Say what to write with --json or --file.")
    }
  }

  /// The option or the file that the fields come from.
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
      throw DataError.file(place, cannotBe: "read", error)
    }
  }

  /// Writes the document, and says so.
  func write(
    _ mode: DocumentWrite.Mode, mustExist: Bool?, _ format: FormatOptions, _ connection: ConnectionOptions
  ) async throws {
    try await connection.run(before: { _ in try text() }) { [self] backend, text in
      var write = DocumentWrite(key: try DataPath.document(document))
      write.mode = mode
      write.removedFields = deleteField
      write.mustExist = mustExist
      let mutation = try write.mutation(json: text, place: place, isArgument: file == nil, in: backend.databaseID)
      let version = try await backend.commit(mutation, failure: "Document \"\(document)\" was not written")
      if let advice = write.nameAdvice(json: text) { Terminal.writeError("hearth data: \(TableLayout.safe(advice))") }
      let (path, time) = (write.key.path.canonicalString, version.timestamp.rfc3339)
      let object = JSONText.object([("path", .string(path)), ("updateTime", .string(time))])
      try StandardOutput().writeLine(
        format.isJSON
          ? object.compact
          : "Document \(TableLayout.safe(ShellWord.bare(path))) is written, in \(backend.databaseID) at \(time).")
    }
  }
}

struct DataSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Write a document.",
    discussion: """
      hearth data set cities/SF --json '{"name": "San Francisco"}'
      hearth data set cities/SF --merge --json '{"address": {"zip": "94103"}}'
      hearth data set visits/SF --merge --json '{"n": {"$increment": 1}}'

      Without --merge and --update the document is replaced. In place of a value there may be a change, as `hearth data --help` shows.
      """)

  @OptionGroup var write: WriteOptions

  @Flag(help: "Set the given fields, also within maps, and keep the others.")
  var merge = false

  @Flag(help: "As `hearth data update`: take the names as field paths; the document must exist.")
  var update = false

  @Flag(
    name: [.customLong("must-exist"), .customLong("if-exists")],
    help: "Fail with status 1 if the document does not exist.")
  var mustExist = false

  @Flag(
    name: [.customLong("must-be-new"), .customLong("if-missing")], help: "Fail with status 1 if the document exists.")
  var mustBeNew = false

  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    if merge, update { throw ValidationError("--merge and --update exclude each other.") }
    if mustExist, mustBeNew { throw ValidationError("--must-exist and --must-be-new exclude each other.") }
    if update, mustBeNew { throw ValidationError("--update needs a document, so --must-be-new makes no sense.") }
    if !write.deleteField.isEmpty, !merge, !update {
      throw ValidationError("--delete-field needs --merge or --update.")
    }
  }

  func run() async throws {
    try await write.write(
      merge ? .merge : update ? .update : .replace, mustExist: mustExist ? true : mustBeNew ? false : nil, format,
      connection)
  }
}

struct DataUpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Change fields of a document that exists.",
    discussion: """
      hearth data update cities/SF --json '{"address.zip": "94103"}'
      hearth data update cities/SF --delete-field mayor
      hearth data update cities/SF \\
        --json '{"visits": {"$increment": 1}, "seen": {"$serverTimestamp": true}}'

      Names are field paths. Other fields stay. In place of a value there may be a change, as `hearth data --help` shows.
      """)

  @OptionGroup var write: WriteOptions
  @OptionGroup var format: FormatOptions
  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func run() async throws {
    try await write.write(.update, mustExist: nil, format, connection)
  }
}
