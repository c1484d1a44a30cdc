import Foundation
import HearthServer
import Logging
import Testing

@testable import Hearth

/// The code of the article "Mapping documents to Swift types". The test below holds that the article shows these lines.
private enum CodableArticle {
  struct City: Codable, Equatable, Sendable {
    @DocumentID var id: String?
    var name: String
    var population: Int?
    var founded: Date
    var location: GeoPoint
    var districts: [String]
    @ServerTimestamp var changed: Date?
  }

  struct Message: Codable, Sendable {
    @DocumentID var reference: DocumentReference?
    var text: String
    @ServerTimestamp var sent: Timestamp?
    @ExplicitNull var answerTo: String?
  }

  struct Visit: Codable, Sendable {
    var cityName: String
    var arrivedAt: Date
    var costsByDay: [String: Double]
  }

  struct CityChange: Encodable {
    var name: String?
    @ExplicitNull var mayor: String?
    var draft = FieldValue.delete()
    var visits = FieldValue.increment(Int64(1))
  }

  struct Place: Codable, Sendable {
    enum Kind: String, Codable, Sendable {
      case town, island, unknown

      init(from decoder: any Swift.Decoder) throws {
        self = Kind(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
      }
    }

    var name: String
    var kind: Kind
    var tags: [String]

    init(from decoder: any Swift.Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      name = try fields.decode(String.self, forKey: .name)
      kind = try fields.decodeIfPresent(Kind.self, forKey: .kind) ?? .unknown
      tags = try fields.decodeIfPresent([String].self, forKey: .tags) ?? []
    }
  }

  @discardableResult
  static func write(_ db: Firestore) throws -> City {
    let oakland = City(
      name: "Oakland", population: 440_646, founded: Date(timeIntervalSince1970: -3_720_470_400),
      location: GeoPoint(latitude: 37.8, longitude: -122.3), districts: ["Rockridge", "Temescal"])
    try db.collection("cities").document("OAK").setData(from: oakland)
    return oakland
  }

  static func read(_ db: Firestore, _ print: Printout) async throws -> [City] {
    let city = try await db.collection("cities").document("OAK").getDocument(as: City.self)
    print(city.id ?? "no id", city.name)

    let found = try await db.collection("cities").order(by: "name").getDocuments()
    let cities = try found.documents.map { try $0.data(as: City.self) }
    print(cities.map(\.name))
    return cities
  }

  static func readMissing(_ db: Firestore, _ print: Printout) async throws {
    let missing = try await db.collection("cities").document("LIM").getDocument(as: City?.self)
    print(missing?.name ?? "there is no such city")
  }

  static func wrappers(_ db: Firestore, _ print: Printout) async throws {
    let message = try db.collection("messages").addDocument(from: Message(text: "Hello", sent: nil, answerTo: nil))
    let pending = try await message.getDocument(as: Message.self)
    let estimated = try await message.getDocument(as: Message.self, with: .estimate)
    print(pending.sent == nil, estimated.sent == nil, estimated.reference == message)
    let unanswered = try await db.collection("messages").whereField("answerTo", isEqualTo: NSNull()).getDocuments()
    print(unanswered.count)
  }

  static func strategies(_ db: Firestore, _ print: Printout) async throws {
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601

    let visit = Visit(
      cityName: "Oakland", arrivedAt: Date(timeIntervalSince1970: 1_700_000_000), costsByDay: ["dayOne": 12.5])
    let reference = db.collection("visits").document("first")
    try reference.setData(from: visit, encoder: encoder)
    let fields = try await reference.getDocument().data() ?? [:]
    print(fields.keys.sorted(), fields["arrived_at"] ?? "")
    let same = try await reference.getDocument(as: Visit.self, decoder: decoder)
    print(same.costsByDay)
  }

  static func merge(_ db: Firestore, _ print: Printout) async throws {
    let city = db.collection("cities").document("SF")
    city.setData(["name": "San Francisco", "mayor": "unknown", "draft": true, "visits": 4], completion: nil)
    try city.setData(from: CityChange(name: nil, mayor: nil), merge: true)
    let fields = try await city.getDocument().data() ?? [:]
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      print(name, value is NSNull ? "null" : value)
    }
  }

  static func mergeFields(_ city: DocumentReference, _ oakland: City) throws {
    try city.setData(from: oakland, mergeFields: ["name", "location"])
  }

  struct CityUpdate: Encodable {
    var name: String?
    var districts: [String: Int]?
  }

  static func update(_ db: Firestore, _ print: Printout) async throws {
    let districts = db.collection("cities").document("DIS")
    districts.setData(["name": "San Francisco", "districts": ["Mission": 60_000, "Presidio": 4_000]], completion: nil)
    try districts.updateData(from: CityUpdate(name: nil, districts: ["Mission": 61_000]))
    print(try await districts.getDocument().fieldMap() == ["name": "San Francisco", "districts": ["Mission": 61_000]])
  }

  static func waiting(_ db: Firestore, _ city: DocumentReference, _ oakland: City) async throws -> DocumentReference {
    try await city.setDataAndWait(from: oakland)
    try await city.updateDataAndWait(from: CityUpdate(name: "Oakland"))
    let added = try await db.collection("cities").addDocumentAndWait(from: oakland)
    return added
  }

