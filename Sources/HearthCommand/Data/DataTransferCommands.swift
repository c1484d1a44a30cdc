import ArgumentParser
import Foundation
import HearthData
import HearthModel

struct DataExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write all documents, or those of some collections, as JSON lines.",
    discussion: """
      hearth data export backup.jsonl
      hearth data export backup/ --collection cities --collection users

      All documents are of one time, that of the start. A folder gets a file for each part, in which the documents are in the order of \
      their keys; in one file the parts mix, unless --parallel is 1. A file that is not complete is named FILE.part, with FILE.plan beside \
      it: --resume goes on with it after Ctrl-C, a crash or a loss of power.
      """)

  @Argument(help: "A file that does not exist, a folder (which ends in a slash or exists), or - for standard output.")
  var destination: String

  @Option(
    help: """
      The path of a collection; with everything below its documents. May be repeated. A path with a comma stands in backquotes.
      """)
  var collection: [String] = []

  @Flag(help: "With --collection: without what is below the documents.")
  var shallow = false

  @OptionGroup var time: ReadTimeOptions

  @Flag(help: "Go on with an export that has ended early.")
  var resume = false

  @Option(help: "Parts that are read at the same time.")
  var parallel = 4

  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    guard (1...64).contains(parallel) else { throw ValidationError("--parallel \(parallel): expected 1 to 64.") }
    if shallow, collection.isEmpty { throw ValidationError("--shallow needs --collection.") }
  }

  func run() async throws {
    let destination = ExportDestination(destination)
    let next = destination == .standardOutput ? "" : "Go on with the same command and --resume."
    try await connection.run(afterInterrupt: next) { [self] backend in
      var export = DataExport(destination: destination)
      let paths = try DataPath.collections(collection, of: "--collection")
      if !paths.isEmpty { export.scopes = paths.map { shallow ? .collection($0) : .below($0) } }
      export.readTime = time.version
      export.resumes = resume
      export.parallelism = parallel
      export.counts = Terminal.isErrorTerminal
      let job = export
      try await LongRun.run("Exporting", done: "Exported", "from \(EmptyAnswer(backend).project)") { progress in
        try await job.run(backend, progress: progress)
      } whenEmpty: { _ in
        await EmptyAnswer(backend).explanation(
          of: paths.count == 1 ? DataQuery(collection: paths[0].canonicalString) : nil)
      }
    }
  }
}

extension DataImport.ConflictRule: ExpressibleByArgument {}

struct DataImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Write the documents of JSON lines, or of an emulator's export.",
    discussion: """
      hearth data import backup.jsonl
      hearth data import backup/ --on-conflict skip
      hearth data import emulator-data/firestore_export

      A line is {"path": "cities/SF", "fields": {…}}, as `hearth data export` writes it. Documents keep their paths and come into the project of \
      the connection, whatever project an export is of; references \
      without a project follow them into another one. The import ends at the first line that is not a document. When a document is \
      refused, it ends after the requests that are on their way (--parallel), each with up to 500 documents. --continue leaves both out. \
      --resume goes on after Ctrl-C or a crash; an import from the beginning does no harm either, because documents are set by their paths.
      """)

  @Argument(
    help: """
      A file with JSON lines, - for standard input, or a folder: one of `hearth data export`, one with *.jsonl files, or an export of \
      Google's emulator.
      """, completion: .file())
  var source: String

  @Option(help: "What happens to documents that exist: overwrite, skip or fail.")
  var onConflict = DataImport.ConflictRule.overwrite

  @Flag(help: "Go on with an import that has ended early.")
  var resume = false

  @Flag(name: .customLong("continue"), help: "Leave out what cannot be imported, and go on. The exit status is then 2.")
  var continues = false

  @Option(help: "Requests of 500 documents that are on their way at the same time.")
  var parallel = 8

  @Option(help: "Where to note how far the import has come; by default SOURCE.import.", completion: .file())
  var progressFile: String?

  @OptionGroup(title: "Connection") var connection: ConnectionOptions

  func validate() throws {
    guard (1...64).contains(parallel) else { throw ValidationError("--parallel \(parallel): expected 1 to 64.") }
    if resume, source == "-" { throw ValidationError("--resume needs a file: standard input cannot be read again.") }
  }

  func run() async throws {
    let next = source == "-" ? "" : "Go on with the same command and --resume."
    try await connection.run(afterInterrupt: next) { [self] backend in
      var job = DataImport(path: source)
      job.conflictRule = onConflict
      job.resumes = resume
      job.continues = continues
      job.parallelism = parallel
      job.prefersCommits = !backend.isGoogle
      job.progressFile = progressFile
      job.onFailure = { Terminal.writeError("hearth data: \(TableLayout.safe($0))") }
      let run = job
      try await LongRun.run("Importing", done: "Imported", "into \(EmptyAnswer(backend).project)") { progress in
        try await run.run(backend, progress: progress)
        if progress.current.failed > 0 { throw LongRun.EndedWith(status: DataCommand.leftOutStatus) }
      } whenEmpty: { state in
        let reason =
          state.skipped > 0 ? "all of these documents exist there already" : "\"\(source)\" holds no documents"
        return "Nothing was written to \(EmptyAnswer(backend).place): \(reason)."
      }
    }
  }
}
