import Foundation
import Synchronization
import Testing

@testable import Hearth

/// Rules for conflicts, through the public API and the embedded server.
@Suite("Rules for conflicts", .timeLimit(.minutes(2)))
struct ConflictRuleTests {
  private let path = "notes/a"

  /// Edits a document on a device offline while another device changes it.
  private func withConflict(
    _ resolver: ConflictResolver, cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings(),
    name: String = UUID().uuidString,
    _ body: (_ db: Firestore, _ other: Firestore, _ receipt: WriteReceipt, _ host: String) async throws -> Void
  ) async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(
        name: name, cache: cache, host: host, conflictRules: [.document(path, resolver)]
      ).firestore
      let other = try TestFirestore(host: host).firestore
      try await other.document(path).setData(["text": "draft"])
      _ = try await db.document(path).getDocument(source: .server)
      try await db.disableNetwork()
      let receipt = db.document(path).withReceipt.updateData(["text": "mine"])
      try await receipt.saved()
      try await other.document(path).setData(["text": "theirs", "other": true])
      try await body(db, other, receipt, host)
      try await db.terminate()
      try await other.terminate()
    }
  }

  private func text(_ db: Firestore) async throws -> String? {
    try await db.document(path).getDocument(source: .server)["text"] as? String
  }

  /// The first state of the outbox's only write in which it is blocked by a conflict with an error.
  private func failure(of db: Firestore) async throws -> NSError? {
    for try await snapshot in db.outbox.snapshots {
      guard case .blocked(.conflict(let paths, let error?))? = snapshot.writes.first?.state else { continue }
      #expect(paths == [path])
      return error
    }
    return nil
  }

  @Test("the resolver sees base, local and remote, and each of its answers is carried out")
  func answers() async throws {
    let answers: [(@Sendable (Conflict) throws -> ConflictResolution, String)] = [
      ({ _ in .keepLocal }, "mine"), ({ _ in .keepRemote }, "theirs"),
      ({ _ in .merged(["text": .string("both")]) }, "both"),
      (
        { conflict in
          .written(
            by: conflict.document.firestore.batch().setData(["text": "batch"], forDocument: conflict.document)
              .setData(["text": "copy"], forDocument: conflict.document.parent.document("copy")))
        }, "batch"
      ),
    ]
    for (answer, expected) in answers {
      let seen = Mutex<[String]>([])
      let resolver = ConflictResolver.custom { conflict in
        seen.withLock {
          $0.append(
            "\([conflict.base, conflict.local, conflict.remote].map { $0?["text"] as? String ?? "none" })")
        }
        return try answer(conflict)
      }
      try await withConflict(resolver) { db, other, receipt, _ in
        try await db.enableNetwork()
        if expected == "theirs" {
          let error = await #expect(throws: (any Error).self) { try await receipt.acknowledged() }
          #expect((error as NSError?)?.code == FirestoreErrorCode.aborted.rawValue)
          #expect(try await db.rejectedWrites.writes().isEmpty)
        } else {
          try await receipt.acknowledged()
        }
        #expect(try await text(other) == expected)
        #expect(seen.withLock { $0 } == [#"["draft", "mine", "theirs"]"#])
        let copy = try await other.document("notes/copy").getDocument(source: .server)
        #expect(copy.exists == (expected == "batch"))
      }
    }
  }

  @Test("without a rule the last write wins, as before")
  func withoutARule() async throws {
    try await withConflict(.mergeFields) { _, other, _, host in
      let plain = try TestFirestore(host: host).firestore
      try await plain.document(path).setData(["text": "plain"])
      #expect(try await text(other) == "plain")
      try await plain.terminate()
    }
  }

  @Test("a resolver that throws leaves the write where it is, with its error, until it is asked again")
  func throwing() async throws {
    struct NoIdea: Error {}
    let isWilling = Mutex(false)
    let resolver = ConflictResolver.custom { _ in
      guard isWilling.withLock({ $0 }) else { throw NoIdea() }
      return .keepLocal
    }
    try await withConflict(resolver) { db, other, receipt, _ in
      try await db.enableNetwork()
      let error = try #require(try await failure(of: db))
      #expect(error.localizedDescription.contains(path) && error.localizedDescription.contains("NoIdea"))
      #expect(try await text(other) == "theirs")
      isWilling.withLock { $0 = true }
      try await db.outbox.retryNow()
      try await receipt.acknowledged()
      #expect(try await text(other) == "mine")
    }
  }

  @Test("a resolver that never answers is given up after its time")
  func silent() async throws {
    let resolver = ConflictResolver.custom(within: .milliseconds(50)) { _ in
      // Ignores that it is cancelled, as code of others may.
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        DispatchQueue.global().asyncAfter(deadline: .now() + 3600) { continuation.resume() }
      }
      return .keepLocal
    }
    try await withConflict(resolver) { db, _, _, _ in
      try await db.enableNetwork()
      let error = try #require(try await failure(of: db))
      #expect(error.code == FirestoreErrorCode.deadlineExceeded.rawValue)
      let write = try #require(try await db.outbox.writes().first)
      let refusal = await #expect(throws: NSError.self) { try await db.outbox.cancel(write.id) }
      #expect(
        refusal?.localizedDescription
          == "Write \(write.id) cannot be cancelled: the backend has another version of its document, and no resolver has "
          + "settled the conflict. `evenIfSent: true` cancels it all the same.")
      try await db.outbox.cancel(write.id, evenIfSent: true)
      #expect(try await db.outbox.count() == 0)
    }
  }

  @Test("an answer that cannot be written is an error that names the document")
  func badAnswers() async throws {
    let stranger = try TestFirestore().firestore
    let answers: [@Sendable (Conflict) -> ConflictResolution] = [
      { _ in .merged(["text": .delete]) },
      { conflict in
        .written(
          by: conflict.document.firestore.batch().setData(
            [:], forDocument: conflict.document.parent.document("elsewhere")))
      },
      { [stranger] _ in .written(by: stranger.batch().setData([:], forDocument: stranger.document("notes/a"))) },
    ]
    for answer in answers {
      try await withConflict(.custom { conflict in answer(conflict) }) { db, other, _, _ in
        try await db.enableNetwork()
        let error = try #require(try await failure(of: db))
        #expect(error.code == FirestoreErrorCode.invalidArgument.rawValue)
        #expect(error.localizedDescription.contains(path))
        #expect(try await text(other) == "theirs")
        #expect(try await db.outbox.count() == 1)
      }
    }
    try await stranger.terminate()
  }

  @Test("a conflict survives a restart of the program")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let (cache, name) = (PersistentCacheSettings(directory: folder.url), UUID().uuidString)
    try await withConflict(.mergeFields, cache: cache, name: name) { db, other, receipt, host in
      try await db.terminate()
      let again = try TestFirestore(
        name: name, cache: cache, host: host, conflictRules: [.collectionGroup("notes", .mergeFields)]
      ).firestore
      try await #require(try await again.receipt(for: receipt.id)).acknowledged()
      let data = try #require(try await other.document(path).getDocument(source: .server).data())
      #expect(data as NSDictionary == ["text": "mine", "other": true] as NSDictionary)
      try await again.terminate()
    }
  }

  @Test("settings with the same rules are equal")
  func equality() {
    let (a, b) = (FirestoreSettings(), FirestoreSettings())
    a.conflictRules = [.collection("notes", .lastWriter(by: "at")), .document("a/b", .keepBoth)]
    #expect(a != b)
    b.conflictRules = a.conflictRules
    #expect(a == b && (a.copy() as? FirestoreSettings) == b)
    a.conflictRules = [.collection("notes", .custom { _ in .keepLocal })]
    b.conflictRules = [.collection("notes", .custom { _ in .keepLocal })]
    #expect(a != b)
    #expect(a.conflictRules.map(\.description) == ["collection notes: ask the program"])
  }
}
