import Foundation
import Hearth

/// The chapters in which something happens to a device's cache while its process is down.
extension DemoStory {
  /// Batches of two writes, see ``Device/write(entry:of:)``.
  private static let batchCount = 20

  private static func outbox(batches: Int) -> OutboxText { OutboxText(batches: batches, writes: 2 * batches) }

  func diskIsDamaged(witness: Device) async throws {
    narrator.chapter("The disk is damaged")
    let cache = folder.appendingPathComponent("third-device")
    try await queueWrites(numbers: 1...Self.batchCount, named: "third", cache: cache)
    narrator.say("a device has \(Self.outbox(batches: Self.batchCount)) in its outbox and is switched off")

    try overwriteFirstPage(of: cacheFile(in: cache))
    narrator.say("8 KiB of its cache file are overwritten: the page that says where everything lies")

    let device = try Device(name: "third", project: project, backend: backend, cache: cache)
    let recorder = AttemptRecorder(device.firestore)
    narrator.check(
      "saved from the damaged file", expected: Self.outbox(batches: Self.batchCount),
      found: OutboxText(try await device.firestore.pendingWrites()))
    try await device.firestore.waitForPendingWrites()
    try await verify("third", numbers: Array(1...Self.batchCount), witness: witness, unanswered: recorder.count)
    let cities = try await device.firestore.collection("cities").getDocuments()
    let expected = try await witness.firestore.collection("cities").getDocuments(source: .server)
    narrator.check("cities that the device has again", expected: expected.count, found: cities.count)
    try await device.firestore.terminate()
  }

  func folderIsRestored(witness: Device) async throws {
    narrator.chapter("The folder was restored from a backup")
    let cache = folder.appendingPathComponent("fourth-device")
    let backup = folder.appendingPathComponent(Self.backup)
    let half = Self.batchCount / 2
    try await queueWrites(numbers: 1...half, named: "fourth", cache: cache)
    try FileManager.default.copyItem(at: cache, to: backup)
    narrator.say("a backup is made of a cache with \(Self.outbox(batches: half)) in its outbox")

    let online = try Device(name: "fourth", project: project, backend: backend, cache: cache)
    let recorder = AttemptRecorder(online.firestore)
    try await online.firestore.waitForPendingWrites()
    try await verify("fourth", numbers: Array(1...half), witness: witness, unanswered: recorder.count)
    try await online.firestore.terminate()

    try FileManager.default.removeItem(at: cache)
    try FileManager.default.copyItem(at: backup, to: cache)
    narrator.say("the folder is put back, with the batches that have arrived long ago, and the device writes on")
    try await queueWrites(numbers: (half + 1)...Self.batchCount, named: "fourth", cache: cache)
    let restored = try Device(name: "fourth", project: project, backend: backend, cache: cache)
    try await restored.firestore.waitForPendingWrites()
    try await restored.firestore.terminate()
    if isOwnServer {
      try await verify("fourth", numbers: Array(1...Self.batchCount), witness: witness)
    } else {
      // Another backend does not know a write that it gets again.
      try await verifyEntries("fourth", numbers: Array(1...Self.batchCount), witness: witness)
    }
  }

  // MARK: - What a device does

  /// Writes without a network, each an entry and an increment, and ends the client in good order.
  private func queueWrites(numbers: ClosedRange<Int>, named name: String, cache: URL) async throws {
    let device = try Device(name: name, project: project, backend: backend, cache: cache)
    let firestore = device.firestore
    if numbers.lowerBound == 1 { _ = try await firestore.collection("cities").getDocuments() }
    try await firestore.disableNetwork()
    for number in numbers { device.write(entry: number, of: name) }
    _ = try await firestore.pendingWrites()
    try await firestore.terminate()
  }

  func verify(_ name: String, numbers: [Int], witness: Device, unanswered: Int = 0) async throws {
    try await verifyEntries(name, numbers: numbers, witness: witness)
    let total = try await witness.firestore.document("totals/\(name)").getDocument(source: .server)
    checkCounter(
      "its counter: every increment arrived exactly once", expected: numbers.count,
      found: total.get("count") as? Int ?? 0, unanswered: unanswered)
  }

  func verifyEntries(_ name: String, numbers: [Int], witness: Device) async throws {
    let journal = try await witness.firestore.collection("\(name)-journal").order(by: "number")
      .getDocuments(source: .server)
    narrator.check(
      "its writes at the backend", expected: numbers,
      found: journal.documents.compactMap { $0.get("number") as? Int })
  }

  // MARK: - What happens to the file

  private func cacheFile(in folder: URL) throws -> URL {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      if file.lastPathComponent == "cache.sqlite" { return file }
    }
    throw DemoError(description: "there is no cache file below \(folder.path)")
  }

  private func overwriteFirstPage(of file: URL) throws {
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    try handle.write(contentsOf: Data(repeating: 0xA5, count: 8192))
  }
}
