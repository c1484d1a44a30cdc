import ArgumentParser
import Foundation
import HearthCache
import HearthData
import HearthModel

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

struct CacheCheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check every page and every row, and show which pending writes a recovery would save.",
    discussion: "Changes nothing. The exit status is 1 if there is damage.")

  @OptionGroup var options: CacheOptions

  func run() throws {
    try options.run {
      let line = ProgressLine()
      defer { line.end() }
      let report = try CacheCheck.run(folder: options.folder) { line.show($0.rawValue, done: $1, total: $2) }
      line.end()
      if options.isJSON { Terminal.write(report.json.indented) } else { print(report) }
      if !report.isSound { throw ExitCode.failure }
    }
  }

  private func print(_ report: CacheCheckReport) {
    Terminal.write(Terminal.styled(report.summary, report.isSound ? .green : .red))
    for problem in report.problems.prefix(Self.shownProblems) {
      Terminal.write(CellWidth.cut("  " + Terminal.safe(problem), to: Terminal.width))
    }
    if report.problems.count > Self.shownProblems {
      Terminal.write("  and \(report.problems.count - Self.shownProblems) more: --format json shows them")
    }
    if report.savedRejected.batches + report.unreadableRejectedBatchCount > 0 || !report.isRejectedComplete {
      let more = report.isRejectedComplete ? "" : "; not all could be looked for"
      Terminal.write(
        "Refused by the backend, and saved by a recovery: \(report.savedRejected); unreadable batches: "
          + "\(report.unreadableRejectedBatchCount)\(more)")
    }
  }

  private static let shownProblems = 12
}

extension CacheExport.Format: ExpressibleByArgument {}

struct CacheExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write the cached documents as JSON lines or as a bundle.",
    usage: "hearth cache export <folder> [<collection>] [<options>]",
    discussion: """
      hearth cache export FOLDER > documents.jsonl
      hearth data import documents.jsonl --project demo

      JSON lines are those of `hearth data export`, which `hearth data import` takes. A bundle is loaded with loadBundle; it holds \
      what the backend has confirmed. The order of the documents is that of the file.
      """)

  @Argument(help: "The cache folder.", completion: .directory)
  var folder: String

  @Argument(help: "The path of a collection; without it, all documents are exported.")
  var collection: String?

  @Option(help: "lines or bundle.")
  var format = CacheExport.Format.lines

  @Option(help: "The file to write, which must not exist; standard output by default.", completion: .file())
  var output: String?

  @OptionGroup var view: ViewpointOptions

  func run() throws {
    try CacheCommand.run {
      let line = ProgressLine()
      defer { line.end() }
      let path = try collection.map { try DataPath.collection($0) }
      let export = CacheExport(format: format, viewpoint: view.viewpoint, collection: path)
      let file = try ExportFile(path: output)
      let count: Int
      do {
        count = try export.run(
          folder: folder, createTime: Self.now, line: CacheDocuments.line,
          progress: { line.show("Exporting", done: $0, total: $1) }, write: file.write)
        try file.finish()
      } catch {
        file.discard()
        throw error
      }
      line.end()
      if let output { Terminal.writeError("\(ProgressText.count(count, "document")) written to \"\(output)\".") }
      if count == 0 { try explainEmpty() }
    }
  }

  private func explainEmpty() throws {
    let (collections, nothing) = try CacheInspection.read(folder: folder) { cache in
      (try cache.collectionPaths(as: view.viewpoint), EmptyCacheAnswer.documents(view.viewpoint, try cache.overview()))
    }
    // Without a path, the documents of no collection are exported.
    guard let collection, !collections.isEmpty else { return EmptyCacheAnswer.write(nothing) }
    CacheDocuments.explainEmpty(DataQuery(collection: collection), collections, nothing)
  }

  private static var now: Timestamp {
    Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
  }
}

/// The file of an export, or standard output. A file is only there under its name when it is complete.
private final class ExportFile {
  private let path: String?
  private let handle: FileHandle
  private var buffer = Data()

  private var partialPath: String { (path ?? "") + ".part" }

  init(path: String?) throws {
    self.path = path
    guard let path else {
      handle = .standardOutput
      return
    }
    guard !FileManager.default.fileExists(atPath: path) else {
      throw CacheInspectionError.invalid("\"\(path)\" exists. Choose another name, or delete it.")
    }
    try ParentFolder.check(of: path)
    let descriptor = open(path + ".part", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      throw CacheInspectionError.invalid(
        "\"\(path).part\", which the export is written to first, cannot be made (\(reason)). Choose another name, or delete it."
      )
    }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= 1 << 16 { try flush() }
  }

  private func flush() throws {
    do {
      try handle.write(contentsOf: buffer)
    } catch {
      throw CacheInspectionError.io(path: path ?? "standard output", reason: error.localizedDescription)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  func finish() throws {
    try flush()
    guard let path else { return }
    // A link fails where a rename would replace a file that was created in between.
    guard link(partialPath, path) == 0 else {
      throw CacheInspectionError.io(path: path, reason: String(cString: strerror(errno)))
    }
    unlink(partialPath)
  }

  func discard() {
    if path != nil { unlink(partialPath) }
  }
}

struct CacheCollectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collect", abstract: "Remove what was not used for the longest time, and give the space back.",
    discussion:
      """
      Counts two things together: the queries, and the documents that no query holds. Removes the oldest tenth of this number, one at \
      least and 1,000 at most. A query goes with all documents that only it holds, which can be most of what the cache holds.

      Pending writes and their documents stay, and so do pinned queries. The cache must not be in use: a running client collects by itself.
      """)

  @OptionGroup var options: CacheOptions

  @Option(
    help:
      "Repeat the removal until the cache is no larger than this number of MiB, or nothing is left that may go; by default it is done once."
  )
  var toMebibytes: Int?

  func validate() throws {
    guard let toMebibytes, !(0...(1 << 40)).contains(toMebibytes) else { return }
    throw ValidationError("--to-mebibytes \(toMebibytes): expected a number of 0 or more.")
  }

  func run() throws {
    try options.run {
      let line = ProgressLine()
      defer { line.end() }
      let report = try CacheMaintenance.collect(
        folder: options.folder, toBytes: toMebibytes.map { Int64($0) << 20 }, newCacheID: UUID().uuidString,
        progress: { line.show("Collecting", done: $0, total: nil) })
      line.end()
      Terminal.write(options.isJSON ? report.json.indented : "\(report)")
    }
  }
}
