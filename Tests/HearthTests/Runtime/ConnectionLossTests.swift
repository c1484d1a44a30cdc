import Foundation
import TestSupport
import Testing

@testable import Hearth

/// The network goes away without a word: connections stay open and carry nothing. The limits are those of the article "Working
/// offline".
@Suite("Connections that are lost without a sign", .timeLimit(.minutes(1)))
struct ConnectionLossTests {
  private func online(_ body: (Firestore, StallingProxy) async throws -> Void) async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let cache = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
      let db = try TestFirestore(cache: cache, host: proxy.host).firestore
      try await db.document("cities/SF").setData(["name": "San Francisco"])
      #expect(try await db.document("cities/SF").getDocument().metadata.isFromCache == false)
      try await body(db, proxy)
      try await db.terminate()
    }
  }

  /// The client's timer is ten seconds (`UnreachableBackendTests` has the exact times, in virtual time). The suite's limit of a minute is less
  /// than twelve reads take that wait for it each.
  @Test("a read is answered from the cache by the client's own timer, the next ones without it")
  func reads() async throws {
    try await online { db, proxy in
      proxy.stall()
      let snapshot = try await db.document("cities/SF").getDocument()
      #expect(snapshot.metadata.isFromCache && snapshot["name"] as? String == "San Francisco")
      #expect(proxy.closedByClientCount == 0, "the end of the connection has ended the wait")
      for _ in 2...12 { #expect(try await db.document("cities/SF").getDocument().metadata.isFromCache) }
    }
  }

  @Test("switching the network off and on makes a new connection")
  func switching() async throws {
    try await online { db, proxy in
      proxy.stall()
      try await db.disableNetwork()
      try await db.enableNetwork()
      #expect(try await db.document("cities/SF").getDocument().metadata.isFromCache == false)
      try await db.document("cities/SF").updateData(["visits": 1])
    }
  }
}
