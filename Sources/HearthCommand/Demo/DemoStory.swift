import Foundation
import Hearth
import HearthData

/// The chapters of the demo. Every chapter says what it does and checks what it claims.
struct DemoStory {
  let narrator: Narrator
  let backend: BackendAddress
  let folder: URL
  let project: String
  /// True if the demo has started the backend. That one recognises a repeated write.
  let isOwnServer: Bool

  /// The names of folders that are shown at the end.
  static let firstDevice = "first-device"
  static let backup = "backup"
  static let backendFolder = "backend"

  private var queuedBatchCount: Int { DemoDeviceCommand.queuedBatchCount }

  func tell() async throws {
    let cities = try City.all()
    let californian = cities.filter { $0.state == "CA" }
    let device = try Device(
      name: "first", project: project, backend: backend, cache: folder.appendingPathComponent(Self.firstDevice))
    // A client with an empty memory cache asks the backend itself, so what it reads is what arrived there.
    let witness = try Device(name: "witness", project: project, backend: backend, cache: nil)

    try await checkBackendAnswers(witness)
    try await load(cities, into: device, witness: witness)
    let listener = try await listen(on: device, expecting: californian)
    try await workOffline(on: device, listener: listener, californian: californian)
    let second = try await secondDeviceIsKilled(californian: californian.count)
    let attempts = try await networkComesBack(device: device, listener: listener, second: second)
    try await verify(witness: witness, cities: cities, attempts)

    listener.stop()
    try await device.firestore.terminate()
    try await diskIsDamaged(witness: witness)
    try await folderIsRestored(witness: witness)
    try await cacheIsShared(witness: witness, cityCount: cities.count + 1)
    try await witness.firestore.terminate()
    try await usersAreKeptApart()
  }

  /// Reads from the backend to find a wrong address: a write would wait for the backend without end, a read does not.
  private func checkBackendAnswers(_ witness: Device) async throws {
    do {
      _ = try await witness.firestore.collection("cities").limit(to: 1).getDocuments(source: .server)
    } catch FirestoreErrorCode.unavailable {
      throw DemoError(
        description:
          "no Firestore backend answers at \(backend). Start one with `hearth serve --in-memory`, or leave out --backend"
      )
    } catch {
      throw DemoError(description: "no Firestore backend answers at \(backend): \(error.localizedDescription)")
    }
  }

  private func load(_ cities: [City], into device: Device, witness: Device) async throws {
    narrator.chapter("Loading \(cities.count) cities")
    let chunkSize = 20
    for start in stride(from: 0, to: cities.count, by: chunkSize) {
      let batch = device.firestore.batch()
      for city in cities[start..<min(start + chunkSize, cities.count)] {
        batch.setData(city.documentData, forDocument: device.firestore.document("cities/\(city.id)"))
      }
      try await batch.commit()
      narrator.progress("acknowledged by the backend", done: min(start + chunkSize, cities.count), total: cities.count)
    }
    let stored = try await witness.firestore.collection("cities").getDocuments(source: .server)
    narrator.check("cities at the backend", expected: cities.count, found: stored.count)
    narrator.check(
      "their population, added up", expected: cities.reduce(0) { $0 + $1.population },
      found: stored.documents.reduce(0) { $0 + ($1.get("population") as? Int ?? 0) })
  }

  private func listen(on device: Device, expecting californian: [City]) async throws -> SnapshotRecorder {
    narrator.chapter("Listening to cities where state == CA")
    let listener = SnapshotRecorder(device.firestore.collection("cities").whereField("state", isEqualTo: "CA"))
    let snapshot = try await listener.wait(for: "a snapshot from the backend") { !$0.metadata.isFromCache }
    describe(snapshot)
    narrator.check(
      "document ids, in order", expected: californian.map(\.id).sorted(by: utf8Order),
      found: snapshot.documents.map(\.documentID))
    narrator.check("fromCache", expected: false, found: snapshot.metadata.isFromCache)
    return listener
  }

