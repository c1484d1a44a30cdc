import Foundation
import Hearth
import InteropSupport
import Testing

/// Rules for conflicts, with backends that only know preconditions.
extension ClientContract {
  func conflicts(_ port: Int, _ project: String) async throws {
    let rules: [Hearth.ConflictRule] = [.collection("merged", .mergeFields), .collection("copied", .keepBoth)]
    let first = try InteropClient(port: port, project: project, conflictRules: rules)
    let second = try InteropClient(port: port, project: project, conflictRules: rules)
    let (merged, copied) = ("merged/todo", "copied/note")
    try await first.document(merged).setData(["title": "tea", "done": false, "votes": 1])
    try await first.document(copied).setData(["text": "draft"])
    for client in [first, second] {
      for path in [merged, copied] { _ = try await client.document(path).getDocument(source: .server) }
      try await client.firestore.disableNetwork()
    }
    first.document(merged).updateData(["done": true, "votes": FieldValue.increment(Int64(1))], completion: nil)
    first.document(copied).setData(["text": "first"], completion: nil)
    // The whole document, as the second device sees it.
    second.document(merged).setData(["title": "green tea", "done": false, "votes": 1], completion: nil)
    second.document(merged).updateData(["votes": FieldValue.increment(Int64(1))], completion: nil)
    second.document(copied).setData(["text": "second"], completion: nil)
    second.document(copied).updateData(["signed": true], completion: nil)
    for client in [first, second] {
      try await client.firestore.enableNetwork()
      try await client.firestore.waitForPendingWrites()
    }
    let todo = try #require(try await first.document(merged).getDocument(source: .server).data())
    #expect(todo as NSDictionary == ["title": "green tea", "done": true, "votes": 3] as NSDictionary)
    let notes = try await first.collection("copied").getDocuments(source: .server).documents
    #expect(notes.count == 2)
    #expect(notes.first { $0.documentID == "note" }?.data() as NSDictionary? == ["text": "first"])
    #expect(
      notes.first { $0.documentID.hasPrefix("note~") }?.data() as NSDictionary? == ["text": "second", "signed": true])

    // Both delete or create what the other one knows otherwise.
    for client in [first, second] { try await client.firestore.disableNetwork() }
    first.document(merged).delete(completion: nil)
    second.document(merged).updateData(["title": "black tea"], completion: nil)
    first.document("merged/new").setData(["a": 1], completion: nil)
    second.document("merged/new").setData(["b": 2], completion: nil)
    for client in [first, second] {
      try await client.firestore.enableNetwork()
      try await client.firestore.waitForPendingWrites()
    }
    #expect(try await first.document(merged).getDocument(source: .server)["title"] as? String == "black tea")
    let new = try #require(try await first.document("merged/new").getDocument(source: .server).data())
    #expect(new as NSDictionary == ["a": 1, "b": 2] as NSDictionary)
    for client in [first, second] { try await client.firestore.terminate() }
  }
}
