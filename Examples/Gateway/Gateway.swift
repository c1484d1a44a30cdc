import ArgumentParser
import Foundation
import Hearth

/// A gateway at the edge: it takes readings of a sensor, keeps them while there is no connection, and sends them when there is one.
///
/// It has no code for its end. A reading that it has reported as saved is on the disk, so a loss of power needs no preparation, and
/// the next start goes on with what waits.
@main
struct Gateway: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Take readings of a sensor and send them when there is a connection.",
    discussion: "Readings are numbers, a line each on the standard input; --count simulates a sensor instead.")

  @Option(help: ArgumentHelp("The backend: hearth serve, or Google's emulator.", valueName: "host:port"))
  var host = "127.0.0.1:8080"

  @Option(help: "The project that the readings belong to.")
  var project = "demo-gateway"

  @Option(help: ArgumentHelp("The folder that keeps the readings.", valueName: "folder"))
  var cache = "\(NSHomeDirectory())/.hearth-gateway"

  @Option(help: "The sensor's name.")
  var sensor = "boiler"

  @Option(help: "The number of readings that may wait; above it the oldest ones are thinned out.")
  var keep = 100_000

  @Option(help: "Simulate a sensor that gives so many readings.")
  var count: Int?

  @Option(help: ArgumentHelp("The time between two simulated readings.", valueName: "milliseconds"))
  var pause = 0

  @Option(help: ArgumentHelp("The time that what waits has to be sent after the last reading.", valueName: "seconds"))
  var wait = 10

  func validate() throws {
    guard keep > 0 else { throw ValidationError("--keep \(keep): at least one reading must be able to wait.") }
    guard count ?? 0 >= 0, pause >= 0, wait >= 0 else {
      throw ValidationError("--count, --pause and --wait cannot be negative.")
    }
    guard !sensor.isEmpty, !sensor.contains("/"), !sensor.contains(" ") else {
      throw ValidationError("--sensor \"\(sensor)\": a name without slashes and spaces is needed.")
    }
  }

  func run() async throws {
    var queue = ReadingQueue(database: openDatabase(), sensor: sensor, keep: keep)
    var source: any ReadingSource = LineReadings()
    if let count { source = SimulatedReadings(count: count, pause: .milliseconds(pause)) }
    while let celsius = try await source.next() {
      let id = try await queue.store(celsius)
      // Only now the reading counts as taken: a sensor that is asked again after a loss of power has nothing to repeat.
      say("saved \(id)")
      try await queue.thinOut()
    }
    let waiting = try await queue.send(within: .seconds(wait))
    say(waiting == 0 ? "all sent" : "\(waiting) wait")
    try await queue.database.terminate()
  }

  private func openDatabase() -> Firestore {
    let options = FirebaseOptions(googleAppID: "1:1:swift:gateway", gcmSenderID: "1")
    options.projectID = project
    FirebaseApp.configure(options: options)
    let database = Firestore.firestore()
    let settings = FirestoreSettings()
    settings.host = host
    settings.isSSLEnabled = false
    settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: cache, isDirectory: true))
    database.settings = settings
    return database
  }
}

/// Prints a line at once, also where the output is not a terminal: a log must not lose what was reported.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}
