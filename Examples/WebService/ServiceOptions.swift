import ArgumentParser
import Foundation

/// The options of the pool and of each worker.
struct ServiceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The backend: hearth serve, or Google's emulator.", valueName: "host:port"))
  var host = "127.0.0.1:8080"

  @Option(help: "The project that the items belong to.")
  var project = "demo-items"

  @Option(help: ArgumentHelp("The folder of the cache, on a disk of this machine.", valueName: "folder"))
  var cache = "\(NSHomeDirectory())/.hearth-webservice"

  @Option(help: "The port of the first worker; each further worker has the next one. 0 lets the system choose.")
  var port = 9000

  func validate() throws {
    guard (0...65535).contains(port) else { throw ValidationError("Port \(port) does not exist.") }
  }
}
