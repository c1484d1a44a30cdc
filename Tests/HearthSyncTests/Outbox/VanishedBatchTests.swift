import HearthModel
import Testing

@testable import HearthSync

/// Batches that are answered after they have left the cache in another way, such as with a damaged page.
@Suite("Answers to batches that are gone")
struct VanishedBatchTests {
  private func client() throws -> (TestClient, WriteID) {
    let client = try TestClient()
    let write = client.write(.set(key("rooms/a"), [:]))
    try client.execute("DELETE FROM cache_mutation_batches")
    return (client, write)
  }

  @Test("a refused write is reported as refused")
  func refused() throws {
    let (client, write) = try client()
    try client.refuseWrite(.permissionDenied)
    #expect(client.takeTold() == ["write \(write.rawValue): PERMISSION_DENIED"])
  }

  @Test("a committed write is reported as committed")
  func committed() throws {
    let (client, write) = try client()
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write \(write.rawValue): OK"])
  }
}
