import Foundation
import Testing

@testable import Hearth

/// The programs of the article "Queries without a network", and what they do.
@Suite("The article \"Queries without a network\"", .timeLimit(.minutes(2)))
struct OfflineQueriesArticleTests {
  let article: Article
  private let folder: TemporaryFolder
  private let name = UUID().uuidString

  init() throws {
    article = try Article("OfflineQueries")
    folder = try TemporaryFolder()
  }

  private func open() async throws -> Firestore {
    try await TestFirestore.offline(name: name, cache: PersistentCacheSettings(directory: folder.url))
  }

  /// A database on a file with 1,000 cities, 20 in each state.
  private func openWithCities() async throws -> Firestore {
    let db = try await open()
    _ = try await db.loadBundle(TestBundle.cities(db, count: 1_000))
    return db
  }

  /// Waits until every document of the cache has been entered.
  private func filledIndexes(_ db: Firestore) async throws -> [PersistentCacheIndex] {
    let manager = try #require(db.persistentCacheIndexManager)
    while try await manager.indexes().contains(where: { $0.fillState == .filling }) { await Task.yield() }
    return try await manager.indexes()
  }

  private static let byState = FirestoreIndex(
    collectionGroup: "cities", fields: [.init(fieldPath: "state", order: .ascending)])

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("a query that is made offline finds what the device knows, and the rest when the network is back")
  func newQuery() async throws {
    let print = Printout()
    try await ArticleCities.run { db, other, _ in
      try await other.document("cities/NYC").setData(["name": "New York", "state": "NY", "population": 8_300_000])

      let cities = db.collection("cities")
      _ = try await cities.whereField("state", isEqualTo: "CA").getDocuments()  // with a network

      try await db.disableNetwork()
      let large = cities.whereField("population", isGreaterThan: 1_000_000)
      print("found:", try await large.getDocuments().documents.map(\.documentID))
      large.addSnapshotListener { snapshot, _ in
        print("listener:", snapshot?.documents.map(\.documentID) ?? [])
      }
      try await db.enableNetwork()

      #expect(try await print.lines(3) == article.printed("What a query finds"))
    }
  }

  @Test("a query that is always needed is kept in sync by a listener")
  func keptQuery() async throws {
    try await ArticleCities.run { db, other, _ in
      let cities = db.collection("cities")

      let keeping = cities.whereField("state", isEqualTo: "CA").addSnapshotListener { _, _ in }

      let (events, _) = cities.whereField("state", isEqualTo: "CA").record()
      _ = try await events.next { (try? $0.get().count) == 2 }
      try await other.document("cities/SD").setData(["state": "CA"])
      _ = try await events.next { (try? $0.get().count) == 3 }
      try await db.disableNetwork()
      #expect(try await cities.getDocuments().ids == ["LA", "SD", "SF"])
      keeping.remove()
    }
  }

  @Test("a query reads all documents of the collection that the device has, unless there is an index")
  func scan() async throws {
    let print = Printout()
    let db = try await openWithCities()

    let californian = db.collection("cities").whereField("state", isEqualTo: "CA")
    let explanation = try await californian.explain()
    print(explanation.way, "of", explanation.rowsRead, "documents for", explanation.resultCount)

    #expect(print.lines == article.printed("What a query costs"))
    try await db.terminate()
  }

  @Test("indexes can be made automatically; that has to be asked for at every start, and what was made stays")
  func automatic() async throws {
    let print = Printout()
    let db = try await openWithCities()
    let californian = db.collection("cities").whereField("state", isEqualTo: "CA")
    _ = try await californian.getDocuments(source: .cache)
    #expect(try await filledIndexes(db) == [], "off by default")
    let manager = try #require(db.persistentCacheIndexManager)

    if let indexes = db.persistentCacheIndexManager {
      indexes.enableIndexAutoCreation()
    } else {
      print("a cache in memory has no indexes")
    }

    _ = try await californian.getDocuments(source: .cache)
    _ = try await filledIndexes(db)

    for index in try await db.persistentCacheIndexManager?.indexes() ?? [] {
      print(index)
    }
    let explanation = try await californian.explain()
    print(explanation.way, "of", explanation.rowsRead, "documents for", explanation.resultCount)

    #expect(print.lines == article.printed("Indexes by themselves"))
    manager.disableIndexAutoCreation()
    _ = try await db.collection("cities").whereField("population", isEqualTo: 0).getDocuments(source: .cache)
    #expect(try await manager.indexes().count == 1)
    try await db.terminate()

    let again = try await open()
    _ = try await again.collection("cities").whereField("population", isEqualTo: 0).getDocuments(source: .cache)
    #expect(try await filledIndexes(again).map(\.definition) == [Self.byState], "off again, and the old one is there")
    try await again.terminate()
    let memory = try await TestFirestore.offline()
    #expect(memory.persistentCacheIndexManager == nil)
  }

