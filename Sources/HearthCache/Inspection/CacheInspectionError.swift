/// The reason why a cache folder cannot be inspected or changed. Nothing was changed.
package enum CacheInspectionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Nothing is at the path.
  case noFolder(String)
  /// The path is that of a file.
  case notAFolder(String)
  /// The folder holds no cache.
  case noCache(folder: String)
  /// The operating system refuses access to the folder or the file.
  case noPermission(path: String, reason: String)
  /// The file has the name of a cache and is something else.
  case notACache(path: String, reason: String)
  /// A file that was being made when its process ended. It holds nothing.
  case unfinished(path: String)
  /// The tables of the file are not those of this release.
  case otherRelease(path: String, component: String, found: Int64, known: Int64)
  /// Pages or rows of the file are not what was written.
  case damaged(path: String, reason: String)
  /// Another process writes the file so often, or holds it in a way, that no state of it could be read.
  case busy(path: String, reason: String)
  /// The cache is open in some process, and what was asked for needs it alone.
  case inUse(folder: String)
  /// The outbox holds writes that nobody else has.
  case pendingWrites(folder: String, count: WriteCount)
  /// The cache keeps writes that the backend has refused and that nobody else has; some of them in words.
  case rejectedWrites(folder: String, count: WriteCount, first: [String])
  /// The caller asked for something that does not exist or has no sense.
  case invalid(String)
  /// The disk failed.
  case io(path: String, reason: String)

  package var description: String {
    switch self {
    case .noFolder(let path):
      "There is no folder \"\(path)\". Check the path: a client's cache folder holds a file \"cache.sqlite\". "
        + "`hearth cache list` finds those of this user."
    case .notAFolder(let path):
      "\"\(path)\" is not a folder. Give the folder that holds \"cache.sqlite\"."
    case .noCache(let folder):
      "The folder \"\(folder)\" holds no cache: it has no file \"cache.sqlite\". Give the folder of one app, project and database, "
        + "which a client makes at its first start."
    case .noPermission(let path, let reason):
      "\"\(path)\" cannot be used (\(reason)). Run this as the user that the app runs as."
    case .notACache(let path, let reason):
      "\"\(path)\" is not a cache of Hearth: \(Self.withoutAdvice(reason)). Give another folder, or move the file away."
    case .unfinished(let path):
      "\"\(path)\" is a new cache without tables: its client has not started completely. Start the client, or delete the file."
    case .otherRelease(let path, let component, let found, let known) where found > known:
      "\"\(path)\" was written by a newer release: its \"\(component)\" tables have version \(found), and this release knows versions "
        + "up to \(known). Use the `hearth` of that release."
    case .otherRelease(let path, let component, let found, let known):
      "\"\(path)\" was written by an older release: its \"\(component)\" tables have version \(found), and this release reads version "
        + "\(known). Start a client of this release with the cache once, which migrates it, or use the `hearth` of that release."
    case .damaged(let path, let reason):
      "\"\(path)\" is damaged: \(Self.withoutAdvice(reason)). Run `hearth cache check` for what can be saved; the next start of a client sets the file "
        + "aside and saves its pending writes."
    case .busy(let path, let reason):
      "\"\(path)\" changed while it was read: \(Self.withoutAdvice(reason)). Try again."
    case .inUse(let folder):
      "The cache in \"\(folder)\" is in use by another process. Stop that process, then try again."
    case .pendingWrites(let folder, let count):
      "The cache in \"\(folder)\" holds \(count) that the backend does not have. Start the client with its network "
        + "until they are sent, or repeat the command with --discard-pending-writes to lose them."
    case .rejectedWrites(let folder, let count, let first):
      "The cache in \"\(folder)\" keeps \(count) that the backend has refused"
        + (first.isEmpty
          ? "" : ": " + first.joined(separator: "; ") + (count.batches > first.count ? "; and others" : ""))
        + ". `hearth cache rejected` lists them; a program can resubmit or discard them (rejectedWrites). Repeat the command "
        + "with --discard-rejected-writes to lose them."
    case .invalid(let text): text
    case .io(let path, let reason):
      "\"\(path)\" cannot be read or written: \(Self.withoutAdvice(reason)). Check the disk."
    }
  }

  /// The beginnings of the advice that errors of the store end with. It is for the programs that own the file.
  private static let advice = [
    "Another process or connection", "Free some ", "Try again", "Check the ", "Check that ", "Restore it",
    "Move the file away",
    "Use the newer release", "Choose another folder",
  ]

  /// The reason without advice, and without the full stop at its end.
  static func withoutAdvice(_ reason: String) -> String {
    var sentence = reason
    for beginning in advice {
      if let end = sentence.firstRange(of: ". " + beginning) { sentence = String(sentence[..<end.lowerBound]) }
    }
    return sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
  }
}
