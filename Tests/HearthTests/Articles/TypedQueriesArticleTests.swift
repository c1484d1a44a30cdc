import Foundation
import Testing

@testable import Hearth

/// The code of the article "Queries that the compiler checks".
private enum TypedQueriesArticle {
  struct City: Codable, QueryableModel {
    @DocumentID var id: String?
    var name: String
    var population: Int?
    var tags: [String]

    static let fieldTable: FieldTable<City> = [
      \.id: .documentID, \.name: "name", \.population: "population", \.tags: "tags",
    ]
  }

  static func large(_ db: Firestore, _ print: Printout) async throws -> TypedCollection<City> {
    let cities = db.collection("cities", of: City.self)
    let large = cities.where(\.population > 100_000).order(by: \.population, descending: true)
    for city in try await large.getDocuments().documents {
      print(city.name, city.population ?? 0)
    }
    return cities
  }

  static func conditions(_ cities: TypedCollection<City>, _ print: Printout) async throws {
    let some = cities.where(\.name == "Berkeley" || .contains(\.tags, "port")).limit(to: 10)
    print(try await some.getDocuments().documents.compactMap(\.id))
  }

  static func results(_ cities: TypedCollection<City>, _ print: Printout) async throws {
    cities.reference.document("LA").setData(["name": "Los Angeles", "population": "many"], completion: nil)
    let result = try await cities.all.getDocuments(decodingFailures: .ignore)
    print(result.documents.count, "cities, without", result.failures.keys.sorted())
  }

  static func mistakes(_ cities: TypedCollection<City>, _ print: Printout) async throws {
    do {
      let found = try await cities.where(\.name.count > 5).getDocuments()
      print(found.documents)
    } catch FirestoreErrorCode.invalidArgument {
      print("City.fieldTable does not list name.count")
    }
  }

  static func untyped(_ cities: TypedCollection<City>, _ print: Printout) async throws {
    let page = try cities.order(by: \.name).query.start(after: ["Berkeley"])
    let next = TypedQuery<City>(page).where(\.population > 0)
    print(try await next.query.count.getAggregation(source: .cache).count)
  }
}

@Suite("The article \"Queries that the compiler checks\"", .timeLimit(.minutes(2)))
struct TypedQueriesArticleTests {
  @Test("shows code that is compiled, and prints what it says")
  func story() async throws {
    let article = try Article("TypedQueries")
    #expect(article.blocks("swift").count == 6)
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
    let db = try await TestFirestore.offline()
    func add(_ id: String, _ name: String, _ population: Int, _ tags: [String]) throws {
      let city = TypedQueriesArticle.City(name: name, population: population, tags: tags)
      try db.collection("cities").document(id).setData(from: city)
    }
    try add("SF", "San Francisco", 860_000, [])
    try add("OAK", "Oakland", 440_646, ["port"])
    try add("BER", "Berkeley", 100_000, [])

    let overview = Printout()
    let cities = try await TypedQueriesArticle.large(db, overview)
    #expect(overview.lines == article.printed("Overview"))
    func expect(
      _ section: String, _ program: (TypedCollection<TypedQueriesArticle.City>, Printout) async throws -> Void
    )
      async throws
    {
      let print = Printout()
      try await program(cities, print)
      #expect(print.lines == article.printed(section))
    }
    try await expect("Conditions", TypedQueriesArticle.conditions)
    try await expect("Untyped queries and typed ones", TypedQueriesArticle.untyped)
    try await expect("Results", TypedQueriesArticle.results)
    try await expect("Mistakes that the compiler cannot find", TypedQueriesArticle.mistakes)
  }
}
