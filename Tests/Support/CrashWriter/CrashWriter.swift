import Foundation
import Hearth

/// A process that writes until it is killed. It reports on its standard output, a line of JSON each: the state found at the start, the
/// writes that are durable on this device, and those that the backend acknowledged.
///
/// Arguments: HOST:PORT PROJECT CACHE-FOLDER online|offline|drain
@main
enum CrashWriter {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5 else {
      say(["event": "failed", "reason": "usage: CrashWriter HOST:PORT PROJECT CACHE-FOLDER online|offline|drain"])
      exit(64)
    }
    do {
      let firestore = try open(backend: arguments[1], project: arguments[2], cache: arguments[3])
      try await firestore.disableNetwork()
      let last = try await report(firestore)
      switch arguments[4] {
      case "drain":
        try await firestore.enableNetwork()
        try await firestore.waitForPendingWrites()
        say(["event": "drained"])
        try await firestore.terminate()
      case "online":
        try await firestore.enableNetwork()
        try await write(after: last, firestore)
      default:
        try await write(after: last, firestore)
      }
    } catch {
      say(["event": "failed", "reason": "\(error)"])
      exit(1)
    }
  }

  private static func open(backend: String, project: String, cache: String) throws -> Firestore {
    let options = FirebaseOptions(googleAppID: "1:1:swift:crash", gcmSenderID: "1")
    options.projectID = project
    FirebaseApp.configure(options: options)
    let firestore = Firestore.firestore()
    let settings = FirestoreSettings()
    settings.host = backend
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "crash-writer")
    settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: cache, isDirectory: true))
    firestore.settings = settings
    return firestore
  }

  /// Says what the cache holds, with the network off, and returns the number of the last write in it.
  private static func report(_ firestore: Firestore) async throws -> Int {
    let journal = try await firestore.collection("journal").getDocuments(source: .cache)
    let numbers = journal.documents.compactMap { $0.get("number") as? Int }.sorted()
    let totals = try? await firestore.document("totals/all").getDocument(source: .cache)
    let pending = try await firestore.pendingWrites()
    say([
      "event": "state", "numbers": numbers, "total": totals?.get("total") as? Int ?? 0,
      "order": totals?.get("order") as? [Int] ?? [],
      "pending": pending.map { $0.operations.map(\.documentPath).joined(separator: " ") },
    ])
    return numbers.last ?? 0
  }

  private static func write(after last: Int, _ firestore: Firestore) async throws {
    // A listener makes the watch stream store resume tokens and documents all the while.
    firestore.collection("remote").addSnapshotListener { _, _ in }
    for number in (last + 1)...(last + 10_000) {
      let batch = firestore.batch()
      batch.setData(["number": number], forDocument: firestore.document("journal/\(number)"))
      batch.setData(
        ["total": FieldValue.increment(Int64(1)), "order": FieldValue.arrayUnion([number])],
        forDocument: firestore.document("totals/all"), merge: true)
      batch.commit { error in
        say(
          error.map { ["event": "rejected", "number": number, "reason": "\($0)"] } ?? [
            "event": "acked", "number": number,
          ])
      }
      _ = try await firestore.pendingWrites()
      say(["event": "durable", "number": number])
    }
  }

  private static func say(_ event: [String: Any]) {
    let data = (try? JSONSerialization.data(withJSONObject: event, options: .sortedKeys)) ?? Data("{}".utf8)
    FileHandle.standardOutput.write(data + Data("\n".utf8))
  }
}
