import Foundation
import Testing

@testable import Hearth

/// The code of the article "Passing documents between tasks".
private enum FieldMapsArticle {
  actor Drafts {
    private var drafts: [String: FieldMap] = [:]

    func save(_ fields: FieldMap, as name: String) { drafts[name] = fields }
    func draft(_ name: String) -> FieldMap { drafts[name] ?? [:] }
  }

  static func write(_ db: Firestore) async throws {
    let drafts = Drafts()
    await drafts.save(
      ["name": "Oakland", "population": 440_646, "tags": ["port"], "changed": .serverTimestamp], as: "OAK")
    try await db.collection("cities").document("OAK").setData(fields: drafts.draft("OAK"))
  }

  static func read(_ db: Firestore, _ print: Printout) async throws {
    let snapshot = try await db.collection("cities").document("OAK").getDocument()
    let fields = snapshot.fieldMap() ?? [:]
    if case .string(let name) = fields["name"], case .integer(let population) = fields["population"] {
      print(name, population)
    }
    print(fields["tags"] == ["port"], fields["mayor"] == nil)
  }

  static func convert(_ print: Printout) throws {
    struct City: Encodable {
      var name: String
      var founded: Int
    }
    print(try FieldMap(from: City(name: "Oakland", founded: 1852)) == ["name": "Oakland", "founded": 1852])
    do {
      _ = try FieldMap(["name": "Oakland", "sizes": [1, UInt64.max]])
    } catch {
      print(error.localizedDescription)
    }
  }
}

@Suite("The article \"Passing documents between tasks\"", .timeLimit(.minutes(2)))
struct FieldMapsArticleTests {
  @Test("shows code that is compiled, and prints what it says")
  func story() async throws {
    let article = try Article("FieldMaps")
    #expect(article.blocks("swift").count == 4)
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      try await FieldMapsArticle.write(db)
      let read = Printout()
      try await FieldMapsArticle.read(db, read)
      #expect(read.lines == article.printed("A map of fields"))
      #expect(try await db.document("cities/OAK").getDocument(source: .server)["changed"] is Timestamp)
      try await db.terminate()
    }
    let converted = Printout()
    try FieldMapsArticle.convert(converted)
    #expect(converted.lines == article.printed("From dictionaries and types"))
  }
}
