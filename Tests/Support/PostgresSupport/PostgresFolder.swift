#if PostgreSQL
  internal import Foundation

  /// The folder of all servers of this process, which ends them and is removed when the process ends, however that happens.
  final class PostgresFolder: Sendable {
    let path: String
    /// An empty cluster that servers are copied from.
    let template: String
    /// Open as long as this process lives.
    private let keeperInput: FileHandle

    static let shared = Task { try await PostgresFolder() }

    private init() async throws {
      let parent = Self.hasRoomInMemory ? Self.memory : ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
      let output = try await PostgresPrograms.run("mktemp", ["-d", "\(parent)/hearth-postgresql-XXXXXX"])
      path = output.trimmingCharacters(in: .whitespacesAndNewlines)
      let (program, arguments) = try PostgresPrograms.command("sh", ["-c", Self.keeping, "sh", path])
      let keeper = Process()
      let input = Pipe()
      keeper.executableURL = program
      keeper.arguments = arguments
      keeper.standardInput = input
      // Who waits for the end of the tests' output does not wait for the removal.
      keeper.standardOutput = FileHandle.nullDevice
      keeper.standardError = FileHandle.nullDevice
      try keeper.run()
      keeperInput = input.fileHandleForWriting
      template = "\(path)/template"
      try await PostgresPrograms.run(
        "initdb",
        [
          "-D", template, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
          "--no-instructions",
        ])
    }

    /// Every database is 300 files, which a disk needs minutes to write and to remove.
    private static let memory = "/dev/shm"

    /// True if a file system in memory holds the databases of all tests, which are about 2 GB, and more besides.
    private static var hasRoomInMemory: Bool {
      let attributes = try? FileManager.default.attributesOfFileSystem(forPath: memory)
      return (attributes?[.systemFreeSize] as? Int64 ?? 0) >= 8 << 30
    }

    /// Waits for the end of its input, which comes with the end of this process, and for the servers that it ends.
    private static let keeping = """
      cat > /dev/null
      for file in "$1"/*/postmaster.pid; do [ -f "$file" ] && kill -QUIT "$(head -n 1 "$file")"; done
      for second in 1 2 3 4 5; do ls "$1"/*/postmaster.pid > /dev/null 2>&1 || break; sleep 1; done
      rm -rf "$1"
      """
  }
#endif
