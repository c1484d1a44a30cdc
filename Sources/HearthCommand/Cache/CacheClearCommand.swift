import ArgumentParser
import Foundation
import HearthCache
import HearthData
import HearthModel

struct CacheClearCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear", abstract: "Delete the cache, or remove a part of what it holds.",
    discussion: """
      Without further options the cache is deleted, unless it is in use, holds pending writes, or keeps writes that the backend has refused.

      With one of them, documents are removed from it, also while clients share it. Those with pending writes, and those that a \
      listener shows, stay. Without --document, --collection or --collection-group that concerns all documents.

      On a terminal you are asked first. Elsewhere nothing is asked: what is deleted the backend has, unless a flag names it.
      """)

  @OptionGroup var options: CacheOptions

  @Flag(help: "Delete the cache together with the writes that the backend does not have.")
  var discardPendingWrites = false

  @Flag(help: "Delete the cache together with the writes that the backend has refused.")
  var discardRejectedWrites = false

  @Option(help: "Only the document with this path.")
  var document: String?

  @Option(help: "Only the documents of the collection with this path.")
  var collection: String?

  @Option(
    name: [.customLong("collection-group"), .customLong("group")],
    help: "Only the documents of all collections with this id.")
  var groups: [String] = []

  private var group: String? { groups.first }

  @Flag(help: "With --document or --collection: also everything below.")
  var subcollections = false

  @Option(
    help: "Only what the backend has last confirmed longer ago than this: a number with s, m, h, d or w, such as 30d.")
  var olderThan: String?

  @Flag(help: "Leave nothing of the documents in the cache's files.")
  var securely = false

  @Flag(help: "Do not ask.")
  var yes = false

  func validate() throws {
    // It has two names, and the parser would take the last value without a word.
    if groups.count > 1 {
      throw ValidationError("--collection-group is given \(groups.count) times: clear one group after the other.")
    }
    if [document, collection, group].count(where: { $0 != nil }) > 1 {
      throw ValidationError("--document, --collection and --collection-group exclude each other.")
    }
    if subcollections, document == nil, collection == nil {
      throw ValidationError("--subcollections needs --document or --collection.")
    }
    for (flag, isGiven) in [
      ("--discard-pending-writes", discardPendingWrites), ("--discard-rejected-writes", discardRejectedWrites),
    ] where isGiven && clearsPart {
      throw ValidationError("\(flag) deletes the whole cache, which the other options do not.")
    }
    if let olderThan, Self.seconds(olderThan) == nil {
      throw ValidationError("--older-than \(olderThan): expected a number with s, m, h, d or w, such as 30d.")
    }
    if let group, group.isEmpty || group.contains("/") {
      throw ValidationError("--collection-group \"\(group)\": an id is not empty and contains no slash.")
    }
  }

  private var clearsPart: Bool {
    document != nil || collection != nil || group != nil || olderThan != nil || securely
  }

  func run() throws {
    try options.run {
      try confirm()
      if clearsPart { try clearPart() } else { try deleteAll() }
    }
  }

  // MARK: - The question

  private func confirm() throws {
    let file = (options.folder as NSString).appendingPathComponent(CacheFile.fileName)
    // Of a folder without a cache, the error says more than a question.
    guard !yes, Terminal.isInputTerminal, FileManager.default.fileExists(atPath: file) else { return }
    // A damaged cache can be deleted as well.
    let cache = try? CacheInspection.read(folder: options.folder) { try $0.overview() }
    if !clearsPart, let cache, isRefused(cache) { return }
    try Confirmation.ask(clearsPart ? partQuestion : wholeQuestion(cache))
  }

  /// True for a cache whose deletion would lose writes that no flag names, so that it is refused.
  private func isRefused(_ cache: CacheOverview) -> Bool {
    cache.pending.batches + cache.setAsideBatchCount > 0 && !discardPendingWrites
      || cache.rejected.batches > 0 && !discardRejectedWrites
  }

  private func wholeQuestion(_ cache: CacheOverview?) -> String {
    guard let cache else { return "Delete the cache in \"\(options.folder)\"?" }
    let name = cache.databaseID.map { " of project \($0.projectID), database \($0.database)," } ?? ""
    var contents = cache.estimatedDocumentCount.map { ["at most \(ProgressText.count($0, "document"))"] } ?? []
    if cache.pending.batches > 0 { contents.append("\(cache.pending) that the backend does not have") }
    if cache.rejected.batches > 0 { contents.append("\(cache.rejected) that it has refused") }
    let with = contents.isEmpty ? "" : " with \(contents.joined(separator: ", and "))"
    return "Delete the cache\(name) in \"\(options.folder)\"\(with)?"
  }

  private var partQuestion: String {
    var what = "all documents"
    if let document { what = "\"\(document)\"" }
    if let collection { what = "the documents of \"\(collection)\"" }
    if let group { what = "the documents of all collections \"\(group)\"" }
    if subcollections { what += " and everything below" }
    let age = olderThan.map { ", if the backend has last confirmed them longer ago than \($0)," } ?? ""
    return "Remove \(what)\(age) from the cache in \"\(options.folder)\"?"
  }

  private func deleteAll() throws {
    let deleted = try CacheMaintenance.clear(
      folder: options.folder, discardsPendingWrites: discardPendingWrites,
      discardsRejectedWrites: discardRejectedWrites)
    if options.isJSON {
      let members: [(name: String, value: JSONText)] = [
        ("cleared", true), ("discardedWrites", .integer(deleted.pending.writes)),
        ("discardedBatches", .integer(deleted.pending.batches)),
        ("discardedRejectedWrites", .integer(deleted.rejected.writes)),
        ("discardedRejectedBatches", .integer(deleted.rejected.batches)),
      ]
      return Terminal.write(JSONText.object(members).compact)
    }
    var writes: [String] = []
    if deleted.pending.batches > 0 { writes.append("\(deleted.pending) that waited for the backend") }
    if deleted.rejected.batches > 0 { writes.append("\(deleted.rejected) that it had refused") }
    let with = writes.isEmpty ? "" : ", and with it \(writes.joined(separator: ", and "))"
    Terminal.write("The cache is deleted\(with).")
  }

  // MARK: - A part

  /// The time that a secure clearing waits for others to end their reading, in pauses.
  private static let pauses = 100
  private static let pauseSeconds = 0.05

  private func clearPart() throws {
    let scope = try scope()
    let total =
      try scope.isEverything
      ? CacheInspection.read(folder: options.folder) { try $0.overview().estimatedDocumentCount } : nil
    let line = ProgressLine()
    defer { line.end() }
    var pauses = Self.pauses
    let report = try CacheMaintenance.clear(
      folder: options.folder, scope: scope, isSecure: securely, clientName: UUID().uuidString,
      progress: {
        line.show(
          "Clearing", done: $0.removedDocumentCount + $0.pendingDocumentCount + $0.listenedDocumentCount, total: total)
      },
      report: { Terminal.writeError(Data("\($0)\n".utf8)) },
      waitsForReaders: {
        pauses -= 1
        Thread.sleep(forTimeInterval: Self.pauseSeconds)
        return pauses > 0
      })
    line.end()
    if options.isJSON { Terminal.write(report.json.indented) } else { print(report) }
    if securely, !report.isErased { throw ExitCode.failure }
  }

  private func scope() throws -> ClearingScope {
    var scope = ClearingScope.everything
    if let document {
      scope = .document(try DataPath.document(document), includesSubcollections: subcollections)
    } else if let collection {
      scope = .collection(try DataPath.collection(collection), includesSubcollections: subcollections)
    } else if let group {
      scope = .collectionGroup(group)
    }
    if let seconds = olderThan.flatMap(Self.seconds) {
      let now = Int64(Date().timeIntervalSince1970)
      scope.confirmedBefore = SnapshotVersion(Timestamp(seconds: max(0, now - seconds), nanoseconds: 0))
    }
    return scope
  }

  private func print(_ report: ClearingReport) {
    Terminal.write(
      "Removed \(ProgressText.count(report.removedDocumentCount, "document")); "
        + "\(Terminal.size(report.releasedBytes)) were given back.")
    func say(_ count: Int, stayBecause reason: String) {
      guard count > 0 else { return }
      Terminal.write("\(ProgressText.count(count, "document")) \(count == 1 ? "stays" : "stay") because \(reason).")
    }
    say(report.pendingDocumentCount, stayBecause: "of writes that wait for the backend")
    say(
      report.listenedDocumentCount, stayBecause: "a listener shows \(report.listenedDocumentCount == 1 ? "it" : "them")"
    )
    guard securely else { return }
    Terminal.write(
      report.isErased
        ? "Nothing of what was removed is left in the cache's files."
        : "The log could not be emptied, because another process goes on reading. Clear again later.")
  }

  /// The seconds of a duration such as "30d"; nil for what is none.
  static func seconds(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()), number >= 0 else {
      return nil
    }
    let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : seconds
  }
}
