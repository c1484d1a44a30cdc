import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Rows of the outbox lose their user while the client runs. No reading of a user's outbox finds them.
@Suite("Writes whose user is lost in a running client")
struct LostOwnerTests {
  private let folder = NSTemporaryDirectory() + "hearth-lost-owner-" + UUID().uuidString

  private func loseOwner(in table: String, of client: FolderClient) throws {
    try client.cache.database.execute("UPDATE \(table) SET user_id = 'x'")
  }

  private func batchCount(_ client: FolderClient) throws -> Int64? {
    try client.cache.database.firstRow("SELECT count(*) FROM cache_mutation_batches") { try $0.int64(at: 0) }
  }

  /// A client with a write that waits while another user is signed in.
  private func makeWaiting() throws -> FolderClient {
    let client = try FolderClient(folder)
    client.handle(.start)
    client.write(1)
    client.handle(.changeUser("anna"))
    return client
  }

  @Test(
    "the caller hears that the write is set aside when everything else is sent, and the client goes on",
    arguments: [false, true])
  func setAside(byOther: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let client = try makeWaiting()
    try loseOwner(in: "cache_mutation_batches", of: client)
    try loseOwner(in: "cache_batch_documents", of: client)
    if byOther {
      client.write(2)
      #expect(client.store.reopening == nil)
      try client.receiveAnswer()
      #expect(client.completed == [WriteID(rawValue: 2): nil])
    } else {
      client.handle(.changeUser(nil))
    }
    guard case .targetsWereRepaired? = client.store.reopening else {
      Issue.record("\(String(describing: client.store.reopening))")
      return
    }
    let handover = client.engine.handOver()
    client.cache.close()
    let next = try FolderClient(folder, continuing: handover)
    #expect(next.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .dataLoss])
    next.write(3)
    try next.receiveAnswer()
    #expect(next.completed[WriteID(rawValue: 3)] == .some(nil))
    next.cache.close()
  }

  @Test("the write is sent if the list of documents still names its user")
  func found() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let client = try makeWaiting()
    try loseOwner(in: "cache_mutation_batches", of: client)
    client.handle(.changeUser(nil))
    #expect(client.store.reopening == nil)
    try client.receiveAnswer()
    #expect(client.completed == [WriteID(rawValue: 1): nil])
    client.cache.close()
  }

  @Test("a write that is answered on its way leaves the outbox, and is not sent again")
  func answered() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let client = try FolderClient(folder)
    client.handle(.start)
    client.write(1)
    try loseOwner(in: "cache_mutation_batches", of: client)
    try client.receiveAnswer()
    #expect(client.completed == [WriteID(rawValue: 1): nil])
    #expect(try batchCount(client) == 0)
    client.cache.close()
  }
}
