import Foundation
import Testing

@testable import Hearth

@Suite("Typed queries", .timeLimit(.minutes(2)))
struct TypedQueryTests {
  struct City: Codable, QueryableModel, Equatable {
    enum Kind: String, Codable { case town, island }

    struct Address: Codable, Equatable {
      var zip: String
    }

    @DocumentID var id: String?
    var name: String
    var population: Int?
    var tags: [String]
    var colors: Set<String>?
    var kind: Kind
    var address: Address
    var isCapital: Bool
    var founded: Date
    var unlisted: Int?

    static let fieldTable: FieldTable<City> = [
      \.id: .documentID, \.name: "name", \.population: "population", \.tags: "tags", \.colors: "colors", \.kind: "kind",
      \.address.zip: "address.zip", \.isCapital: FieldName(FieldPath(["isCapital"])), \.founded: "founded",
    ]
  }

  /// A model with names, dates and a table of its own.
  struct Visit: Codable, QueryableModel {
    var cityName: String
    var at: Date
    var broken: Int?

    enum CodingKeys: String, CodingKey {
      case cityName = "city.name"
      case at
      case broken = ""
    }

    static let fieldTable = FieldTable<Visit>(codingKeys: [
      \.cityName: CodingKeys.cityName, \.at: .at, \.broken: .broken,
    ])

    static var documentEncoder: Firestore.Encoder {
      let encoder = Firestore.Encoder()
      encoder.dateEncodingStrategy = .secondsSince1970
      return encoder
    }

    static var documentDecoder: Firestore.Decoder {
      let decoder = Firestore.Decoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      return decoder
    }
  }

  private func cities() async throws -> TypedCollection<City> {
    let db = try await TestFirestore.offline()
    let cities = db.collection("cities", of: City.self)
    func add(_ id: String, _ population: Int?, _ tags: [String], _ kind: City.Kind, _ zip: String, _ year: Double)
      throws
    {
      try cities.reference.document(id).setData(
        from: City(
          name: "City \(id)", population: population, tags: tags, colors: Set(tags), kind: kind,
          address: .init(zip: zip),
          isCapital: id == "C", founded: Date(timeIntervalSince1970: year)))
    }
    try add("A", 100, ["port"], .island, "1", 10)
    try add("B", 200, ["port", "hill"], .town, "2", 20)
    try add("C", 300, [], .town, "3", 30)
    try add("D", nil, ["hill"], .town, "4", 40)
    return cities
  }

  private func ids(_ query: TypedQuery<City>) async throws -> [String] {
    try await query.getDocuments().documents.compactMap(\.id)
  }

  @Test("each condition finds what its untyped form finds")
  func conditions() async throws {
    let cities = try await cities()
    #expect(try await ids(cities.all) == ["A", "B", "C", "D"])
    #expect(try await ids(cities.where(\.population == 200)) == ["B"])
    #expect(try await ids(cities.where(\.population != 200)) == ["A", "C"])
    #expect(try await ids(cities.where(\.population < 200)) == ["A"])
    #expect(try await ids(cities.where(\.population <= 200)) == ["A", "B"])
    #expect(try await ids(cities.where(\.population > 200)) == ["C"])
    #expect(try await ids(cities.where(\.population >= 200)) == ["B", "C"])
    #expect(try await ids(cities.where(\.name > "City B")) == ["C", "D"])
    #expect(try await ids(cities.where(\.name >= "City B").where(\.name < "City D").where(\.name <= "City B")) == ["B"])
    #expect(try await ids(cities.where(\.kind == .island)) == ["A"])
    #expect(try await ids(cities.where(\.isCapital == true)) == ["C"])
    #expect(try await ids(cities.where(\.address.zip == "4")) == ["D"])
    #expect(try await ids(cities.where(\.founded > Date(timeIntervalSince1970: 25))) == ["C", "D"])
    #expect(try await ids(cities.where(\.id == "B")) == ["B"])
    #expect(try await ids(cities.where(\.population == nil)) == [])
    #expect(try await ids(cities.where(.contains(\.tags, "port"))) == ["A", "B"])
    #expect(try await ids(cities.where(.contains(\.colors, "hill"))) == ["B", "D"])
    #expect(try await ids(cities.where(.containsAny(\.tags, ["hill", "x"]))) == ["B", "D"])
    #expect(try await ids(cities.where(.containsAny(\.colors, ["hill", "port"]))) == ["A", "B", "D"])
    #expect(try await ids(cities.where(.isIn(\.id, ["A", "D"]))) == ["A", "D"])
    #expect(try await ids(cities.where(.isIn(\.kind, [.island]))) == ["A"])
    #expect(try await ids(cities.where(.isNotIn(\.name, ["City A", "City C"]))) == ["B", "D"])
  }

