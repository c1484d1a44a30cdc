import Foundation
import HearthServer
import Testing

@testable import Hearth

/// Reads with open listeners, and with another client that writes.
@Suite("Reads from the server", .timeLimit(.minutes(2)))
struct ServerReadTests {
  /// Two clients of one project; the document `users/u` exists.
  private func run(_ body: (_ db: Firestore, _ other: Firestore) async throws -> Void) async throws {
    try await TestBackend.run { host in
      let (db, other) = (try TestFirestore(host: host).firestore, try TestFirestore(host: host).firestore)
      try await other.document("users/u").setData(["n": 0])
      try await body(db, other)
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("a listener to the cache of what was read before is told of an acknowledgement at once")
  func acknowledgementAfterRead() async throws {
    try await run { db, _ in
      let users = db.collection("users")
      for query in [users, users.order(by: "n").limit(to: 1), db.collectionGroup("users").limit(to: 2)] as [Query] {
        #expect(try await query.getDocuments().count == 1)
        let (events, registration) = query.record(includeMetadataChanges: true, source: .cache)
        _ = try await events.next()
        try await db.document("users/u").updateData(["n": FieldValue.increment(1.0)])
        let isPending = try await events.next().get().metadata.hasPendingWrites
        #expect(isPending)
        let told = try await events.next().get()
        #expect(!told.metadata.hasPendingWrites && told.documents.allSatisfy { !$0.metadata.hasPendingWrites })
        #expect(try await !query.getDocuments(source: .cache).metadata.hasPendingWrites)
        registration.remove()
      }
    }
  }

  @Test("a read alongside an open listener has what was written before it began")
  func openListeners() async throws {
    try await run { db, other in
      let users = db.collection("users")
      let document = db.document("users/u")
      let (events, _) = users.record(includeMetadataChanges: true)
      let (documentEvents, _) = document.record(includeMetadataChanges: true)
      while try await events.next().get().metadata.isFromCache {}
      while try await documentEvents.next().get().metadata.isFromCache {}
      for n in 1...5 {
        try await other.document("users/u").setData(["n": n])
        let read = try await users.getDocuments(source: .server)
        #expect(read.documents.first?.get("n") as? Int == n && !read.metadata.isFromCache)
        try await other.document("users/u").setData(["n": -n])
        #expect(try await document.getDocument(source: .server).get("n") as? Int == -n)
        try await other.document("users/u").setData(["n": 100 + n])
        #expect(try await document.getDocument(policy: .server(within: .seconds(30))).get("n") as? Int == 100 + n)
      }
      // The listeners are where they were.
      try await other.document("users/u").setData(["n": 1_000])
      while try await events.next().get().documents.first?.get("n") as? Int != 1_000 {}
    }
  }

  @Test("a read after another has gone asks the backend, although a listener to the cache is open")
  func listenerToCache() async throws {
    try await run { db, other in
      let users = db.collection("users")
      let (events, _) = users.record(includeMetadataChanges: true, source: .cache)
      _ = try await users.getDocuments()
      try await other.document("users/u").setData(["n": 1])
      for source in [FirestoreSource.default, .server] {
        let read = try await users.getDocuments(source: source)
        #expect(read.documents.first?.get("n") as? Int == 1 && !read.metadata.isFromCache)
      }
      try await users.prefetch()
      #expect(events.events.allSatisfy { $0.failure == nil })
    }
  }

  @Test("a listener to the cache is told of an acknowledgement and of the server's time")
  func acknowledgement() async throws {
    try await run { db, _ in
      let (events, _) = db.collection("notes").record(includeMetadataChanges: true, source: .cache)
      try await db.document("notes/n").setData(["at": FieldValue.serverTimestamp()])
      while true {
        let snapshot = try await events.next().get()
        guard let note = snapshot.documents.first, !snapshot.metadata.hasPendingWrites else { continue }
        #expect(note.get("at") is Timestamp && snapshot.metadata.isFromCache)
        break
      }
    }
  }
}