  static func errors(_ db: Firestore, _ print: Printout) async throws {
    db.collection("cities").document("LA").setData(["name": "Los Angeles", "population": "many"], completion: nil)
    for document in try await db.collection("cities").getDocuments().documents {
      do {
        let city = try document.data(as: City.self)
        print(city.name)
      } catch DecodingError.typeMismatch(_, let context) {
        print(context.debugDescription)
      } catch DecodingError.keyNotFound(_, let context) {
        print(context.debugDescription)
      }
    }
  }

  static func evolution(_ db: Firestore, _ print: Printout) async throws {
    let places = db.collection("places")
    places.document("a").setData(["name": "Alameda", "kind": "island"], completion: nil)
    places.document("b").setData(["name": "Ceres", "kind": "asteroid", "tags": ["far"]], completion: nil)
    for document in try await places.getDocuments().documents {
      let place = try document.data(as: Place.self)
      print(place.name, place.kind, place.tags)
    }
  }

  static func inParallel(_ found: QuerySnapshot) async throws -> [City] {
    let documents = found.documents
    let size = max(1_000, documents.count / ProcessInfo.processInfo.activeProcessorCount)
    let starts = Array(stride(from: 0, to: documents.count, by: size))
    let parts = try await withThrowingTaskGroup(of: (Int, [City]).self) { group in
      for start in starts {
        let part = documents[start..<min(start + size, documents.count)]
        group.addTask { (start, try part.map { try $0.data(as: City.self) }) }
      }
      return try await group.reduce(into: [Int: [City]]()) { $0[$1.0] = $1.1 }
    }
    let cities = starts.flatMap { parts[$0] ?? [] }
    return cities
  }
}

@Suite("The article \"Mapping documents to Swift types\"", .timeLimit(.minutes(2)))
struct CodableArticleTests {
  @Test("shows code that is compiled, and says of nothing that it prints what no test checks")
  func code() throws {
    let article = try Article("Codable")
    #expect(article.blocks("swift").count == 18)
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("shows what its programs print, from the first document to types that change")
  func story() async throws {
    let article = try Article("Codable")
    let db = try await TestFirestore.offline()
    func expect(_ section: String, _ program: (Printout) async throws -> Void) async throws {
      let print = Printout()
      try await program(print)
      #expect(print.lines == article.printed(section))
    }
    let oakland = try CodableArticle.write(db)
    try await expect("Overview") { print in
      let cities = try await CodableArticle.read(db, print)
      #expect(cities.first?.districts == oakland.districts)
      try await Self.withServer { try await CodableArticle.readMissing($0, print) }
    }
    try await expect("Ids, times and nulls") { try await CodableArticle.wrappers(db, $0) }
    try await expect("Names and forms that differ") { try await CodableArticle.strategies(db, $0) }
    try await expect("Changing a part of a document") { print in
      try await CodableArticle.merge(db, print)
      try await CodableArticle.update(db, print)
    }
    db.document("cities/DIS").delete(completion: nil)
    try await expect("When a document does not fit") { try await CodableArticle.errors(db, $0) }
    try await expect("When types change") { try await CodableArticle.evolution(db, $0) }
    let city = db.document("cities/SF")
    try CodableArticle.mergeFields(city, oakland)
    let merged = try #require(try await city.getDocument().data())
    #expect(merged["name"] as? String == "Oakland")
    #expect(merged["visits"] as? Int == 5)
  }

  @Test("has methods that wait for the backend")
  func waiting() async throws {
    try await Self.withServer { db in
      let oakland = CodableArticle.City(
        name: "Oakland", founded: Date(timeIntervalSince1970: 0), location: GeoPoint(latitude: 0, longitude: 0),
        districts: [])
      let added = try await CodableArticle.waiting(db, db.document("cities/OAK"), oakland)
      #expect(try await added.getDocument(as: CodableArticle.City.self, source: .server).name == "Oakland")
      #expect(try await db.pendingWrites().isEmpty)
    }
  }

  /// A Firestore object that reaches an empty database.
  private static func withServer(_ body: (Firestore) async throws -> Void) async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let test = try TestFirestore(host: "127.0.0.1:\(server.port)")
    let result: Result<Void, any Error>
    do { result = .success(try await body(test.firestore)) } catch { result = .failure(error) }
    await test.app.delete()
    await server.shutdown()
    try result.get()
  }

  @Test("decodes a large snapshot in parts, in the order of the snapshot")
  func parts() async throws {
    let db = try await TestFirestore.offline()
    let batch = db.batch()
    for index in 0..<2_500 {
      if index.isMultiple(of: 100) { await Task.yield() }
      try batch.setData(
        from: CodableArticle.City(
          name: "City \(index)", founded: Date(timeIntervalSince1970: 0), location: GeoPoint(latitude: 0, longitude: 0),
          districts: []),
        forDocument: db.document("cities/\(10_000 + index)"))
    }
    batch.commit(completion: nil)
    let cities = try await CodableArticle.inParallel(try await db.collection("cities").getDocuments())
    #expect(cities.map(\.name) == (0..<2_500).map { "City \($0)" })
  }
}
