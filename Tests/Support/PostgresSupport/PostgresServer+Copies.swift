#if PostgreSQL
  extension PostgresServer {
    /// A copy of a server's files, as a snapshot of its machine has them: they name the same server on the same timeline.
    package struct Files: Sendable {
      fileprivate let path: String
    }

    /// Copies the files of the server, which is stopped.
    package func copyFiles() async throws -> Files {
      let files = Files(path: "\(folder)-copy")
      try await PostgresPrograms.run("rm", ["-rf", files.path])
      try await PostgresPrograms.run("cp", ["-R", "-p", folder, files.path])
      return files
    }

    /// Puts a copy of its files in place of those of the server, which is stopped.
    package func restore(_ files: Files) async throws {
      try await PostgresPrograms.run("rm", ["-rf", folder])
      try await PostgresPrograms.run("cp", ["-R", "-p", files.path, folder])
    }

    /// A dump of one database.
    package struct Dump: Sendable {
      fileprivate let path: String
    }

    package func dump(_ url: String) async throws -> Dump {
      let dump = Dump(path: "\(folder)/test.dump")
      try await PostgresPrograms.run("pg_dump", ["-Fc", "-f", dump.path, url])
      return dump
    }

    /// Replaces the tables of a database by those of a dump. Sessions stay open.
    package func restore(_ dump: Dump, to url: String) async throws {
      try await PostgresPrograms.run(
        "pg_restore", ["--clean", "--if-exists", "--single-transaction", "-d", url, dump.path])
    }
  }
#endif
