import Testing

@testable import Hearth

/// The cities that programs of articles speak of.
enum ArticleCities {
  /// Runs an article's program with a backend that has San Francisco and Los Angeles.
  ///
  /// - Parameter body: Gets a client whose cache is empty, another one, and the backend's address.
  static func run(
    _ body: (_ db: Firestore, _ other: Firestore, _ host: String) async throws -> Void
  ) async throws {
    try await EndToEndTests().withServer { host in
      let (db, other) = (try TestFirestore(host: host).firestore, try TestFirestore(host: host).firestore)
      let cities = other.collection("cities")
      try await cities.document("SF").setData(["name": "San Francisco", "state": "CA", "population": 860_000])
      try await cities.document("LA").setData(["name": "Los Angeles", "state": "CA", "population": 3_900_000])
      try await body(db, other, host)
      try await db.terminate()
      try await other.terminate()
    }
  }

  /// The same with a client that has read both cities and then lost the network.
  static func runOffline(_ body: (_ db: Firestore, _ other: Firestore) async throws -> Void) async throws {
    try await run { db, other, _ in
      #expect(try await db.collection("cities").getDocuments().count == 2)
      try await db.disableNetwork()
      try await body(db, other)
    }
  }
}
