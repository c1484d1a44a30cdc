internal import Foundation

/// A damaged write-ahead log, read without SQLite.
///
/// SQLite uses a log up to the first frame that does not fit, and ignores the rest silently. That is right if a process was killed while it
/// wrote, or if the power failed: then at most the commit that was being written is cut off, and it was not reported to its caller. After
/// damage to a frame, several commits may follow it.
///
/// If a checkpoint ran before the damage, SQLite puts older pages over newer ones. The frames after the damage show that, as far as the
/// database has their pages, and so does a damaged frame whose checksum fits the page of the database. Mostly nothing is lost then, because
/// the database has the pages that the log lacks.
package struct DatabaseLog: Sendable {
  let database: String
  /// The files as they were before the log was read.
  let states: [FileState?]
  let frames: [LogFrames.Frame]
  /// The first damaged frame, counted from 1; 0 for the header.
  let damagedFrame: Int
  /// The last frame up to which SQLite reads; 0 if it reads nothing.
  let shownEnd: Int
  /// The last frame of the last commit that is known; 0 if none is.
  let end: Int
  /// The last frame of the commit before, which that of a damaged frame does not count as.
  let endBeforeLast: Int
  /// The pages from behind the damage that the database has.
  let moved: [LogComparison.CheckpointedPage]

  /// False if what lies behind may be what was left of a single commit that was never finished.
  package let isDamage: Bool
  /// True if the database has a part of what lies behind, so that SQLite shows a mixture of states.
  package let isInFile: Bool
  /// True if the database has pages from behind the damage.
  package var hasMoved: Bool { !moved.isEmpty }
  /// True if the newest state of every page is known, from the log or from the database, and the database has a part of what lies behind. Then
  /// nothing is lost if ``moveIntoDatabase(through:)`` is called before SQLite reads the log.
  package let isWhole: Bool
  /// True if the database by itself has everything that can be read of the log.
  package let isWhollyInFile: Bool

  /// The damage, for a message.
  package var reason: String {
    let place = damagedFrame == 0 ? "the header" : "frame \(damagedFrame)"
    let behind = isInFile ? "the file has a part of what follows it" : "commits follow it"
    return "\(place) of the write-ahead log \"\(Self.path(of: database))\" is damaged, and \(behind)"
  }

  static func path(of database: String) -> String { database + "-wal" }

  static func states(of database: String) -> [FileState?] {
    [FileState(path: database), FileState(path: path(of: database))]
  }

  /// Looks for damage in the log of a database. Another process may be writing it.
  ///
  /// - Returns: Nil for a log that is missing, and for one in which nothing that counts lies behind the first frame that does not fit: no sound
  ///   commit, and no page that the database has.
  package init?(damagedIn database: String) {
    let states = Self.states(of: database)
    guard let log = LogFrames(of: database), log.firstUnfit <= log.frames.count,
      // A frame that was being written when it was read is sound the second time.
      LogFrames(of: database)?.firstUnfit == log.firstUnfit
    else { return nil }
    let damaged = log.firstUnfit
    let commits = log.frames.filter { $0.isKnown && $0.isCommit }.map(\.number)
    self.database = database
    self.states = states
    frames = log.frames
    damagedFrame = damaged
    shownEnd = commits.last { $0 < damaged } ?? 0
    end = commits.last ?? 0
    endBeforeLast = commits.filter { $0 != damaged }.dropLast().last ?? 0
    let comparison = LogComparison(database, log.frames, shownEnd: shownEnd)
    moved = comparison.moved
    let commitsBehind = commits.count { $0 > damaged }
    guard commitsBehind > 0 || !moved.isEmpty else { return nil }

    isInFile = comparison.showsMixture
    // A commit whose last frame is not known was moved only when it was finished.
    let reach = max(end, moved.map(\.frame).max() ?? 0)
    isWhollyInFile = comparison.hasAll(upTo: reach)
    isWhole = reach == end && comparison.isNewestKnown(upTo: end) && (isWhollyInFile || !moved.isEmpty)
    // The header is on the disk before any frame, and the whole log before any page is moved into the database. The first commit behind another
    // frame may end the transaction of that one.
    let isCommit = damaged == 0 || log.frames[damaged - 1].isCommit
    isDamage = isInFile || isWhole || commitsBehind > (isCommit ? 0 : 1)
  }
}
