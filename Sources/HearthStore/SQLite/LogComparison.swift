internal import Foundation
internal import HearthModel

/// Compares the pages of a damaged log with those of its database, to find out which pages a checkpoint has copied.
///
/// A checkpoint copies the newest version of each page up to some frame, page after page in the order of their numbers.
///
/// It proves nothing by itself that the database has a page of the log, or that the checksum of a damaged frame fits a page of the
/// database: commits write pages without changing them, such as the first one, and pages return to earlier contents. Pages count as copied
/// only if all of the log shows the trace of a checkpoint.
final class LogComparison {
  /// A page of the database that a frame after the damage has, or had.
  struct CheckpointedPage {
    var page: Int
    var frame: Int
    /// True if SQLite may show it together with older pages. A page that it reads from the log instead is of the state before the damage.
    var isHazard: Bool
  }

  /// The pages from behind the damage that the database has.
  private(set) var moved: [CheckpointedPage] = []
  private let frames: [LogFrames.Frame]
  /// The last frame up to which SQLite reads.
  private let shownEnd: Int
  /// The frames that SQLite reads.
  private let shown: [Int: LogFrames.Frame]
  /// The last frame of each page, in the order of their numbers.
  private let newest: [(page: Int, frame: LogFrames.Frame)]
  /// The last frame whose page number is not known either; 0 if there is none.
  private let lastWithoutPage: Int
  private let pages: DatabasePages?
  private let log: FileHandle?
  /// By the number of the frame.
  private var known: [Int: Bool] = [:]
  /// The pages whose newest version was not copied, in the order of their numbers, each with the first frame of its own and of those before
  /// it.
  private lazy var notMoved: [(page: Int, firstFrame: Int)] = newest.reduce(into: []) { pages, other in
    guard !isInDatabase(other.frame) else { return }
    guard other.frame.isKnown ? other.frame.number > lastWithoutPage : other.frame.isVerifiable else { return }
    pages.append((other.page, min(other.frame.number, pages.last?.firstFrame ?? .max)))
  }

  init(_ database: String, _ frames: [LogFrames.Frame], shownEnd: Int) {
    self.frames = frames
    self.shownEnd = shownEnd
    shown = frames.newest(upTo: shownEnd)
    newest = frames.newest(upTo: frames.count).map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
    lastWithoutPage = frames.last { !$0.isKnown && !$0.hasPageNumber }?.number ?? 0
    pages = DatabasePages(path: database)
    log = FileHandle(forReadingAtPath: DatabaseLog.path(of: database))
    guard isCheckpointSeen else { return }
    // No checkpoint copies a commit that was not finished.
    let end = frames.last { $0.isKnown && $0.isCommit }?.number ?? 0
    moved = frames.dropFirst(shownEnd).prefix { $0.number <= end }.compactMap(checkpointedPage)
  }

  deinit { try? log?.close() }

  private var isCheckpointSeen: Bool {
    var state = PrefixOfLog()
    for frame in frames {
      state.add(frame, isInDatabase: frame.isKnown && isInDatabase(frame))
      guard frame.number > shownEnd, frame.isKnown, frame.isCommit else { continue }
      if state.isMoved(length: frame.hasLength ? frame.length : .max) { return true }
    }
    return false
  }

  /// True if SQLite may show pages from after the damage together with older ones. It does so with pages that it does not read from the
  /// log.
  var showsMixture: Bool {
    moved.contains(where: \.isHazard)
      || frames.dropFirst(shownEnd).contains { frame in
        // If it could be compared, it was not copied.
        guard !frame.isKnown, frame.candidates.isEmpty || !frame.isVerifiable else { return false }
        return moved.contains { moved in
          moved.frame >= frame.number
            && (frame.candidates.isEmpty || frame.candidates.contains { $0 <= moved.page && shown[$0] == nil })
        }
      }
  }

  /// Returns true if the newest version of each page up to the end of a commit is known.
  func isNewestKnown(upTo end: Int) -> Bool {
    guard let last = frames.prefix(end).last, last.hasLength, frames.prefix(end).allSatisfy({ !$0.candidates.isEmpty })
    else { return false }
    return frames.newest(upTo: end).allSatisfy { $1.isKnown || $0 > last.length }
  }

  /// Returns true if the database has all that is known of the log up to a frame.
  func hasAll(upTo end: Int) -> Bool {
    let cover = CheckpointedCover(frames, moved)
    return frames.newestKnown(upTo: end).values.allSatisfy {
      isInDatabase($0) || cover.contains($0) || isCutOff($0, end)
    }
  }

  /// Returns true if the database is shorter at the end of a commit.
  private func isCutOff(_ frame: LogFrames.Frame, _ end: Int) -> Bool {
    guard let last = frames.prefix(end).last, last.isCommit, last.hasLength else { return false }
    return frame.page > last.length
  }

