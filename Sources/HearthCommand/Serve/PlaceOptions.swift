internal import ArgumentParser
internal import HearthServer
internal import Logging

/// The options that every start of `hearth serve` needs: where it listens and where it keeps its data.
struct PlaceOptions: ParsableArguments {
  @Option(help: "The port to listen on; 0 lets the system choose.")
  var port = 8080

  @Option(help: "The folder that holds the databases; it is created when it is missing.", completion: .directory)
  var data: String?

  @Flag(help: "Keep the databases in memory: they are gone when the server stops.")
  var inMemory = false

  @Option(
    help: "The IP address to listen on, or localhost; one that other machines can reach needs --open-to-everyone.")
  var host = "127.0.0.1"

  @Option(help: "How much to log to standard error: \(PlaceOptions.levelNames).")
  var logLevel = "info"

  private static let levelNames = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

  func validate() throws {
    guard (0...65535).contains(port) else {
      throw ValidationError("Port \(port) does not exist: choose one between 0 and 65535.")
    }
    if let data, inMemory {
      throw ValidationError(
        "--data \(data) and --in-memory were both given: keep the databases in the folder or in memory.")
    }
    guard data != nil || inMemory else {
      throw ValidationError("Say where the databases are to be kept: either --data FOLDER or --in-memory.")
    }
    guard data?.isEmpty != true else { throw ValidationError("--data is empty: give the path of a folder.") }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("Log level \"\(logLevel)\" does not exist: choose one of \(Self.levelNames).")
    }
  }

  var level: Logger.Level { Logger.Level(rawValue: logLevel) ?? .info }
  var storage: StorageLocation { data.map { .folder($0) } ?? .memory }
}
