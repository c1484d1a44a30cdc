import Foundation
import Synchronization
import Testing

@testable import Hearth

/// The code of the article "My query is slow". The test below holds that the article shows these lines.
private enum SlowQueryArticle {
  static func largest(_ db: Firestore) -> Query {
    let largest = db.collection("cities")
      .whereField("state", isEqualTo: "CA")
      .order(by: "population", descending: true)
      .limit(to: 3)
    return largest
  }

  static func ask(_ largest: Query, _ print: (QueryExplanation) -> Void) async throws -> QueryExplanation {
    let slow = try await largest.explain()
    print(slow)
    return slow
  }

  static func declareMissing(_ db: Firestore, _ slow: QueryExplanation) async throws {
    try await db.setIndexConfiguration(indexes: slow.missingIndexes)
  }

  static func declareValues(_ db: Firestore) async throws {
    try await db.setIndexConfiguration(indexes: [
      FirestoreIndex(
        collectionGroup: "cities",
        fields: [
          .init(fieldPath: "state", order: .ascending),
          .init(fieldPath: "population", order: .descending),
        ])
    ])
  }

  static func declareText(_ db: Firestore) async throws {
    try await db.setIndexConfiguration(
      """
      {"indexes": [{"collectionGroup": "cities", "queryScope": "COLLECTION", "fields": [
        {"fieldPath": "state", "order": "ASCENDING"},
        {"fieldPath": "population", "order": "DESCENDING"}]}],
       "fieldOverrides": []}
      """)
  }

  static func createAutomatically(_ db: Firestore) {
    db.persistentCacheIndexManager?.enableIndexAutoCreation()
  }

  static func list(_ db: Firestore, _ print: (PersistentCacheIndex) -> Void) async throws {
    for index in try await db.persistentCacheIndexManager?.indexes() ?? [] {
      print(index)
    }
  }

  static func askAgain(_ largest: Query, _ print: (QueryExplanation) -> Void) async throws -> QueryExplanation {
    let fast = try await largest.explain()
    print(fast)
    return fast
  }
}

@Suite("The article \"My query is slow\"", .timeLimit(.minutes(2)))
struct SlowQueryArticleTests {
  /// All rows but that of the time, which is another one on each machine.
  private static func withoutTime(_ lines: [String]) -> [String] {
    lines.filter { !$0.hasPrefix("time") }
  }

  @Test("is found from the README")
  func readme() throws {
    #expect(try Article.text("README.md").contains("(Sources/Hearth/Hearth.docc/SlowQuery.md)"))
  }

  @Test("shows code that is compiled")
  func code() throws {
    let article = try Article("SlowQuery")
    #expect(article.blocks("swift").count == 8)
    #expect(try article.codeNotCompiled(in: #filePath) == [])
  }

  @Test("shows what its program prints, and leads from a slow query to a fast one")
  func story() async throws {
    let shown = try Article("SlowQuery").blocks("text").map(Self.withoutTime)
    #expect(shown.count == 3)
    let folder = try TemporaryFolder()
    let db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 10_000))
    let largest = SlowQueryArticle.largest(db)
    let printed = Mutex<[[String]]>([])
    func note(_ text: String) { printed.withLock { $0.append(Self.withoutTime(Article.lines(text))) } }

    let slow = try await SlowQueryArticle.ask(largest) { note("\($0)") }
    #expect(slow.way == .scan && slow.rowsRead == 10_000)
    try await SlowQueryArticle.declareMissing(db, slow)
    let manager = try #require(db.persistentCacheIndexManager)
    while try await manager.indexes().contains(where: { $0.fillState == .filling }) { await Task.yield() }
    let filled = try await manager.indexes()
    try await SlowQueryArticle.declareValues(db)
    #expect(try await manager.indexes() == filled)
    try await SlowQueryArticle.declareText(db)
    #expect(try await manager.indexes() == filled)
    try await SlowQueryArticle.list(db) { note("\($0)") }
    let fast = try await SlowQueryArticle.askAgain(largest) { note("\($0)") }
    #expect(fast.way == .index && fast.rowsRead == 3)
    #expect(printed.withLock { $0 } == shown)

    manager.deleteAllIndexes()
    SlowQueryArticle.createAutomatically(db)
    _ = try await largest.getDocuments(source: .cache)
    #expect(try await manager.indexes().map(\.definition) == filled.map(\.definition))
  }
}
