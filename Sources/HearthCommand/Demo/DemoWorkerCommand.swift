import ArgumentParser
import Foundation
import Hearth

/// One of the demo's two processes that share a cache. Each line of its standard input is a command; at the end of the input it
/// ends in good order.
///
/// | command | does | reports |
/// |---|---|---|
/// | `read` | gets all cities | `read` with their number |
/// | `offline`, `online` | switches its network | the same word |
/// | `write FIRST LAST` | writes these entries | `written` when they are on disk |
/// | `show COUNT` | waits until its listener has so many entries | `shown` with them and with those that wait for the backend |
/// | `drain` | waits until the outbox of both processes is empty | `drain` with what is left, each time; then `drained` |
struct DemoWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-worker", abstract: "A process of the demo that shares a cache; started by the demo itself.",
    shouldDisplay: false)

  static let journal = "shared"

  @Option(help: "Backend as HOST:PORT.") var backend: String
  @Option(help: "Project id.") var project: String
  @Option(help: "Folder of the durable cache.") var cache: String

  func run() async throws {
    do {
      guard let address = BackendAddress(backend) else {
        throw ValidationError("--backend \(backend): expected HOST:PORT")
      }
      // Processes share a cache if the app's name, the project and the folder are the same.
      let device = try Device(
        name: "worker", project: project, backend: address, cache: URL(fileURLWithPath: cache, isDirectory: true))
      let listener = SnapshotRecorder(device.firestore.collection("\(Self.journal)-journal"))
      while let line = readLine() {
        try await obey(line.split(separator: " ").map(String.init), device, listener)
      }
      listener.stop()
      try await device.firestore.terminate()
    } catch {
      DemoEvent.emit(["event": "failed", "reason": "\(error)"])
      throw ExitCode.failure
    }
  }

  private func obey(_ words: [String], _ device: Device, _ listener: SnapshotRecorder) async throws {
    let firestore = device.firestore
    let numbers = words.dropFirst().compactMap { Int($0) }
    switch (words.first, numbers.count) {
    case ("read", 0):
      let cities = try await firestore.collection("cities").getDocuments()
      DemoEvent.emit(["event": "read", "cities": cities.count])
    case ("offline", 0):
      try await firestore.disableNetwork()
      DemoEvent.emit(["event": "offline"])
    case ("online", 0):
      try await firestore.enableNetwork()
      DemoEvent.emit(["event": "online"])
    case ("write", 2):
      for number in numbers[0]...numbers[1] { device.write(entry: number, of: Self.journal) }
      DemoEvent.emit(["event": "written", "pending": try await firestore.pendingWrites().count])
    case ("show", 1):
      let snapshot = try await listener.wait(for: "the entries of both processes") { $0.count == numbers[0] }
      let waiting = snapshot.documents.count { $0.metadata.hasPendingWrites }
      DemoEvent.emit(["event": "shown", "entries": snapshot.count, "waiting": waiting])
    case ("drain", 0):
      try await drain(firestore)
    default:
      throw DemoError(description: "no command: \(words.joined(separator: " "))")
    }
  }

  private func drain(_ firestore: Firestore) async throws {
    for try await snapshot in firestore.outbox.snapshots {
      DemoEvent.emit(["event": "drain", "left": snapshot.writes.count])
      if snapshot.writes.isEmpty { break }
    }
    try await firestore.waitForPendingWrites()
    DemoEvent.emit(["event": "drained"])
  }
}
