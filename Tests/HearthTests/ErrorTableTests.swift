import Foundation
import HearthModel
import Testing

@testable import Hearth

/// Every error that the client itself raises, as applications see it on every platform.
@Suite("Errors of the client", .timeLimit(.minutes(2)))
struct ErrorTableTests {
  struct Row: Sendable {
    let name: String
    let code: FirestoreErrorCode.Code
    let message: String
    let call: @Sendable (Firestore) async throws -> Void
  }

  static let rows: [Row] = [
    Row(name: "empty bundle", code: .unknown, message: "The bundle is empty.") { _ = try await $0.loadBundle(Data()) },
    Row(name: "no bundle", code: .invalidArgument, message: "Bundle element 1, at byte 0") {
      _ = try await $0.loadBundle(Data("x".utf8))
    },
    Row(name: "index configuration", code: .invalidArgument, message: "Invalid Json format.") {
      try await $0.setIndexConfiguration("{indexes: [...]}")
    },
    Row(name: "index field", code: .invalidArgument, message: "indexes[0].fields[0].fieldPath") {
      try await $0.setIndexConfiguration(
        indexes: [FirestoreIndex(collectionGroup: "a", fields: [.init(fieldPath: "a..b", order: .ascending)])])
    },
    Row(name: "write that cannot be sent", code: .invalidArgument, message: "The largest document in it is a/b with") {
      try await $0.document("a/b").setData(["x": Data(count: 18 * 1024 * 1024)])
    },
    Row(
      name: "transaction that reads after a write", code: .invalidArgument,
      message: "Firestore transactions require all reads to be executed before all writes."
    ) { db in
      _ = try await db.runTransaction { transaction, error in
        transaction.setData([:], forDocument: db.document("a/b"))
        do { _ = try transaction.getDocument(db.document("a/c")) } catch let failure {
          error?.pointee = failure as NSError
        }
        return nil
      }
    },
    Row(
      name: "clearing while running", code: .failedPrecondition,
      message: "Persistence cannot be cleared while the client is running."
    ) { try await $0.clearPersistence() },
    Row(name: "persistence too late", code: .failedPrecondition, message: "Firestore has already been started") {
      try await $0.enablePersistence()
    },
    Row(
      name: "uncached document", code: .unavailable,
      message: "Failed to get document because the client is offline."
    ) { try await $0.document("a/b").getDocument() },
    Row(name: "uncached document from the cache", code: .unavailable, message: "Failed to get document from cache.") {
      try await $0.document("a/b").getDocument(source: .cache)
    },
    Row(name: "document from the server", code: .unavailable, message: "offline") {
      try await $0.document("a/b").getDocument(source: .server)
    },
    Row(name: "query from the server", code: .unavailable, message: "Failed to get documents from server.") {
      try await $0.collection("a").getDocuments(source: .server)
    },
    Row(name: "aggregation", code: .unavailable, message: "Failed to get result from server.") {
      _ = try await $0.collection("a").count.getAggregation(source: .server)
    },
  ]

  @Test("are NSErrors of the official domain, code and text", arguments: rows)
  func table(row: Row) async throws {
    let db = try await TestFirestore.offline(cache: MemoryCacheSettings())
    let folder = try TemporaryFolder()
    let persistent = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    for client in [db, persistent] {
      do {
        try await row.call(client)
        Issue.record("\(row.name): no error")
      } catch let error as NSError {
        #expect(type(of: error as any Error) is NSError.Type, "\(row.name)")
        #expect(error.domain == "FIRFirestoreErrorDomain", "\(row.name)")
        #expect(error.code == row.code.rawValue, "\(row.name): \(error)")
        #expect(error.localizedDescription.contains(row.message), "\(row.name): \(error)")
        #expect(error.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription, "\(row.name)")
        #expect(!error.localizedDescription.isEmpty)
        #expect(row.code ~= (error as any Error))
      }
    }
    try await db.terminate()
    try await persistent.terminate()
  }

  @Test("codes have the official numbers")
  func numbers() {
    let codes: [FirestoreErrorCode.Code] = [
      .OK, .cancelled, .unknown, .invalidArgument, .deadlineExceeded, .notFound, .alreadyExists, .permissionDenied,
      .resourceExhausted, .failedPrecondition, .aborted, .outOfRange, .unimplemented, .internal, .unavailable,
      .dataLoss,
      .unauthenticated,
    ]
    #expect(codes.map(\.rawValue) == Array(0...16))
    #expect(FirestoreErrorCode.Code.ok == .OK)
    #expect(FirestoreErrorDomain == "FIRFirestoreErrorDomain")
  }

  @Test("a status of the backend keeps its code and message, and is there below the NSError")
  func backend() throws {
    for code in 1...16 {
      let status = StatusError(code: try #require(StatusCode(rawValue: code)), message: "why \(code)")
      let error = NSError.firestore(status)
      #expect(error.domain == FirestoreErrorDomain && error.code == code && error.localizedDescription == "why \(code)")
      #expect(error.userInfo[NSUnderlyingErrorKey] != nil)
    }
  }
}