  private func checkpointedPage(_ frame: LogFrames.Frame) -> CheckpointedPage? {
    guard isInDatabase(frame) else { return nil }
    let shown = shown[frame.page]
    // The version before the damage is the same.
    if let shown, isInDatabase(shown) { return nil }
    if frame.content == .moved { return CheckpointedPage(page: frame.page, frame: frame.number, isHazard: true) }
    guard !isContradicted(frame) else { return nil }
    return CheckpointedPage(page: frame.page, frame: frame.number, isHazard: shown == nil)
  }

  /// Returns true if the database has a page by chance, because the page went back to its former content: then a page that a checkpoint
  /// copies before it was not copied.
  private func isContradicted(_ frame: LogFrames.Frame) -> Bool {
    let count = notMoved.partitionIndex { $0.page >= frame.page }
    return count > 0 && notMoved[count - 1].firstFrame <= frame.number
  }

  private func isInDatabase(_ frame: LogFrames.Frame) -> Bool {
    switch frame.content {
    case .unknown: return false
    case .moved: return true
    case .sound: break
    }
    if let known = known[frame.number] { return known }
    let isEqual = pages.map { pages in
      let page = pages.bytes(of: frame.page)
      return page.count == DatabasePages.pageBytes && page[...] == logPage(frame)[...]
    }
    known[frame.number] = isEqual ?? false
    return isEqual ?? false
  }

  private func logPage(_ frame: LogFrames.Frame) -> [UInt8] {
    try? log?.seek(toOffset: frame.place)
    return Array((try? log?.read(upToCount: DatabasePages.pageBytes)) ?? Data())
  }
}

/// The newest pages of a log up to one of its frames, compared with those of the database.
private struct PrefixOfLog {
  /// The header and the first map of pointers, which commits write and leave as they were.
  private static let lastHousekeepingPage = 2

  private var pages: Set<Int> = []
  /// The pages that have a version which the database lacks.
  private var changed: Set<Int> = []
  /// The frames of the newest versions that the database does not have, by page.
  private var missing: [Int: Int] = [:]
  private var unknownCount = 0
  private var lastUnknown = 0
  private var hasWholeCommit = false
  private var isCommitWhole = true

  mutating func add(_ frame: LogFrames.Frame, isInDatabase: Bool) {
    guard frame.isKnown else {
      unknownCount += 1
      lastUnknown = frame.number
      isCommitWhole = false
      return
    }
    pages.insert(frame.page)
    missing[frame.page] = isInDatabase ? nil : frame.number
    if !isInDatabase { changed.insert(frame.page) }
    guard frame.isCommit else { return }
    if isCommitWhole { hasWholeCommit = true }
    isCommitWhole = true
  }

  /// Returns true if the database has the newest version of each page at the end of a commit, or of each up to one that has changed: a
  /// checkpoint copies pages in the order of their numbers, and may have been interrupted.
  ///
  /// A frame that is lost may have had a newer version of one page. Without a checkpoint, the database lacks every page that a commit has
  /// changed. So it must have many more pages than it lacks.
  ///
  /// - Parameter length: The length of the database in pages.
  func isMoved(length: Int) -> Bool {
    guard hasWholeCommit else { return false }
    let missing = missing.filter { $0.key <= length }
    guard let end = missing.keys.min() else { return true }
    if missing.count <= unknownCount, missing.values.allSatisfy({ $0 < lastUnknown }),
      pages.count(where: { $0 <= length }) >= 4 * missing.count + 3
    {
      return true
    }
    return changed.contains { $0 > Self.lastHousekeepingPage && $0 < end }
  }
}

extension [LogFrames.Frame] {
  /// The last frame of each page up to one of them.
  func newest(upTo end: Int) -> [Int: LogFrames.Frame] {
    prefix(end).reduce(into: [:]) { for page in $1.candidates { $0[page] = $1 } }
  }

  /// The last frame of each page up to one of them whose content is known.
  func newestKnown(upTo end: Int) -> [Int: LogFrames.Frame] {
    prefix(end).reduce(into: [:]) { if $1.isKnown { $0[$1.page] = $1 } }
  }
}

/// The pages that a checkpoint has copied in unknown versions.
struct CheckpointedCover {
  private let unknown: [LogFrames.Frame]
  /// In the order of the pages, each with the last frame of its own and of those behind it.
  private let moved: [(page: Int, lastFrame: Int)]

  init(_ frames: [LogFrames.Frame], _ moved: [LogComparison.CheckpointedPage]) {
    unknown = frames.filter { !$0.isKnown }
    var last = 0
    self.moved = moved.sorted { $0.page > $1.page }.map {
      last = max(last, $0.frame)
      return ($0.page, last)
    }.reversed()
  }

  /// Returns true if a page was copied, perhaps in a version that is not known: a checkpoint that copied a later page of a later frame has
  /// passed it.
  ///
  /// - Parameter frame: The last one of the page that is known.
  func contains(_ frame: LogFrames.Frame) -> Bool {
    let index = moved.partitionIndex { $0.page >= frame.page }
    guard index < moved.count else { return false }
    let last = moved[index].lastFrame
    return unknown.contains {
      $0.number > frame.number && $0.number <= last && ($0.candidates.isEmpty || $0.candidates.contains(frame.page))
    }
  }
}