  private func workOffline(on device: Device, listener: SnapshotRecorder, californian: [City]) async throws {
    narrator.chapter("The network is cut")
    let firestore = device.firestore
    try await firestore.disableNetwork()
    let offline = try await listener.wait(for: "the listener to notice") { $0.metadata.isFromCache }
    describe(offline)
    narrator.check("cities still shown, from the cache", expected: californian.count, found: offline.count)

    let document = try await firestore.document("cities/SF").getDocument()
    narrator.say("get cities/SF: \(document.get("name") ?? "?"), fromCache=\(document.metadata.isFromCache)")
    narrator.check("a get answers from the cache", expected: true, found: document.metadata.isFromCache)

    let large = try await firestore.collection("cities").whereField("state", isEqualTo: "CA")
      .whereField("population", isGreaterThan: 500_000).order(by: "population", descending: true).getDocuments()
    narrator.check(
      "a query that was never run online", expected: expectedLargeCities(californian),
      found: large.documents.map(\.documentID))

    do {
      _ = try await firestore.document("cities/atlantis").getDocument()
      narrator.check("a document that is not cached", expected: "unavailable", found: "a snapshot")
    } catch FirestoreErrorCode.unavailable {
      narrator.check("a document that is not cached", expected: "unavailable", found: "unavailable")
    }

    firestore.document("cities/SF").updateData(["visitors": FieldValue.increment(Int64(1))], completion: nil)
    firestore.document("cities/half-moon-bay").setData(
      [
        "name": "Half Moon Bay", "state": "CA", "country": "USA", "capital": false, "population": 11_795,
        "location": GeoPoint(latitude: 37.46, longitude: -122.43), "regions": ["west_coast", "norcal"],
      ], completion: nil)
    let written = try await listener.wait(for: "the two local writes") {
      $0.documents.filter(\.metadata.hasPendingWrites).count == 2
    }
    describe(written)
    narrator.check("cities after the local writes", expected: californian.count + 1, found: written.count)
    narrator.check(
      "documents with pending writes", expected: ["SF", "half-moon-bay"],
      found: written.documents.filter(\.metadata.hasPendingWrites).map(\.documentID))
    let pending = try await firestore.pendingWrites()
    narrator.check("its outbox", expected: OutboxText(batches: 2, writes: 2), found: OutboxText(pending))
  }

  private func secondDeviceIsKilled(californian: Int) async throws -> ChildProcess {
    narrator.chapter("A second process does the same and is killed")
    let cache = folder.appendingPathComponent("second-device").path
    let arguments = ["demo-device", "--backend", backend.description, "--project", project, "--cache", cache]
    let first = try ChildProcess(arguments: arguments)
    let ready = try await first.event("ready")
    narrator.say("process \(first.identifier) has \(ready["cities"] ?? "?") cities and goes offline")
    let offline = try await first.event("offline")
    narrator.check("its listener shows", expected: californian, found: integer(offline["cities"]))
    narrator.check(
      "its get of \(offline["name"] ?? "?") is from the cache", expected: true,
      found: flag(offline["documentFromCache"]))
    let queued = try await first.event("queued")
    let outbox = OutboxText(batches: queuedBatchCount, writes: queuedBatchCount * DemoDeviceCommand.writesPerBatch)
    narrator.check("its outbox", expected: outbox.description, found: text(queued["pending"]))
    narrator.check("its counter, locally", expected: queuedBatchCount, found: integer(queued["visits"]))
    await first.killAtOnce()
    narrator.say("process \(first.identifier) was killed with SIGKILL")

    let second = try ChildProcess(arguments: arguments + ["--resume"])
    let restarted = try await second.event("restarted")
    narrator.say("process \(second.identifier) opened the same cache, the network is still off")
    narrator.check("cities in its cache", expected: californian, found: integer(restarted["cities"]))
    narrator.check("what survived in its outbox", expected: outbox.description, found: text(restarted["pending"]))
    narrator.check("its counter after the restart", expected: queuedBatchCount, found: integer(restarted["visits"]))
    return second
  }

  /// The attempts of both devices that ended without an answer.
  private struct UnansweredAttempts {
    var first: Int
    var second: Int
  }

