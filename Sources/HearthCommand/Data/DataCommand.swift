import ArgumentParser
import Foundation
import HearthData
import HearthModel
import Logging
import UnixSignals

/// `hearth data`: reads and writes documents of any backend.
struct DataCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "data",
    abstract: "Read and write documents of a running server, an emulator or Cloud Firestore.",
    discussion: """
      Without --host the backend is the one of FIRESTORE_EMULATOR_HOST, else Cloud Firestore if there are credentials, else \
      127.0.0.1:8080. To a backend without TLS the owner's token is sent, which emulators and `hearth serve` take.

      Values are JSON. A number with a point or an exponent is a double, any other an integer. What JSON has no type for is an object \
      with one member:

        {"$timestamp": "2026-03-01T12:30:00Z"}    {"$geopoint": [37.8, -122.4]}
        {"$reference": "cities/SF"}               {"$vector": [1, 2]}
        {"$bytes": "AAE="}                        {"$double": "NaN"}
        {"$map": {"$key": 1}}, a map with a key that begins with $

      In place of a value, `set` and `update` take changes:

        {"$serverTimestamp": true}                {"$increment": 1}
        {"$arrayUnion": ["a"]}                    {"$minimum": 1}
        {"$arrayRemove": ["a"]}                   {"$maximum": 1}
        {"$delete": true}, which removes the field

      Tables on a terminal, a line of JSON for each document otherwise; --format chooses. The exit status is 0 for success, 1 for a \
      failure, 2 for an import that has left out documents (--continue), 64 for wrong arguments, 130 after Ctrl-C. Errors go to \
      standard error.
      """,
    subcommands: [
      DataGetCommand.self, DataSetCommand.self, DataUpdateCommand.self, DataDeleteCommand.self, DataQueryCommand.self,
      DataCountCommand.self,
      DataCollectionsCommand.self, DataDatabasesCommand.self, DataWatchCommand.self, DataExportCommand.self,
      DataImportCommand.self,
    ])

  /// The status after Ctrl-C, as shells know it: 128 and the number of the signal.
  static let interruptedStatus: Int32 = 130
  static let leftOutStatus: Int32 = 2
}

/// The backend, which all subcommands have.
struct ConnectionOptions: ParsableArguments {
  @Option(
    help: """
      The backend as HOST:PORT; by default that of FIRESTORE_EMULATOR_HOST, else Cloud Firestore if there are credentials, else \
      127.0.0.1:8080.
      """)
  var host: String?

  @Flag(help: "Use TLS; the default port is then 443.")
  var tls = false

  @Option(
    name: .customLong("ca-file"),
    help: """
      With --tls: a PEM file with the certificate of the authority that has signed the backend's, if it is one of your own. The \
      system's authorities are then not trusted.
      """, completion: .file())
  var authorityFile: String?

  @Option(
    name: .customLong("cert-file"),
    help: """
      With --tls: a PEM file with a certificate of yours, for a server that demands one (--tls-client-authority), followed by those of \
      intermediate authorities.
      """, completion: .file())
  var certificateFile: String?

  @Option(help: "The private key of --cert-file in PEM form, without a passphrase.", completion: .file())
  var keyFile: String?

  @Option(help: "The project; by default GOOGLE_CLOUD_PROJECT, the project of the credentials, or \"demo\".")
  var project: String?

  @Option(help: "The database.")
  var database = "(default)"

  @Option(
    help: """
      The key file of a service account; by default that of GOOGLE_APPLICATION_CREDENTIALS, if no host is given. Without a host the \
      backend is then firestore.googleapis.com.
      """, completion: .file())
  var credentials: String?

  @Option(help: "A bearer token; by default that of HEARTH_TOKEN, which other users of this machine cannot see.")
  var token: String?

  @Flag(name: .shortAndLong, help: "Log what happens on the connection to standard error.")
  var verbose = false

  private func choice() throws -> ConnectionChoice {
    var options = ConnectionChoice.Options()
    options.host = host
    options.usesTLS = tls
    options.authorityFile = authorityFile
    options.certificateFile = certificateFile
    options.keyFile = keyFile
    options.project = project
    options.database = database
    options.credentialsFile = credentials
    options.token = token
    return try ConnectionChoice(options, environment: ProcessInfo.processInfo.environment)
  }

  /// Runs a subcommand that needs nothing before it.
  func run(afterInterrupt: String? = nil, _ body: @escaping @Sendable (DataBackend) async throws -> Void) async throws {
    try await run(afterInterrupt: afterInterrupt, before: { _ in }) { backend, _ in try await body(backend) }
  }

  /// Runs a subcommand, lets Ctrl-C end it in order, and reports its failure in words.
  ///
  /// - Parameters:
  ///   - afterInterrupt: The advice for the next step; nil for no message.
  ///   - before: The part that may wait for a person or for standard input, which only the usual effect of Ctrl-C ends.
  ///   - body: The work, on a connection that is closed afterwards.
  func run<Input: Sendable>(
    afterInterrupt: String? = nil, before: (DataBackend) throws -> Input,
    _ body: @escaping @Sendable (DataBackend, Input) async throws -> Void
  ) async throws {
    do {
      let choice = try choice()
      warnOfPlaintext(choice)
      let backend = try DataBackend(
        choice, logger: logger, onRetry: { Terminal.writeError("hearth data: \(TableLayout.safe($0))") })
      let input = try before(backend)
      let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
      let work = Task { try await body(backend, input) }
      let watching = Task {
        for await _ in signals {
          // The second one does not wait for anything.
          if work.isCancelled { Terminal.end(DataCommand.interruptedStatus) }
          work.cancel()
        }
      }
      defer { watching.cancel() }
      let result = await work.result
      await backend.shutdown()
      try result.get()
    } catch let error as ExitCode {
      throw error
    } catch is CancellationError {
      if let afterInterrupt { Terminal.writeError("hearth data: interrupted. \(afterInterrupt)") }
      throw ExitCode(DataCommand.interruptedStatus)
    } catch let error as DataError where error.isBrokenPipe {
      throw ExitCode.failure
    } catch {
      // The error of a missing index has a line of its own for its definition.
      Terminal.writeError("hearth data: \(Terminal.safeLines("\(error)"))")
      throw (error as? DataError)?.isWrongArgument == true ? ExitCode.validationFailure : ExitCode.failure
    }
  }

  /// A token that was given may be read on its way, unless it stays on this machine.
  private func warnOfPlaintext(_ choice: ConnectionChoice) {
    let isLocal = choice.host == "localhost" || choice.host.hasPrefix("127.") || choice.host == "::1"
    guard token != nil, !choice.usesTLS, !isLocal else { return }
    Terminal.writeError("hearth data: the token is sent to \(choice.place) without encryption. Use --tls.")
  }

  private var logger: Logger {
    var logger = Logger(label: "hearth.data") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = verbose ? .debug : .critical
    return logger
  }
}

/// A time in the past.
struct ReadTimeOptions: ParsableArguments {
  @Option(
    help: """
      Read the state at this time, a date and a time with its offset from UTC: \(TimeText.forms). Backends keep about an hour of history.
      """)
  var readTime: String?

  func validate() throws {
    if let readTime, ValueJSON.time(readTime) == nil {
      let meant = TimeText.meant(by: readTime).map { " Write \($0.rfc3339)." } ?? " Such times are \(TimeText.forms)."
      throw ValidationError("--read-time \(readTime): expected a date and a time with its offset from UTC.\(meant)")
    }
  }

  var version: SnapshotVersion? { readTime.flatMap { ValueJSON.time($0) }.map { SnapshotVersion($0) } }
}