  @Test("conditions are combined, and orders and limits apply")
  func combined() async throws {
    let cities = try await cities()
    let either = cities.where(\.population > 250 || \.kind == .island && \.name == "City A")
    #expect(try await ids(either) == ["A", "C"])
    #expect(try await ids(cities.where(.any([\.name == "City A", \.name == "City D"]))) == ["A", "D"])
    #expect(try await ids(cities.where(.all([\.kind == .town, \.population < 250]))) == ["B"])
    #expect(try await ids(cities.where(.all([]))).count == 4)
    #expect(try await ids(cities.order(by: \.population, descending: true)) == ["C", "B", "A"])
    #expect(try await ids(cities.order(by: \.kind).order(by: \.name, descending: true)) == ["A", "D", "C", "B"])
    #expect(try await ids(cities.order(by: \.name).limit(to: 2)) == ["A", "B"])
    #expect(try await ids(cities.order(by: \.name).limit(toLast: 1)) == ["D"])
    #expect(try await ids(cities.limit(to: 1)) == ["A"])
    let after = try cities.order(by: \.name).query.start(after: ["City B"])
    #expect(try await ids(TypedQuery(after).limit(to: 1)) == ["C"])
    let untyped = cities.reference.whereField("population", isGreaterThan: 100).order(by: "population")
    #expect(try cities.where(\.population > 100).order(by: \.population).query == untyped)
    let group = cities.reference.firestore.collectionGroup("cities", of: City.self)
    #expect(try await ids(group.where(\.population > 200)) == ["C"])
    let below = cities.reference.document("A").collection("parts", of: City.self)
    #expect(below.reference.path == "cities/A/parts")
  }

  @Test("operands are encoded as the model's documents are, and names of coding keys are not split")
  func strategies() async throws {
    let db = try await TestFirestore.offline()
    let visits = db.collection("visits", of: Visit.self)
    for second in 1...3 {
      try visits.reference.document("\(second)").setData(
        from: Visit(cityName: "City \(second)", at: Date(timeIntervalSince1970: Double(second))),
        encoder: Visit.documentEncoder)
    }
    let found = try await visits.where(\.at >= Date(timeIntervalSince1970: 2)).where(\.cityName != "City 3")
      .getDocuments()
    #expect(found.documents.map(\.cityName) == ["City 2"])
    #expect(found.documents.map(\.at) == [Date(timeIntervalSince1970: 2)])
    #expect(try await visits.getDocument("3")?.cityName == "City 3")
    let broken = await thrown { _ = try await visits.where(\.broken == 1).getDocuments() }
    #expect(broken?.localizedDescription.contains("Visit.fieldTable has an impossible name for the property") == true)
  }

  /// The message of a mistake, which every way to run the query reports.
  private func mistake(_ query: TypedQuery<City>) async throws -> String {
    let once = await thrown { _ = try await query.getDocuments() }
    #expect(once?.domain == FirestoreErrorDomain && once?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let listening = await thrown { for try await _ in query.snapshots {} }
    #expect(listening == once)
    return once?.localizedDescription ?? ""
  }

  @Test("a property without an entry, and all else that only the query can find out, is an error and stops nothing")
  func mistakes() async throws {
    let cities = try await cities()
    let unlisted = try await mistake(cities.where(\.unlisted == 5).limit(to: 1))
    #expect(unlisted.contains("City.fieldTable has no entry for the property") && unlisted.contains("City.unlisted"))
    #expect(try await mistake(cities.order(by: \.unlisted)).contains("City.unlisted"))
    #expect(try await mistake(cities.where(\.name == "x" || \.unlisted == 5)).contains("City.unlisted"))
    #expect(try await mistake(cities.limit(to: 0)).contains("Limit must be positive"))
    #expect(try await mistake(cities.limit(to: 1).limit(toLast: 2)).contains("OrderBy() clause"))
    #expect(try await mistake(cities.where(.isIn(\.name, []))).contains("non-empty array"))
    #expect(try await mistake(cities.where(\.id == "a/b")).contains("plain document ID"))
    let twice = cities.where(.isNotIn(\.name, ["a"])).where(.isNotIn(\.name, ["b"]))
    #expect(try await mistake(twice).contains("more than one 'notIn' filter"))
    // The first one is reported.
    #expect(try await mistake(twice.limit(to: 0).where(\.unlisted == 1)).contains("notIn"))
    #expect(throws: (any Error).self) { try twice.query }
  }

  @Test("a document that cannot be decoded fails the call, or is left out and reported")
  func undecodable() async throws {
    let cities = try await cities()
    cities.reference.document("E").setData(["name": 5], completion: nil)
    await #expect(throws: DecodingError.self) { _ = try await cities.getDocuments() }
    let rest = try await cities.getDocuments(decodingFailures: .ignore)
    #expect(rest.documents.count == 4)
    #expect(rest.failures.keys.sorted() == ["cities/E"] && rest.failures["cities/E"] is DecodingError)
    #expect(rest.snapshot.count == 5 && rest.metadata.isFromCache)
    await #expect(throws: DecodingError.self) { for try await _ in cities.snapshots {} }
    for try await snapshot in cities.all.snapshots(decodingFailures: .ignore) {
      #expect(snapshot.documents.count == 4)
      break
    }
  }

  @Test("a listener's snapshots are decoded, the later ones too")
  func listening() async throws {
    let cities = try await cities()
    var counts: [Int] = []
    for try await snapshot in cities.where(\.population > 150).snapshots {
      counts.append(snapshot.documents.count)
      if counts.count == 2 { break }
      cities.reference.document("A").updateData(["population": 500], completion: nil)
    }
    #expect(counts == [2, 3])
  }

  @Test("a document is read by its id, and nil says that there is none")
  func document() async throws {
    let cities = try await cities()
    #expect(try await cities.getDocument("A")?.name == "City A")
    cities.reference.document("A").delete(completion: nil)
    #expect(try await cities.getDocument("A", source: .cache) == nil)
  }
}
