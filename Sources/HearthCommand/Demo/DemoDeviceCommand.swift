import ArgumentParser
import Foundation
import Hearth

/// The second device of the demo: a process of its own that works offline and is killed in the middle of it.
struct DemoDeviceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-device", abstract: "The demo's second process; started by the demo itself.", shouldDisplay: false
  )

  /// The number of batches that the device queues while it is offline.
  static let queuedBatchCount = 25
  /// The number of writes in each of them.
  static let writesPerBatch = 3

  @Option(help: "Backend as HOST:PORT.") var backend: String
  @Option(help: "Project id.") var project: String
  @Option(help: "Folder of the durable cache.") var cache: String
  @Flag(help: "Come back to life on an existing cache, with the network off.") var resume = false

  func run() async throws {
    do {
      guard let address = BackendAddress(backend) else {
        throw ValidationError("--backend \(backend): expected HOST:PORT")
      }
      let device = try Device(
        name: "second", project: project, backend: address, cache: URL(fileURLWithPath: cache, isDirectory: true))
      if resume {
        try await comeBack(device.firestore)
      } else {
        try await workOffline(device.firestore)
      }
    } catch {
      emit(["event": "failed", "reason": "\(error)"])
      throw ExitCode.failure
    }
  }

  /// Fills the cache, loses the network, goes on working, and then waits to be killed.
  private func workOffline(_ firestore: Firestore) async throws {
    let query = firestore.collection("cities").whereField("state", isEqualTo: "CA")
    let listener = SnapshotRecorder(query)
    let online = try await listener.wait(for: "the cities from the backend") { !$0.metadata.isFromCache }
    emit(["event": "ready", "cities": online.count])

    try await firestore.disableNetwork()
    let offline = try await listener.wait(for: "the listener to notice") { $0.metadata.isFromCache }
    let city = try await firestore.document("cities/SF").getDocument()
    emit([
      "event": "offline", "cities": offline.count, "fromCache": offline.metadata.isFromCache,
      "name": city.get("name") as? String ?? "", "documentFromCache": city.metadata.isFromCache,
    ])

    for number in 1...Self.queuedBatchCount {
      write(number, firestore)
    }
    let pending = try await firestore.pendingWrites()
    let shown = try await listener.wait(for: "the local writes") { snapshot in
      snapshot.documents.contains { ($0.get("visitors") as? Int) == Self.queuedBatchCount }
    }
    emit([
      "event": "queued", "pending": OutboxText(pending).description,
      "hasPendingWrites": shown.metadata.hasPendingWrites,
      "visits": try await visits(firestore),
    ])
    // Nothing more to do: the demo kills this process here.
    _ = readLine()
  }

  /// One visit: a journal entry, a counter, the order of arrival, and a change to a city that the other device watches.
  private func write(_ number: Int, _ firestore: Firestore) {
    let batch = firestore.batch()
    batch.setData(["number": number], forDocument: firestore.document("journal/entry-\(number)"))
    batch.setData(
      ["visits": FieldValue.increment(Int64(1)), "order": FieldValue.arrayUnion([number])],
      forDocument: firestore.document("totals/visits"), merge: true)
    batch.updateData(
      ["visitors": FieldValue.increment(Int64(1))], forDocument: firestore.document("cities/LA"))
    batch.commit()
  }

  /// Starts on the cache that the killed process left, shows its content, and enables the network on request.
  private func comeBack(_ firestore: Firestore) async throws {
    try await firestore.disableNetwork()
    let query = firestore.collection("cities").whereField("state", isEqualTo: "CA")
    let cities = try await query.getDocuments()
    let pending = try await firestore.pendingWrites()
    emit([
      "event": "restarted", "cities": cities.count, "fromCache": cities.metadata.isFromCache,
      "pending": OutboxText(pending).description, "visits": try await visits(firestore),
    ])
    _ = readLine()

    let recorder = AttemptRecorder(firestore)
    try await firestore.enableNetwork()
    for try await snapshot in firestore.outbox.snapshots {
      emit(["event": "drain", "left": snapshot.writes.count, "total": pending.count])
      if snapshot.writes.isEmpty { break }
    }
    try await firestore.waitForPendingWrites()
    emit(["event": "drained", "unanswered": recorder.count])
    try await firestore.terminate()
  }

  private func visits(_ firestore: Firestore) async throws -> Int {
    let snapshot = try await firestore.document("totals/visits").getDocument(source: .cache)
    return snapshot.get("visits") as? Int ?? 0
  }

  private func emit(_ event: [String: Any]) { DemoEvent.emit(event) }
}
