import Foundation
import TestSupport
import Testing

@testable import Hearth

/// A client with a backend, whose cache file is damaged while it is down.
@Suite("A client whose cache file is damaged at any page", .timeLimit(.minutes(5)))
struct DamagedPagesTests {
  private static let documentCount = 15
  private static let filler = String(repeating: "x", count: 600)

  /// One client's life with one damage.
  private struct Round {
    let name: String
    let folder: URL
    let host: String

    var file: String { folder.appendingPathComponent("\(name)/demo-hearth/(default)/cache.sqlite").path }

    func open() throws -> Firestore {
      try TestFirestore(name: name, cache: PersistentCacheSettings(directory: folder), host: host).firestore
    }

    /// Each pending write with a text that only it contains.
    var pending: [String: String] {
      Dictionary(uniqueKeysWithValues: (0..<8).map { ("\(name)-\($0)", "marker-\(name)-\($0)!") })
    }

    /// Leaves a file with documents, targets, an index and an outbox.
    func fill() async throws {
      let db = try open()
      try await db.setIndexConfiguration(
        #"{"indexes":[{"collectionGroup":"rooms","fields":[{"fieldPath":"n","order":"ASCENDING"}]}]}"#)
      try await synchronize(db)
      try await db.disableNetwork()
      for (id, marker) in pending.sorted(by: { $0.key < $1.key }) {
        db.document("outbox/\(id)").setData(["text": marker + DamagedPagesTests.filler], completion: nil)
      }
      #expect(try await db.pendingWrites().count == pending.count)
      try await db.terminate()
    }

    /// Listens until the backend has confirmed all documents. A listener that is told of the damage is added again.
    func synchronize(_ db: Firestore) async throws {
      for attempt in 1...2 {
        let (events, registration) = db.collection("rooms").record(includeMetadataChanges: true)
        defer { registration.remove() }
        do {
          while true {
            let snapshot = try await events.next().get()
            if !snapshot.metadata.isFromCache {
              return #expect(snapshot.count == DamagedPagesTests.documentCount, "\(name)")
            }
          }
        } catch let error as NSError where error.code == FirestoreErrorCode.dataLoss.rawValue && attempt == 1 {
          continue
        }
      }
    }

    /// Uses a client of the damaged file. A call that fails must say `dataLoss`, and must work the second time.
    func use() async throws {
      let db = try open()
      try await db.disableNetwork()
      try await twice { _ = try await db.collection("rooms").getDocuments(source: .cache) }
      try await twice {
        _ = try await db.collection("rooms").whereField("n", isGreaterThan: 3).order(by: "n")
          .getDocuments(source: .cache)
      }
      // With no network a write has no outcome, unless it cannot be stored.
      let outcome = Recorder<NSError?>()
      db.document("outbox/\(name)-new").setData(["text": "new"]) { outcome.record($0 as NSError?) }
      try await twice { _ = try await db.pendingWrites() }
      try await db.enableNetwork()
      if let error = try await outcome.next() {
        #expect(error.code == FirestoreErrorCode.dataLoss.rawValue, "\(name): \(error)")
        try await db.document("outbox/\(name)-new").setData(["text": "new"])
      }
      try await synchronize(db)
      try await twice { try await db.waitForPendingWrites() }
      // Some damage shows when the listener goes.
      try await synchronize(db)
      try await db.terminate()
    }

    private func twice(_ body: () async throws -> Void) async throws {
      do {
        try await body()
      } catch let error as NSError where error.code == FirestoreErrorCode.dataLoss.rawValue {
        try await body()
      }
    }
  }

  /// The ids of a collection's documents on the server. On a busy machine a stream may need longer than the 10 seconds after which a client
  /// takes itself for offline, and says so.
  private static func stored(_ collection: String, by witness: Firestore) async throws -> Set<String> {
    var stored: Set<String>?
    try await waitUntil {
      do {
        stored = Set(try await witness.collection(collection).getDocuments(source: .server).ids)
      } catch let error as NSError where error.code == FirestoreErrorCode.unavailable.rawValue {}
      return stored != nil
    }
    return try #require(stored)
  }

  @Test(
    "goes on: queries answer, new writes and all pending ones but those on the page arrive",
    arguments: PageDamage.allCases)
  func everyPage(damage: PageDamage) async throws {
    let folder = try TemporaryFolder()
    try await TestBackend.run { host in
      let witness = try TestFirestore(host: host).firestore
      for number in 0..<Self.documentCount {
        try await witness.document("rooms/\(number)").setData(["n": number, "text": Self.filler])
      }
      var page = 0
      var pageCount = 1
      while page < pageCount {
        let round = Round(name: "\(damage)-\(page + 1)", folder: folder.url, host: host)
        try await round.fill()
        let before = try Data(contentsOf: URL(fileURLWithPath: round.file))
        pageCount = before.count / PageDamage.pageBytes
        var after = before
        damage.apply(to: &after, page: page)
        try after.write(to: URL(fileURLWithPath: round.file))
        try await round.use()
        let arrived = try await Self.stored("outbox", by: witness)
        #expect(arrived.contains("\(round.name)-new"))
        for (id, marker) in round.pending where !arrived.contains(id) {
          let hit = PageDamage.replacedBytes(of: before, in: after)
          #expect(hit.range(of: Data(marker.utf8)) != nil, "\(round.name): \(id) was readable and is lost")
        }
        page += 1
      }
      #expect(pageCount > 30)
      try await witness.terminate()
    }
  }
}
