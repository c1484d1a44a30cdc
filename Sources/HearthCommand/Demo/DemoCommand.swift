import ArgumentParser
import Foundation
import Hearth
import HearthServer
import Logging

/// `hearth demo`: tells a story of some devices on real data, and checks every claim against the backend.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract:
      "Shows devices that work offline, are killed, find their disk damaged, share a cache, and get in sync again.",
    discussion: "Exit status 0 only if every check held.")

  @Option(help: "Use a running backend (hearth serve, or Google's emulator) instead of starting one.")
  var backend: String?

  @Flag(
    help: "Keep the folder with the caches of the devices and the data of the backend, and say how to look into it.")
  var keep = false

  @Flag(help: "Print one JSON object per line.")
  var json = false

  func validate() throws {
    if let backend, BackendAddress(backend) == nil {
      throw ValidationError("--backend \(backend): expected HOST:PORT with a port from 1 to 65535")
    }
  }

  func run() async throws {
    let narrator = Narrator(json: json)
    // The story reports all that matters; the log would interrupt it.
    LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { if !keep { try? FileManager.default.removeItem(at: folder) } }

    var server: EmbeddedServer?
    let address: BackendAddress
    narrator.chapter("The backend")
    if let given = backend.flatMap(BackendAddress.init) {
      address = given
      narrator.say("using the backend at \(address)")
    } else {
      let started = try await EmbeddedServer.start(
        host: "127.0.0.1", port: 0, storage: .folder(folder.appendingPathComponent(DemoStory.backendFolder).path),
        logger: Logger(label: "hearth.demo", factory: { _ in SwiftLogNoOpLogHandler() }))
      server = started
      address = BackendAddress(host: "127.0.0.1", port: started.port)
      narrator.say("hearth serve listens on \(address), its data in a temporary folder")
    }
    let story = DemoStory(
      narrator: narrator, backend: address, folder: folder, project: "demo-\(UUID().uuidString.prefix(8).lowercased())",
      isOwnServer: server != nil)
    do {
      try await story.tell()
    } catch {
      narrator.check("the demo ran to its end", expected: "yes", found: "no: \(error)")
    }
    await server?.shutdown()
    narrator.finish()
    if keep {
      let kept = KeptFolder(
        path: folder.path, project: story.project, hasBackend: server != nil, program: ProgramWord.shown())
      narrator.kept(kept)
    }
    if narrator.failedChecks > 0 { throw ExitCode.failure }
  }
}
