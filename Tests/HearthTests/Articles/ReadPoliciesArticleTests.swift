import Foundation
import TestSupport
import Testing

@testable import Hearth

/// The programs of the article "Reading in time".
@Suite("The article \"Reading in time\"", .timeLimit(.minutes(2)))
struct ReadPoliciesArticleTests {
  let article: Article

  init() throws {
    article = try Article("ReadPolicies")
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(article.blocks("swift").count == 5)
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("a deadline is kept, and a result from the cache says what it is worth")
  func story() async throws {
    let (overview, worth) = (Printout(), Printout())
    try await ArticleCities.run { _, _, host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let cache = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
      let db = try TestFirestore(cache: cache, host: proxy.host).firestore
      try await deadlines(db, overview) { proxy.stall() }
      try await db.terminate()

      let other = try TestFirestore(cache: cache, host: host).firestore
      try await completeness(other, worth)
      try await other.terminate()
    }
    #expect(overview.lines == article.printed("Overview"))
    #expect(worth.lines == article.printed("What a result from the cache is worth"))
  }

  private func deadlines(_ db: Firestore, _ print: Printout, stall: () -> Void) async throws {
    let city = try await db.document("cities/SF").getDocument(policy: .server(within: .seconds(2)))
    print(city["name"] ?? "", city.metadata.isFromCache)
    stall()
    let later = try await db.document("cities/SF").getDocument(policy: .server(within: .milliseconds(50)))
    print(later["name"] ?? "", later.metadata.isFromCache)
    do {
      let unknown = try await db.document("cities/XX").getDocument(policy: .server(within: .milliseconds(50)))
      print(unknown.exists)
    } catch FirestoreErrorCode.deadlineExceeded {
      print("no answer, and nothing in the cache")
    }
  }

  private func completeness(_ db: Firestore, _ print: Printout) async throws {
    func worth(_ snapshot: QuerySnapshot) -> String {
      switch snapshot.completeness {
      case .complete: "complete: \(snapshot.count)"
      case .limitUncertain: "perhaps not the first ones: \(snapshot.count)"
      case .notSynchronized, .collected: "some: \(snapshot.count)"
      }
    }
    let cities = db.collection("cities")
    let first = cities.order(by: "name").limit(to: 1)
    for query in [cities, first] { _ = try await query.getDocuments() }  // with a network
    try await db.disableNetwork()
    print(worth(try await cities.getDocuments()))
    print(worth(try await cities.whereField("state", isEqualTo: "CA").getDocuments()))
    print(worth(try await first.getDocuments()))
    cities.document("LA").delete(completion: nil)
    print(worth(try await cities.getDocuments()))
    print(worth(try await first.getDocuments()))

    let californian = cities.whereField("state", isEqualTo: "CA")
    print(try await californian.getDocuments(policy: .cacheFirst).count)
    do {
      print(try await californian.getDocuments(policy: .cacheElseServer).count)
    } catch FirestoreErrorCode.unavailable {
      print("not for sure without the backend")
    }
    let snapshot = try await cities.getDocuments(source: .cache)
    #expect(isFresh(snapshot, at: Date()) && !isFresh(snapshot, at: Date().addingTimeInterval(7_200)))
    #expect(!isFresh(try await californian.getDocuments(source: .cache), at: Date()))
  }

  func isFresh(_ snapshot: QuerySnapshot, at now: Date) -> Bool {
    guard case .complete(let time?) = snapshot.completeness else { return false }
    return now.timeIntervalSince(time.dateValue()) < 3_600
  }
}
