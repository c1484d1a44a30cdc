import Foundation
import Testing

@testable import Hearth

/// The network decides whether a document exists, has a field, or waits for the server's time.
@Suite("Cursors at documents that have no place in the order", .timeLimit(.minutes(1)))
struct CursorDocumentTests {
  private static let beginning = "Invalid query. You are trying to start or end a query using "

  private func bounded(_ query: Hearth.Query, _ document: DocumentSnapshot) -> [Hearth.Query] {
    [
      query.start(atDocument: document), query.start(afterDocument: document), query.end(beforeDocument: document),
      query.end(atDocument: document),
    ]
  }

  /// The messages of all documents without a place, in a collection `a` ordered by `t`.
  private func unusable(_ db: Firestore) async throws -> [(message: String, document: DocumentSnapshot)] {
    db.document("a/plain").setData(["n": 1], completion: nil)
    db.document("a/waiting").setData(["t": FieldValue.serverTimestamp()], completion: nil)
    db.document("a/gone").delete(completion: nil)
    let texts = [
      ("gone", "a document that doesn't exist."),
      ("plain", "a document for which the field 't' (used as the order by) does not exist."),
      (
        "waiting",
        "a document for which the field 't' is an uncommitted server timestamp. (Since the value of this field is unknown, "
          + "you cannot start/end a query with it.)"
      ),
    ]
    var table: [(String, DocumentSnapshot)] = []
    for (id, text) in texts {
      table.append((Self.beginning + text, try await db.document("a/\(id)").getDocument(source: .cache)))
    }
    return table
  }

  private func expect(_ error: NSError?, _ message: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(error?.domain == FirestoreErrorDomain, sourceLocation: sourceLocation)
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue, sourceLocation: sourceLocation)
    #expect(error?.localizedDescription == message, sourceLocation: sourceLocation)
  }

  @Test("reads and listeners get the official message as an error")
  func readsAndListeners() async throws {
    let db = try await TestFirestore.offline()
    for (message, document) in try await unusable(db) {
      for query in bounded(db.collection("a").order(by: "t"), document) {
        for source in [FirestoreSource.default, .server, .cache] {
          expect(await thrown { try await query.getDocuments(source: source) }, message)
        }
        let (events, _) = query.record()
        expect(try await events.next().failure, message)
        expect(await thrown { for try await _ in query.snapshots {} }, message)
      }
    }
    try await db.terminate()
  }

  @Test("so do queries that are made of it, and everything else that runs a query")
  func everythingElse() async throws {
    let db = try await TestFirestore.offline()
    for (message, document) in try await unusable(db) {
      let query = db.collection("a").order(by: "t").start(afterDocument: document).whereField("n", isEqualTo: 1).limit(
        to: 3)
      let completion = await withCheckedContinuation { continuation in
        query.getDocuments { _, error in continuation.resume(returning: error as NSError?) }
      }
      expect(completion, message)
      for policy in [ReadPolicy.cacheFirst, .cacheElseServer, .server(within: .seconds(1))] {
        expect(await thrown { _ = try await query.getDocuments(policy: policy) }, message)
      }
      for source in [AggregateSource.server, .cache, .default] {
        expect(await thrown { try await query.count.getAggregation(source: source) }, message)
      }
      expect(await thrown { for try await _ in query.count.snapshots {} }, message)
      expect(await thrown { try await query.prefetch() }, message)
      expect(await thrown { try await query.pin() }, message)
      expect(await thrown { _ = try await query.explain() }, message)
      expect(await thrown { _ = try await db.clearCache(.query(query)) }, message)
      #expect(query != db.collection("a").order(by: "t").whereField("n", isEqualTo: 1).limit(to: 3))
    }
    try await db.terminate()
  }

  @Test("a document with the server's time can be used")
  func usable() async throws {
    let db = try await TestFirestore.offline()
    for id in ["x", "y"] { db.document("a/\(id)").setData(["t": id], completion: nil) }
    let document = try await db.document("a/x").getDocument(source: .cache)
    #expect(
      try await db.collection("a").order(by: "t").start(afterDocument: document).getDocuments(source: .cache).ids == [
        "y"
      ])
  }
}
