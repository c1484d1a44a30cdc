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

/// Whose documents are shown.
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