  @Test("only queries that read far more than they find get an index")
  func judgement() async throws {
    let db = try await openWithCities()
    db.persistentCacheIndexManager?.enableIndexAutoCreation()
    // All of them, a third of them, and one of a few.
    _ = try await db.collection("cities").whereField("tags", arrayContains: "city").getDocuments(source: .cache)
    _ = try await db.collection("cities").whereField("state", isGreaterThan: "S3").getDocuments(source: .cache)
    for number in 0..<50 { db.document("towns/\(number)").setData(["n": number], completion: nil) }
    _ = try await db.collection("towns").whereField("n", isEqualTo: 1).getDocuments(source: .cache)
    #expect(try await filledIndexes(db) == [])
    _ = try await db.collection("cities").whereField("tags", arrayContains: "t1").getDocuments(source: .cache)
    #expect(try await filledIndexes(db).count == 1)
    try await db.terminate()
  }

  @Test("indexes can be declared with the text that the command-line tool exports, whatever else is in it")
  func declared() async throws {
    let db = try await openWithCities()

    try await db.setIndexConfiguration(
      """
      {
        "indexes": [{
          "collectionGroup": "cities",
          "queryScope": "COLLECTION",
          "fields": [
            {"fieldPath": "tags", "arrayConfig": "CONTAINS"},
            {"fieldPath": "population", "order": "DESCENDING"}
          ]
        }],
        "fieldOverrides": []
      }
      """)

    let query = db.collection("cities").whereField("tags", arrayContains: "t1")
      .order(by: "population", descending: true).limit(to: 3)
    #expect(try await filledIndexes(db).map(\.origin) == [.declared])
    let explanation = try await query.explain()
    #expect(explanation.way == .index && explanation.rowsRead == 3)
    try await db.terminate()
  }

  @Test("a query says which index it lacks, which can be declared as it is")
  func missing() async throws {
    let print = Printout()
    let db = try await openWithCities()

    let largest = db.collection("cities").whereField("state", isEqualTo: "CA")
      .order(by: "population", descending: true).limit(to: 3)
    let missing = try await largest.explain().missingIndexes
    print(missing.map(\.description))
    try await db.setIndexConfiguration(indexes: missing)

    #expect(print.lines == article.printed("Which indexes"))
    #expect(try await filledIndexes(db).map(\.definition) == missing)
    #expect(try await largest.explain().way == .index)
    try await db.terminate()
  }

  @Test("a configuration can come from a file of the program or from a download")
  func shipped() async throws {
    let db = try await openWithCities()
    let file = folder.url.appendingPathComponent("indexes.json")
    let json =
      #"{"indexes": [{"collectionGroup": "cities", "fields": [{"fieldPath": "state", "order": "ASCENDING"}]}]}"#
    try Data(json.utf8).write(to: file)

    let text = try String(contentsOf: file, encoding: .utf8)
    try await db.setIndexConfiguration(text)

    #expect(try await filledIndexes(db).map(\.definition) == [Self.byState])
    try await db.setIndexConfiguration(#"{"indexes": []}"#)
    #expect(try await filledIndexes(db) == [])

    if let download = InputStream(url: file) {
      try await db.setIndexConfiguration(download)
    }

    #expect(try await filledIndexes(db).map(\.definition) == [Self.byState])
    try await db.terminate()
  }

  @Test("a configuration that is wrong is an error with the place, and changes nothing")
  func wrong() async throws {
    let print = Printout()
    let db = try await openWithCities()
    try await db.setIndexConfiguration(indexes: [Self.byState])

    do {
      try await db.setIndexConfiguration(#"{"indexes": [{"fields": []}]}"#)
    } catch FirestoreErrorCode.invalidArgument {
      print("the indexes stay as they are")
    }

    #expect(print.lines == article.printed("A configuration that is wrong"))
    #expect(try await filledIndexes(db).map(\.definition) == [Self.byState])
    try await db.terminate()
  }

  @Test("all indexes can be deleted, and queries find the same as before")
  func deleted() async throws {
    let print = Printout()
    let db = try await openWithCities()
    try await db.setIndexConfiguration(indexes: [Self.byState])
    let californian = db.collection("cities").whereField("state", isEqualTo: "CA")
    let before = try await californian.getDocuments().ids

    let manager = db.persistentCacheIndexManager
    manager?.deleteAllIndexes()
    print("indexes:", try await manager?.indexes().count ?? 0)

    #expect(print.lines == article.printed("Delete them"))
    #expect(try await californian.getDocuments().ids == before && before.count == 20)
    #expect(try await californian.explain().way == .scan)
    try await db.terminate()
  }
}
