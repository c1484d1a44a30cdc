#if PostgreSQL
  internal import ArgumentParser
  internal import Foundation
  internal import HearthServer

  /// `hearth storage`: prepares and checks a PostgreSQL database in which several servers keep their databases.
  struct StorageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "storage", abstract: "Prepare and check a PostgreSQL database that several servers share.",
      subcommands: [Create.self, Upgrade.self, Check.self])

    /// The address of the database.
    struct Address: ParsableArguments {
      @Argument(
        help: ArgumentHelp(
          """
          The PostgreSQL database, such as postgres://user@host/name; \(ClusterOptions.variable) by default. The password comes from \
          PGPASSFILE or PGPASSWORD.
          """))
      var url: String?

      func location() throws -> ClusterLocation {
        guard let url = url ?? ProcessInfo.processInfo.environment[ClusterOptions.variable], !url.isEmpty else {
          throw ValidationError(
            "Say which PostgreSQL database: give its URL, such as postgres://user@host/name, or set \(ClusterOptions.variable)."
          )
        }
        return ClusterLocation(url: url)
      }
    }

    /// Runs `body`, and ends the program with the reason if it fails.
    fileprivate static func perform(_ name: String, _ body: () async throws -> Void) async throws {
      do {
        try await body()
      } catch let error as ServerError {
        Terminal.writeError("hearth storage \(name): \(Terminal.safe(error.description))")
        throw ExitCode.failure
      }
    }

    struct Create: AsyncParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make the tables in a PostgreSQL database, which may hold others.")

      @OptionGroup var address: Address

      func run() async throws {
        let location = try address.location()
        try await StorageCommand.perform("create") {
          try await ClusterSetup(location).create()
          Terminal.write("The tables are made. Serve with: hearth serve --storage URL")
        }
      }
    }

    struct Upgrade: AsyncParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "upgrade", abstract: "Bring the tables of an older release to those of this one.",
        discussion: "Servers of the release before may go on while they are replaced one after the other.")

      @OptionGroup var address: Address

      func run() async throws {
        let location = try address.location()
        try await StorageCommand.perform("upgrade") {
          let former = try await ClusterSetup(location).upgrade()
          Terminal.write("The tables have schema \(former). This release needs no other.")
        }
      }
    }

    struct Check: AsyncParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check that a PostgreSQL server does what the servers need.",
        discussion: """
          Looks at its settings and the tables, and tries that commits are seen in their order, that one lock makes others wait, and that \
          notifications arrive. Then three nodes carry out random requests in a database of their own, which is emptied afterwards. Their \
          answers are compared with those of a database in memory. Last, clients carry out transactions at all three nodes, and the check \
          looks for contradictions in what they have read.

          Each line begins with "ok" or "BAD". The status is 1 if one is bad.
          """)

      @OptionGroup var address: Address

      @Option(help: "The time for which clients carry out transactions.")
      var seconds = 300

      @Flag(help: "Carry out no requests and transactions.")
      var quick = false

      func validate() throws {
        guard (1...86_400).contains(seconds) else {
          throw ValidationError("--seconds \(seconds): it must be from 1 to 86400.")
        }
      }

      func run() async throws {
        let location = try address.location()
        try await StorageCommand.perform("check") {
          let check = ClusterCheck(location, historySeconds: quick ? nil : seconds)
          let report = try await check.run { Terminal.write(Terminal.safe($0)) }
          guard report.isGood else { throw ExitCode.failure }
        }
      }
    }
  }
#endif
