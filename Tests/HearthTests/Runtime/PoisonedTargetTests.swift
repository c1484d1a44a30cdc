import Foundation
import HearthWire
import Synchronization
import Testing

@testable import Hearth

/// The whole way, with a backend that sends a document which this release cannot understand.
@Suite("A document that cannot be understood", .timeLimit(.minutes(1)))
struct PoisonedTargetTests {
  /// Gives documents with "poison" in their names a field with a kind of value that no release knows.
  private final class Poison: AnswerInterceptor {
    let listenStreamCount = Atomic<Int>(0)
    let poisonedCount = Atomic<Int>(0)

    func callBegan(_ method: String) {
      if method == "Listen" { listenStreamCount.add(1, ordering: .relaxed) }
    }

    // Document.fields["z"], whose Value has nothing but the field 99.
    private static let field = Data([0x12, 8, 0x0a, 1, 0x7a, 0x12, 3, 0x98, 6, 1])
    private static let name = Data("poison".utf8)

    func answer(_ answer: any Sendable, to method: String) async -> any Sendable {
      if var message = answer as? Google_Firestore_V1_BatchGetDocumentsResponse, case .found? = message.result,
        message.found.range(of: Self.name) != nil
      {
        message.found += Self.field
        return message
      }
      guard var message = answer as? Google_Firestore_V1_ListenResponse, case .documentChange? = message.responseType,
        message.documentChange.document.range(of: Self.name) != nil
      else { return answer }
      message.documentChange.document += Self.field
      poisonedCount.add(1, ordering: .relaxed)
      return message
    }
  }

  @Test(
    "ends the write that a rule for conflicts must compare with it, which is kept as refused; later writes are sent")
  func comparedWrite() async throws {
    try await InterceptedServer.run(Poison()) { host in
      let other = try TestFirestore(host: host).firestore
      try await other.document("bad/poison").setData(["n": 1])
      for (number, alone) in [true, false].enumerated() {
        let client = try TestFirestore(host: host, conflictRules: [.collection("bad", .mergeFields)]).firestore
        let batch = client.batch()
        batch.setData(["n": 2], forDocument: client.document("bad/poison"))
        if !alone { batch.setData(["n": 2], forDocument: client.document("good/b")) }
        let refusal = await #expect(throws: NSError.self) { try await batch.commit() }
        #expect(refusal?.code == FirestoreErrorCode.internal.rawValue)
        #expect(try await client.rejectedWrites.writes().count == 1)
        try await client.document("good/a\(number)").setData(["n": 3])
        try await client.terminate()
      }
      #expect(try await other.collection("good").getDocuments(source: .server).ids == ["a0", "a1"])
      try await other.terminate()
    }
  }

  @Test("ends its listeners with an error; the others get their snapshots on the same stream, without pauses")
  func othersGoOn() async throws {
    let poison = Poison()
    try await InterceptedServer.run(poison) { host in
      let writer = try TestFirestore(host: host).firestore
      let reader = try TestFirestore(host: host).firestore
      try await writer.document("good/a").setData(["n": 1])
      try await writer.document("bad/a").setData(["n": 1])
      let good = reader.collection("good").record(includeMetadataChanges: true).recorder
      let bad = reader.collection("bad").record(includeMetadataChanges: true).recorder
      _ = try await good.next { (try? $0.get().metadata.isFromCache) == false }
      _ = try await bad.next { (try? $0.get().ids) == ["a"] }

      try await writer.document("bad/poison").setData(["n": 2])
      guard case .failure(let error) = try await bad.next(where: { (try? $0.get()) == nil }) else { return }
      #expect(error.code == FirestoreErrorCode.internal.rawValue)
      #expect(error.localizedDescription.contains("document_change.document"))

      // A new listener gets what is cached, then the error; five times without a pause.
      for n in 1...5 {
        let again = reader.collection("bad").record(includeMetadataChanges: true).recorder
        let ended = try await again.next { (try? $0.get()) == nil }
        #expect((try? ended.get()) == nil)
        try await writer.document("good/\(n)").setData(["n": n])
        _ = try await good.next { (try? $0.get().count) == n + 1 }
      }
      #expect(poison.poisonedCount.load(ordering: .relaxed) >= 6)
      // One stream of the reader; the writer has none.
      #expect(poison.listenStreamCount.load(ordering: .relaxed) == 1)
      // Gone from the backend, it is asked for again.
      try await writer.document("bad/poison").delete()
      let healed = reader.collection("bad").record(includeMetadataChanges: true).recorder
      let whole = try await healed.next { (try? $0.get().metadata.isFromCache) == false }
      #expect(try whole.get().ids == ["a"])
      try await writer.terminate()
      try await reader.terminate()
    }
  }
}
