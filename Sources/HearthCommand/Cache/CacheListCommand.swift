import ArgumentParser
import Foundation
import Hearth
import HearthCache
import HearthData
import HearthModel

struct CacheListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Find the caches below a folder.",
    discussion: """
      hearth cache list
      hearth cache list ~/.local/share

      Links to other folders are not followed. With JSON, one object per line.
      """)

  @Argument(help: "A folder; by default the one below which clients put their caches.", completion: .directory)
  var folder: String?

  @OptionGroup var format: FormatOptions

  func run() throws {
    try CacheCommand.run {
      let isDefault = folder == nil
      let folder = folder ?? CacheSearch.defaultFolder
      let caches: [String]
      do {
        caches = try CacheSearch.caches(below: folder)
      } catch CacheInspectionError.noFolder(_) where isDefault {
        // The first client makes it.
        caches = []
      }
      if format.isJSON {
        for cache in caches { Terminal.write(Self.json(cache).compact) }
      } else {
        var lines = caches.flatMap(Self.lines)
        lines.append(Terminal.styled(ProgressText.count(caches.count, "cache"), .dim))
        try format.tables.show(lines)
      }
      if caches.isEmpty { EmptyCacheAnswer.write(Self.nothing(below: folder, isDefault: isDefault)) }
    }
  }

  /// The sentence about a folder without caches, with the other places where one may be.
  private static func nothing(below folder: String, isDefault: Bool) -> String {
    let start = "There are no caches below \"\(folder)\""
    guard isDefault else {
      return
        "\(start), down to \(CacheSearch.maximumDepth) folders deep: none has a file \(CacheFile.fileName). Clients put theirs below "
        + "\"\(CacheSearch.defaultFolder)\", unless an app chooses another folder (PersistentCacheSettings)."
    }
    return
      "\(start), where clients of this user put theirs. An app may have chosen another folder (PersistentCacheSettings), and another user "
      + "has another one: look there with `hearth cache list FOLDER`."
  }

  /// The summary of a cache, or the reason why it cannot be read.
  private static func overview(_ folder: String) -> Result<CacheOverview, any Error> {
    Result { try CacheInspection.read(folder: folder) { try $0.overview() } }
  }

  private static func json(_ folder: String) -> JSONText {
    var members: [(name: String, value: JSONText)] = [("folder", .string(folder))]
    switch overview(folder) {
    case .failure(let error): members.append(("error", .string("\(error)")))
    case .success(let cache):
      members += [
        ("project", cache.databaseID.map { .string($0.projectID) } ?? .null),
        ("database", cache.databaseID.map { .string($0.database) } ?? .null), ("fileBytes", .integer(cache.fileBytes)),
        ("pendingWrites", .integer(cache.pending.writes)), ("pendingBatches", .integer(cache.pending.batches)),
        ("rejectedWrites", .integer(cache.rejected.writes)), ("rejectedBatches", .integer(cache.rejected.batches)),
      ]
    }
    return .object(members)
  }

  /// The path, which is not cut so that it can be copied, and what is in the cache.
  private static func lines(_ folder: String) -> [String] {
    let path = Terminal.styled(Terminal.safe(ShellWord.quoted(folder)), .bold)
    switch overview(folder) {
    case .failure(let error): return [path, CellWidth.cut("  " + Terminal.safe("\(error)"), to: Terminal.width)]
    case .success(let cache):
      let name = cache.databaseID.map { "project \($0.projectID), database \($0.database)" } ?? "unknown project"
      let refused = cache.rejected.batches > 0 ? "; refused: \(cache.rejected)" : ""
      let text = "\(name): \(Terminal.size(cache.fileBytes)); outbox: \(cache.pending)\(refused)"
      return [path, CellWidth.cut("  " + Terminal.safe(text), to: Terminal.width)]
    }
  }
}

/// Finds cache folders below others.
enum CacheSearch {
  /// Deeper than a base folder with app, project and database below a home folder.
  static let maximumDepth = 8
  /// The folders that are looked into, so that a whole disk does not take minutes.
  private static let maximumVisits = 50_000

  static var defaultFolder: String {
    CacheFolder.defaultBase(environment: ProcessInfo.processInfo.environment).path
  }

  /// The folders with a cache at or below a folder, in order.
  ///
  /// - Throws: `CacheInspectionError` if the folder is missing or cannot be read. Folders below that cannot be read are left out.
  static func caches(below folder: String) throws -> [String] {
    try CacheFolderCheck.checkFolder(folder)
    var (found, visits) = ([String](), 0)
    search(folder, depth: 0, &found, &visits)
    return found
  }

  private static func search(_ folder: String, depth: Int, _ found: inout [String], _ visits: inout Int) {
    visits += 1
    let manager = FileManager.default
    guard let names = try? manager.contentsOfDirectory(atPath: folder).sorted() else { return }
    if names.contains(CacheFile.fileName) { found.append(folder) }
    guard depth < maximumDepth, visits < maximumVisits else { return }
    for name in names {
      let path = (folder as NSString).appendingPathComponent(name)
      let type = (try? manager.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
      if type == .typeDirectory { search(path, depth: depth + 1, &found, &visits) }
    }
  }

  private static let shownFolders = 5
  private static let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

  /// A sentence about the caches below a folder that is none; nil if there are none.
  static func hint(for folder: String) -> String? {
    guard let caches = try? caches(below: folder), let first = caches.first else { return nil }
    guard caches.count > 1 else { return "There is one cache below it: \(ShellWord.quoted(first))." }
    let number = caches.count < words.count ? words[caches.count] : "\(caches.count)"
    let shown = caches.prefix(shownFolders).map { ShellWord.quoted($0) }.joined(separator: ", ")
    return "There are \(number) caches below it: \(shown)\(caches.count > shownFolders ? " and others" : "")."
  }
}