  private func networkComesBack(
    device: Device, listener: SnapshotRecorder, second: ChildProcess
  ) async throws -> UnansweredAttempts {
    narrator.chapter("The network is back")
    second.send("online")
    let (status, unanswered) = try await waitForDrain(of: second)
    narrator.check("the second process drained its outbox and ended with status", expected: 0, found: status)

    let recorder = AttemptRecorder(device.firestore)
    try await device.firestore.enableNetwork()
    try await device.firestore.waitForPendingWrites()
    narrator.check("the first device's outbox", expected: 0, found: try await device.firestore.pendingWrites().count)
    let synced = try await listener.wait(for: "both devices' changes from the backend") { snapshot in
      !snapshot.metadata.isFromCache && !snapshot.metadata.hasPendingWrites
        && snapshot.documents.contains { ($0.get("visitors") as? Int ?? 0) >= queuedBatchCount }
    }
    describe(synced)
    let angeles = synced.documents.first { $0.documentID == "LA" }
    checkCounter(
      "the second device's increments, seen by the first device's listener", expected: queuedBatchCount,
      found: angeles?.get("visitors") as? Int ?? 0, unanswered: unanswered)
    return UnansweredAttempts(first: recorder.count, second: unanswered)
  }

  /// Shows the outbox of the second process getting shorter, until the process has ended.
  private func waitForDrain(of process: ChildProcess) async throws -> (status: Int32, unanswered: Int) {
    let end = Task { await process.exit() }
    let drained = try await waitUntil("the second process to drain its outbox") {
      for event in process.drain("drain") {
        guard let left = event["left"] as? Int, let total = event["total"] as? Int else { continue }
        narrator.progress("outbox of the second process", done: total - left, total: total)
      }
      return process.drain("drained").first
    }
    return (await end.value, integer(drained["unanswered"]))
  }

  private func verify(witness: Device, cities: [City], _ attempts: UnansweredAttempts) async throws {
    narrator.chapter("Asking the backend itself")
    let firestore = witness.firestore
    let totals = try await firestore.document("totals/visits").getDocument(source: .server)
    checkCounter(
      "the counter: every increment arrived exactly once", expected: queuedBatchCount,
      found: totals.get("visits") as? Int ?? 0, unanswered: attempts.second)
    narrator.check(
      "the order of arrival", expected: Array(1...queuedBatchCount), found: totals.get("order") as? [Int] ?? [])
    let journal = try await firestore.collection("journal").order(by: "number").getDocuments(source: .server)
    narrator.check(
      "journal entries", expected: Array(1...queuedBatchCount),
      found: journal.documents.compactMap { $0.get("number") as? Int })
    let sanFrancisco = try await firestore.document("cities/SF").getDocument(source: .server)
    checkCounter(
      "the first device's increment", expected: 1, found: sanFrancisco.get("visitors") as? Int ?? 0,
      unanswered: attempts.first)
    let all = try await firestore.collection("cities").getDocuments(source: .server)
    narrator.check("cities at the backend, the new one included", expected: cities.count + 1, found: all.count)
  }

  /// Checks a counter that each write has incremented once. A backend without memory may also have counted each attempt that ended without an
  /// answer.
  func checkCounter(_ what: String, expected: Int, found: Int, unanswered: Int) {
    guard unanswered > 0, !isOwnServer else { return narrator.check(what, expected: expected, found: found) }
    narrator.say(
      "\(ProgressText.count(unanswered, "attempt")) ended without an answer, and this backend does not recognise what it gets again"
    )
    let isPossible = (expected...expected + unanswered).contains(found)
    narrator.check("\(what), or again after such an attempt (\(found))", expected: true, found: isPossible)
  }

  private func describe(_ snapshot: QuerySnapshot) {
    let sample = snapshot.documents.prefix(3).map { document in
      "\(document.get("name") ?? document.documentID)\(document.metadata.hasPendingWrites ? " (pending)" : "")"
    }
    narrator.say(
      "snapshot: \(snapshot.count) cities, fromCache=\(snapshot.metadata.isFromCache), "
        + "hasPendingWrites=\(snapshot.metadata.hasPendingWrites): \(sample.joined(separator: ", ")) …")
  }

  private func expectedLargeCities(_ cities: [City]) -> [String] {
    cities.filter { $0.population > 500_000 }.sorted { $0.population > $1.population }.map(\.id)
  }

  private func utf8Order(_ first: String, _ second: String) -> Bool {
    first.utf8.lexicographicallyPrecedes(second.utf8)
  }

  private func text(_ value: Any?) -> String { value as? String ?? "nothing" }
  private func integer(_ value: Any?) -> Int { value as? Int ?? -1 }
  private func flag(_ value: Any?) -> Bool { value as? Bool ?? false }
}
