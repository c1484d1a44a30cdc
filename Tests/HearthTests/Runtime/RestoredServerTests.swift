import Foundation
import HearthServer
import Testing

@testable import Hearth

@Suite("A server that was restored from a copy", .timeLimit(.minutes(2)))
struct RestoredServerTests {
  private func numbers(_ snapshot: QuerySnapshot) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: snapshot.documents.map { ($0.documentID, $0["n"] as? Int ?? 0) })
  }

  @Test("clients show what the server has, not what it has lost, although nobody writes", arguments: [true, false])
  func restored(listensOn: Bool) async throws {
    let folder = try TemporaryFolder()
    let (data, copy) = (folder.url.appendingPathComponent("data"), folder.url.appendingPathComponent("copy"))
    var server = try await TestServer.start(folder: data)
    let port = server.port
    let firestore = try TestFirestore(
      cache: PersistentCacheSettings(directory: folder.url.appendingPathComponent("cache")),
      host: server.address
    ).firestore
    let notes = firestore.collection("notes")
    for (id, number) in [("changed", 1), ("deleted", 1), ("kept", 1)] {
      try await notes.document(id).setData(["n": number])
    }
    await server.stop()
    try FileManager.default.copyItem(at: data, to: copy)

    server = try await TestServer.start(folder: data, port: port)
    let (events, registration) = notes.record(includeMetadataChanges: true)
    try await notes.document("changed").setData(["n": 2])
    try await notes.document("new").setData(["n": 1])
    try await notes.document("deleted").delete()
    let later = ["changed": 2, "new": 1, "kept": 1]
    _ = try await events.next { event in
      guard let snapshot = try? event.get(), !snapshot.metadata.isFromCache else { return false }
      return numbers(snapshot) == later && !snapshot.metadata.hasPendingWrites
    }
    if !listensOn { registration.remove() }
    await server.stop()
    try FileManager.default.removeItem(at: data)
    try FileManager.default.copyItem(at: copy, to: data)

    server = try await TestServer.start(folder: data, port: port)
    let earlier = ["changed": 1, "deleted": 1, "kept": 1]
    if listensOn {
      _ = try await events.next { event in
        guard let snapshot = try? event.get(), !snapshot.metadata.isFromCache else { return false }
        return numbers(snapshot) == earlier
      }
    }
    let read = try await notes.whereField("n", isGreaterThan: 0).getDocuments(source: .server)
    #expect(numbers(read) == earlier)
    let cached = try await notes.getDocuments(source: .cache)
    // Without a listener nothing has told what became of the document that is in no result.
    #expect(numbers(cached).filter { listensOn || $0.key != "new" } == earlier)
    registration.remove()
    try await firestore.terminate()
    await server.stop()
  }

  @Test("a result that is resumed from before the copy shows no write of the lost history, also to reads of the server")
  func resumed() async throws {
    let folder = try TemporaryFolder()
    let (data, copy) = (folder.url.appendingPathComponent("data"), folder.url.appendingPathComponent("copy"))
    var server = try await TestServer.start(folder: data)
    let port = server.port
    let firestore = try TestFirestore(
      cache: PersistentCacheSettings(directory: folder.url.appendingPathComponent("cache")), host: server.address
    ).firestore
    let notes = firestore.collection("notes")
    try await notes.document("a").setData(["n": 1])
    try await notes.document("b").setData(["n": 1])
    #expect(try await numbers(notes.getDocuments(source: .server)) == ["a": 1, "b": 1])
    await server.stop()
    try FileManager.default.copyItem(at: data, to: copy)

    server = try await TestServer.start(folder: data, port: port)
    try await notes.document("a").setData(["n": 2])
    #expect(try await numbers(notes.getDocuments(source: .cache)) == ["a": 2, "b": 1])
    await server.stop()
    try FileManager.default.removeItem(at: data)
    try FileManager.default.copyItem(at: copy, to: data)

    server = try await TestServer.start(folder: data, port: port)
    #expect(try await numbers(notes.getDocuments(source: .server)) == ["a": 1, "b": 1])
    #expect(try await numbers(notes.getDocuments(source: .cache)) == ["a": 1, "b": 1])
    try await firestore.terminate()
    await server.stop()
  }
}
