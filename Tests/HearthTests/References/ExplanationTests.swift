import Foundation
import Testing

@testable import Hearth

@Suite("Explanations of queries", .timeLimit(.minutes(2)))
struct ExplanationTests {
  private let db: Firestore
  private let folder: TemporaryFolder

  init() async throws {
    folder = try TemporaryFolder()
    db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 500))
  }

  private func declare(_ fields: [FirestoreIndex.Field]...) async throws {
    try await db.setIndexConfiguration(indexes: fields.map { FirestoreIndex(collectionGroup: "cities", fields: $0) })
    let manager = try #require(db.persistentCacheIndexManager)
    while try await manager.indexes().contains(where: { $0.fillState == .filling }) { await Task.yield() }
  }

  /// The rows of the table but for the time, which is another one each time.
  private func text(_ query: Query) async throws -> [String] {
    let lines = try await query.explain().description.split(separator: "\n").map(String.init)
    #expect(lines.last?.hasPrefix("time") == true)
    return lines.dropLast()
  }

  @Test("a scan says why, and which index would help")
  func scan() async throws {
    let query = db.collection("cities").whereField("state", isEqualTo: "CA").order(by: "population", descending: true)
      .limit(to: 3)
    #expect(
      try await text(query) == [
        "query              cities where state == \"CA\" order by population descending limit to first 3",
        "way                scan: there is no index of this collection group",
        "index that helps   cities: state ASCENDING, population DESCENDING",
        "rows read          500",
        "entries read       0",
        "documents decoded  \(try await query.explain().documentsDecoded)",
        "results            3",
      ])
  }

  @Test("the index that would help is used once it is declared, and the limit ends its reading")
  func suggestion() async throws {
    let query = db.collection("cities").whereField("state", isEqualTo: "CA").order(by: "population", descending: true)
      .limit(to: 3)
    let ids = try await query.getDocuments(source: .cache).ids
    try await declare(query.explain().missingIndexes[0].fields)
    let explanation = try await query.explain()
    #expect(explanation.way == .index && explanation.missingIndexes.isEmpty)
    #expect(explanation.parts.map(\.isLimitPushedDown) == [true])
    #expect(explanation.rowsRead == 3 && explanation.entriesRead <= 4)
    #expect(explanation.parts.first?.bounds == ["state == \"CA\""])
    #expect(
      explanation.description.contains(
        #"index              cities: state ASCENDING, population DESCENDING, range state == "CA", ends at the limit"#))
    #expect(try await query.getDocuments(source: .cache).ids == ids)
  }

  @Test("each part of an or has its index and its bounds")
  func disjunction() async throws {
    try await declare(
      [.init(fieldPath: "state", order: .ascending)], [.init(fieldPath: "population", order: .ascending)])
    let query = db.collection("cities").whereFilter(
      .orFilter([
        .whereField("state", isEqualTo: "S1"), .whereField("population", isLessThan: 50),
        .whereField(FieldPath.documentID(), isEqualTo: "c7"),
      ]))
    let explanation = try await query.explain()
    #expect(explanation.way == .index)
    #expect(explanation.parts.map { $0.index?.fields[0].fieldPath } == ["state", "population", nil])
    #expect(
      explanation.parts.map(\.bounds) == [[#"state == "S1""#], ["population < 50"], ["cities/c7"]])
    let text = explanation.description
    #expect(text.contains(#"(state == "S1" or population < 50 or __name__ == reference("#), "\(text)")
    #expect(text.contains("\ndocument           cities/c7\n"), "\(text)")
    #expect(explanation.resultCount == (try await query.getDocuments(source: .cache).count))
  }

  @Test("a query for a document by its id reads that document")
  func document() async throws {
    let query = db.collection("cities").whereField(FieldPath.documentID(), isEqualTo: "c7")
    let explanation = try await query.explain()
    #expect(explanation.way == .document && explanation.rowsRead == 1 && explanation.resultCount == 1)
    #expect(explanation.parts.map(\.bounds) == [["cities/c7"]] && explanation.missingIndexes.isEmpty)
  }

  @Test("queries of a collection group use the same index")
  func collectionGroup() async throws {
    try await declare([.init(fieldPath: "state", order: .ascending)])
    let explanation = try await db.collectionGroup("cities").whereField("state", isEqualTo: "CA").explain()
    #expect(explanation.way == .index && explanation.resultCount == 10 && explanation.rowsRead == 10)
    #expect(explanation.query == #"all cities where state == "CA""#)
  }

  @Test("an index that binds only some of the conditions leads to more documents than the result")
  func partialIndex() async throws {
    try await declare([.init(fieldPath: "state", order: .ascending)])
    let query = db.collection("cities").whereField("state", isEqualTo: "CA").whereField(
      "population", isLessThan: 500_000)
    let explanation = try await query.explain()
    #expect(explanation.way == .index && explanation.parts.map(\.bounds) == [[#"state == "CA""#]])
    #expect(explanation.rowsRead == 10 && explanation.resultCount < 10 && explanation.resultCount > 0)
    #expect(
      explanation.missingIndexes.map(\.description) == ["cities: state ASCENDING, population ASCENDING"],
      "the one that would bind both")
  }

  @Test("pending writes are part of what is explained")
  func pendingWrites() async throws {
    db.document("cities/new").setData(["state": "CA"], completion: nil)
    let query = db.collection("cities").whereField("state", isEqualTo: "CA")
    #expect(try await query.explain().resultCount == 11)
    try await declare([.init(fieldPath: "state", order: .ascending)])
    let explanation = try await query.explain()
    #expect(explanation.way == .index && explanation.resultCount == 11)
  }

  @Test("a query that was in sync with the backend goes on from its last result")
  func previousResult() async throws {
    try await EndToEndTests().withServer { host in
      let db = try TestFirestore(cache: PersistentCacheSettings(directory: folder.url), host: host).firestore
      for number in 0..<20 {
        try await db.document("towns/t\(number)").setData(["state": TestBundle.state(number * 10)])
      }
      let query = db.collection("towns").whereField("state", isEqualTo: "CA")
      #expect(try await query.getDocuments(source: .server).count == 4)
      try await db.disableNetwork()
      let explanation = try await query.explain()
      #expect(explanation.way == .previousResult && explanation.resultCount == 4 && explanation.rowsRead < 20)
      #expect(explanation.description.contains("\nway                previous result"))
      try await db.terminate()
    }
  }

  @Test("a query for everything scans, and no index would help")
  func everything() async throws {
    let explanation = try await db.collection("cities").explain()
    #expect(explanation.way == .scan && explanation.resultCount == 500 && explanation.missingIndexes.isEmpty)
  }

  @Test("the steps make up the time")
  func steps() async throws {
    let explanation = try await db.collection("cities").whereField("state", isEqualTo: "CA").explain()
    #expect(!explanation.steps.isEmpty && explanation.duration > .zero)
    #expect(explanation.duration == explanation.steps.reduce(.zero) { $0 + $1.duration })
  }

  @Test("a range and a cursor are bounds of the index")
  func bounds() async throws {
    try await declare([
      .init(fieldPath: "state", order: .ascending), .init(fieldPath: "population", order: .descending),
    ])
    let query = db.collection("cities").whereField("state", isEqualTo: "CA")
      .whereField("population", isGreaterThan: 100_000).order(by: "population", descending: true)
      .start(at: [900_000])
    let part = try #require(try await query.explain().parts.first)
    #expect(part.bounds == [#"state == "CA""#, "population > 100000", "start at 900000"])
    #expect(!part.isLimitPushedDown, "there is no limit")
  }

  @Test("values with line breaks stay in their row")
  func lineBreaks() async throws {
    let query = db.collection("cities").whereField("state", isEqualTo: "a\nb\u{1B}[31m")
    #expect(try await text(query).first == #"query              cities where state == "a\nb\u{1B}[31m""#)
  }

  @Test("durations and counts are for reading")
  func numbers() {
    #expect(Duration.nanoseconds(1).short == "0.0 µs" && Duration.microseconds(15).short == "15.0 µs")
    #expect(Duration.milliseconds(1.234).short == "1.23 ms" && Duration.milliseconds(97.46).short == "97.5 ms")
    #expect(Duration.seconds(1234).short == "1234 s" && Duration.milliseconds(999).short == "999 ms")
    #expect([0, 999, 1000, 1_234_567, -1234].map(\.grouped) == ["0", "999", "1,000", "1,234,567", "-1,234"])
    #expect(Int64.min.grouped == "-9,223,372,036,854,775,808")
  }
}
