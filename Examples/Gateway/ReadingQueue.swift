import Foundation
import Hearth

/// The readings that this gateway has taken and not sent. They are the outbox of its database.
struct ReadingQueue {
  let database: Firestore
  let sensor: String
  private let policy: ThinningPolicy
  private var ids: ReadingIDs

  init(database: Firestore, sensor: String, keep: Int) {
    self.database = database
    self.sensor = sensor
    policy = ThinningPolicy(keep: keep)
    ids = ReadingIDs(sensor: sensor)
  }

  /// Stores a reading, and counts it in the sensor's document, as one write.
  ///
  /// - Returns: The reading's id, when the reading is safe on this device. The backend gets it later.
  mutating func store(_ celsius: Double) async throws -> String {
    let id = ids.next()
    let batch = database.batch()
    batch.setData(
      ["sensor": sensor, "celsius": celsius, "takenAt": Timestamp(date: Date())],
      forDocument: database.collection("readings").document(id))
    batch.setData(
      ["readings": FieldValue.increment(Int64(1)), "celsius": celsius],
      forDocument: database.collection("sensors").document(sensor), merge: true)
    try await batch.commitWithReceipt().saved()
    return id
  }

  /// Drops readings by the policy while too many wait, and says which.
  func thinOut() async throws {
    while try await database.outbox.count() > policy.keep {
      let chosen = policy.choose(from: try await database.outbox.writes())
      // Said before, so that the log has no gap if the power fails in between.
      say("dropping " + chosen.map(readingID).joined(separator: " "))
      var dropped = 0
      for write in chosen {
        do {
          try await database.outbox.cancel(write.id)
          dropped += 1
        } catch FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.notFound {
          // It is on its way to the backend, or there already: it need not be dropped.
        }
      }
      say("dropped \(dropped), \(try await database.outbox.count()) wait")
      // The rest is being sent; it is looked at again after the next reading.
      if dropped == 0 { return }
    }
  }

  /// Waits until the backend has everything.
  ///
  /// - Returns: The number of readings that wait when it has, or when the time is over.
  func send(within limit: Duration) async throws -> Int {
    let outbox = database.outbox
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for try await snapshot in outbox.snapshots where snapshot.writes.isEmpty { return } }
      group.addTask { try await Task.sleep(for: limit) }
      try await group.next()
      group.cancelAll()
    }
    return try await outbox.count()
  }

  private func readingID(_ write: PendingWrite) -> String {
    let path = write.operations.first?.documentPath ?? ""
    return path.split(separator: "/").last.map(String.init) ?? path
  }
}
