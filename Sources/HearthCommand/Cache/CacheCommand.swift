import ArgumentParser
import Foundation
import HearthCache
import HearthData
import HearthModel

/// `hearth cache`: looks into the cache folder of a client, also while clients use it.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look into a client's cache folder, also while it is in use.",
    discussion: """
      The folder is the one that holds "cache.sqlite": on Linux \
      ~/.local/share/hearth/APP/PROJECT/DATABASE unless the app has set another. clear and collect change the cache; all others only read it.

      Tables on a terminal, JSON for other programs; --format chooses. The exit status is 0 for success, 1 for a failure or for damage \
      that check has found, 64 for wrong arguments. Errors go to standard error.
      """,
    subcommands: [
      CacheListCommand.self, CacheInfoCommand.self, CacheOutboxCommand.self, CacheRejectedCommand.self,
      CacheConflictsCommand.self, CacheDocumentsCommand.self, CacheGetCommand.self, CacheQueryCommand.self,
      CacheIndexesCommand.self, CacheCheckCommand.self,
      CacheExportCommand.self,
      CacheClearCommand.self, CacheCollectCommand.self,
    ])

  /// Runs a subcommand and reports its failure in words.
  static func run(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ExitCode {
      throw error
    } catch let error as DataError where error.isBrokenPipe {
      throw ExitCode.failure
    } catch {
      var text = "\(error)"
      if case CacheInspectionError.noCache(let folder)? = error as? CacheInspectionError,
        let hint = CacheSearch.hint(for: folder)
      {
        text = "The folder \"\(folder)\" holds no cache. \(hint)"
      }
      Terminal.writeError("hearth cache: \(Terminal.safe(text))")
      throw (error as? DataError)?.isWrongArgument == true ? ExitCode.validationFailure : ExitCode.failure
    }
  }
}

/// The options of all subcommands.
struct CacheOptions: ParsableArguments {
  @Argument(help: "The cache folder; `hearth cache list` finds those of this user.", completion: .directory)
  var folder: String

  @OptionGroup var format: FormatOptions

  var isJSON: Bool { format.isJSON }

  /// Runs a subcommand and reports its failure in words.
  func run(_ body: () throws -> Void) throws {
    try CacheCommand.run(body)
  }

  /// Lists what a cache keeps for its users: an object per line and entry, or a table.
  ///
  /// - Parameters:
  ///   - entries: Reads the entries. It may be called more than once.
  ///   - whenEmpty: The reason why there may be none.
  ///   - json: The object of an entry; the second argument is the database of its values.
  ///   - show: Shows the table of the entries.
  func list<Entry>(
    _ entries: (CacheInspection) throws -> [Entry], whenEmpty: (CacheOverview) -> String,
    json: (Entry, DatabaseID) -> JSONText, show: ([Entry], DatabaseID) throws -> Void
  ) throws {
    try run {
      let (found, database, empty) = try CacheInspection.read(folder: folder) { cache in
        let found = try entries(cache)
        return (found, cache.nameForValues, found.isEmpty ? whenEmpty(try cache.overview()) : nil)
      }
      if let empty { EmptyCacheAnswer.write(empty) }
      guard !isJSON else {
        for entry in found { Terminal.write(json(entry, database).compact) }
        return
      }
      try show(found, database)
    }
  }

  /// - Parameter word: The word behind the folder.
  /// - Throws: A `DataError` if the folder seems to stand there.
  func checkOrder(_ word: String?) throws {
    func isFolder(_ path: String) -> Bool {
      var isDirectory: ObjCBool = false
      return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
    guard let word, !isFolder(folder), isFolder(word) else { return }
    throw DataError.argument(
      "There is no folder \"\(folder)\", but \"\(word)\" is one. The cache folder is the first word: "
        + "\(ShellWord.bare(word)) \(ShellWord.bare(folder)).")
  }
}

/// The identity whose pending writes are meant.
struct OwnerOptions: ParsableArguments {
  @Option(help: "The writes of this user.")
  var user: String?

  @Flag(help: "The writes made without credentials or with no user signed in.")
  var signedOut = false

  @Option(help: "The writes of the service account with this e-mail address.")
  var serviceAccount: String?

  @Flag(help: "The writes of the emulator's owner.")
  var emulatorOwner = false

  @Option(help: "The writes made with credentials of the application's own that have this name.")
  var credentials: String?

  private var owners: [OutboxOwner] {
    [
      user.map { .user($0) }, signedOut ? .nobody : nil, serviceAccount.map { .serviceAccount($0) },
      emulatorOwner ? .emulatorOwner : nil, credentials.map { .application($0) },
    ].compactMap { $0 }
  }

  func validate() throws {
    guard owners.count > 1 else { return }
    throw ValidationError(
      "--user, --signed-out, --service-account, --emulator-owner and --credentials exclude each other.")
  }

  /// Nil if no identity was named.
  var owner: OutboxOwner? { owners.first }
}

/// The user whose documents are shown.
struct ViewpointOptions: ParsableArguments {
  @OptionGroup(title: "Show the documents with pending writes, by default those of the signed-out user")
  var owner: OwnerOptions

  @Flag(help: "Show the documents as the backend has confirmed them, without pending writes.")
  var confirmed = false

  func validate() throws {
    if confirmed, owner.owner != nil {
      throw ValidationError("--confirmed excludes the options that name an identity, such as --user.")
    }
  }

  var viewpoint: CacheInspection.Viewpoint { confirmed ? .backend : .user(owner.owner?.name) }
}
