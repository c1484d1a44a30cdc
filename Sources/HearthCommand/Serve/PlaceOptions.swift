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

  #if PostgreSQL
    @OptionGroup var cluster: ClusterOptions
  #endif

  @Option(
    help: """
      The IP address to listen on, or localhost. 127.0.0.1 is reached by programs on this machine only, 0.0.0.0 or :: by every machine that \
      reaches this one. An address that other machines reach needs options that say who may call, such as --admin-token-file, and \
      --tls-certificate; or else --open-to-everyone.
      """)
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
    try validateStorage()
    if let (name, port) = portBehindHost {
      throw ValidationError("--host takes no port. Write --host \(name) --port \(port).")
    }
    guard data?.isEmpty != true else { throw ValidationError("--data is empty: give the path of a folder.") }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("Log level \"\(logLevel)\" does not exist: choose one of \(Self.levelNames).")
    }
  }

  /// The parts of a host that was given as HOST:PORT, as other programs take it; nil for anything else, such as an address of IPv6.
  private var portBehindHost: (name: Substring, port: UInt16)? {
    let parts = host.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, let port = UInt16(parts[1]) else { return nil }
    return (parts[0], port)
  }

  #if PostgreSQL
    private func validateStorage() throws {
      let isElsewhere = data != nil || inMemory
      guard cluster.location(isElsewhere: isElsewhere) != nil else {
        guard !isElsewhere else { return }
        throw ValidationError(
          "Say where the databases are to be kept: --data FOLDER, --in-memory or --storage URL (\(ClusterOptions.variable))."
        )
      }
      guard !isElsewhere else {
        throw ValidationError(
          "--storage was given with \(inMemory ? "--in-memory" : "--data"): keep the databases in one place.")
      }
    }

    /// The PostgreSQL database of the databases; nil for another place.
    var clusterLocation: ClusterLocation? { cluster.location(isElsewhere: data != nil || inMemory) }

    var storage: StorageLocation {
      clusterLocation.map { .cluster($0) } ?? data.map { .folder($0) } ?? .memory
    }

    /// The place of the databases in words, where it is not a folder.
    var storageText: String? { clusterLocation?.description }
  #else
    private func validateStorage() throws {
      guard data != nil || inMemory else {
        throw ValidationError("Say where the databases are to be kept: either --data FOLDER or --in-memory.")
      }
    }

    var storage: StorageLocation { data.map { .folder($0) } ?? .memory }

    /// The place of the databases in words, where it is not a folder.
    var storageText: String? { nil }
  #endif

  var level: Logger.Level { Logger.Level(rawValue: logLevel) ?? .info }
}
