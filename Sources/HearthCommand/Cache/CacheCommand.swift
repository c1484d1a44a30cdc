import ArgumentParser
import Foundation
import HearthCache
import HearthModel

/// `hearth cache`: looks into the cache folder of a client, also while clients use it.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look into a client's cache folder, also while it is in use.",
    discussion: """
      The folder is the one that holds "cache.sqlite": on Linux \
      ~/.local/share/hearth/APP/PROJECT/DATABASE unless the app has set another. All subcommands but clear and collect only read.

      Tables on a terminal, JSON for other programs; --format chooses. The exit status is 0 for success, 1 for a failure or for damage \
      that check has found, 64 for wrong arguments. Errors go to standard error and say what to do.
      """,
    subcommands: [
      CacheInfoCommand.self, CacheOutboxCommand.self, CacheRejectedCommand.self, CacheDocumentsCommand.self,
      CacheGetCommand.self,
      CacheQueryCommand.self, CacheIndexesCommand.self, CacheCheckCommand.self, CacheExportCommand.self,
      CacheClearCommand.self, CacheCollectCommand.self,
    ])
}

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
  case table, json
}

/// What all subcommands have.
struct CacheOptions: ParsableArguments {
  @Argument(help: "The cache folder.", completion: .directory)
  var folder: String

  @Option(help: "table or json; by default a table on a terminal and JSON otherwise.")
  var format: OutputFormat?

  var isJSON: Bool { format.map { $0 == .json } ?? !Terminal.isOutputTerminal }

  /// Runs a subcommand and reports its failure in words.
  func run(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ExitCode {
      throw error
    } catch {
      Terminal.writeError("hearth cache: \(error)")
      throw ExitCode.failure
    }
  }
}

/// Whose documents are shown.
struct ViewpointOptions: ParsableArguments {
  @Option(
    help: "Show the documents with the pending writes of this user; by default with those of the signed-out user.")
  var user: String?

  @Flag(help: "Show the documents as the backend has confirmed them, without pending writes.")
  var confirmed = false

  func validate() throws {
    if confirmed, user != nil { throw ValidationError("--user and --confirmed exclude each other.") }
  }

  var viewpoint: CacheInspection.Viewpoint { confirmed ? .backend : .user(user) }
}
