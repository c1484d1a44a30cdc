import ArgumentParser
import Foundation
import Hearth
import Logging

/// The options of all commands: where the list is, here and at the backend.
struct DatabaseOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The backend: hearth serve, or Google's emulator.", valueName: "host:port"))
  var host = "127.0.0.1:8080"

  @Option(help: "The project that the list belongs to.")
  var project = "demo-todo"

  @Option(help: ArgumentHelp("The folder of this device's copy of the list.", valueName: "folder"))
  var cache = "\(NSHomeDirectory())/.hearth-todo"

  @Flag(help: "Leave the network alone, as on a train.")
  var offline = false

  /// Opens the list, and closes it after `body`, also if that throws.
  func withList(_ body: (TodoList) async throws -> Void) async throws {
    // The commands say themselves what could not be sent; the library's log would stand between the lines of the list.
    LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    let folder = URL(fileURLWithPath: cache, isDirectory: true)
    let options = FirebaseOptions(googleAppID: "1:1:swift:todo", gcmSenderID: "1")
    options.projectID = project
    FirebaseApp.configure(options: options)
    let database = Firestore.firestore()
    let settings = FirestoreSettings()
    settings.host = host
    settings.isSSLEnabled = false
    settings.cacheSettings = PersistentCacheSettings(directory: folder)
    // Two devices that change different fields of an item both keep their change.
    settings.conflictRules = [.collection("todos", .mergeFields)]
    database.settings = settings

    let result: Result<Void, any Error>
    do {
      if offline { try await database.disableNetwork() }
      result = .success(
        try await body(TodoList(database: database, receipts: ReceiptFile(folder: folder), isOffline: offline)))
    } catch {
      result = .failure(error)
    }
    try await database.terminate()
    try result.get()
  }
}
