import Foundation
import HearthServer
import Logging
import Testing

@testable import Hearth

@Suite("Writing and reading documents as types", .timeLimit(.minutes(2)))
struct CodableWriteTests {
  private struct City: Codable, Equatable, Sendable {
    @DocumentID var id: String?
    var name: String
    var population: Int?
    @ExplicitNull var mayor: String?
    @ServerTimestamp var changed: Date?
    var address: Address?

    struct Address: Codable, Equatable, Sendable {
      var street: String?
      var zip: String?
    }
  }

  private struct Unencodable: Encodable {
    var number = Double.nan
  }

  private static let oakland = City(
    name: "Oakland", population: 440_000, mayor: nil, changed: nil,
    address: City.Address(street: "Broadway", zip: nil))

  @Test("offline, what was set is read back at once, with the server's time still to come")
  func offline() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    try reference.setData(from: Self.oakland)
    let city = try await reference.getDocument(as: City.self)
    #expect(city.id == "OAK")
    #expect(city.changed == nil)
    #expect(city.address?.street == "Broadway")
    let estimate = try await reference.getDocument(as: City.self, with: .estimate)
    #expect(estimate.changed != nil)
    let cached = try await reference.getDocument(as: City.self, source: .cache)
    #expect(cached.name == "Oakland")
    #expect(try await reference.getDocument().data()?["mayor"] is NSNull)
  }

  private enum Order: Codable, Equatable {
    case draft
    case sent(carrier: String)
  }

  @Test("merging an enum's case leaves the one before next to it, mergeFields replaces it")
  func mergingEnum() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("orders/1")
    try reference.setData(from: ["order": Order.draft])
    try reference.setData(from: ["order": Order.sent(carrier: "post")], merge: true)
    #expect((try await reference.getDocument()["order"] as? [String: Any])?.keys.sorted() == ["draft", "sent"])
    await #expect(throws: DecodingError.self) { _ = try await reference.getDocument(as: [String: Order].self) }
    try reference.setData(from: ["order": Order.sent(carrier: "post")], mergeFields: ["order"])
    #expect(try await reference.getDocument(as: [String: Order].self) == ["order": .sent(carrier: "post")])
  }

  @Test("merging keeps what nil leaves out, and mergeFields takes the named fields only")
  func merging() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    try reference.setData(from: Self.oakland)
    try reference.setData(
      from: City(
        name: "O", population: nil, mayor: "M", changed: nil, address: City.Address(street: nil, zip: "94607")),
      merge: true)
    var city = try await reference.getDocument(as: City.self)
    #expect(city.name == "O")
    #expect(city.population == 440_000)
    #expect(city.mayor == "M")
    #expect(city.address == City.Address(street: "Broadway", zip: "94607"))
    try reference.setData(
      from: City(
        name: "ignored", population: 1, mayor: nil, changed: nil, address: City.Address(street: "S", zip: nil)),
      mergeFields: ["population", FieldPath(["address", "street"]), "mayor"])
    city = try await reference.getDocument(as: City.self)
    #expect(city.name == "O")
    #expect(city.population == 1)
    #expect(city.mayor == nil)
    #expect(city.address == City.Address(street: "S", zip: "94607"))
    try reference.setData(from: City(name: "new", mayor: nil, changed: nil), merge: false)
    city = try await reference.getDocument(as: City.self)
    #expect(city.population == nil)
    #expect(city.address == nil)
  }

  @Test("field values in a model delete and increment")
  func fieldValues() async throws {
    struct Change: Encodable {
      var population = FieldValue.increment(Int64(5))
      var address = FieldValue.delete()
    }
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    try reference.setData(from: Self.oakland)
    try reference.setData(from: Change(), merge: true)
    let city = try await reference.getDocument(as: City.self)
    #expect(city.population == 440_005)
    #expect(city.address == nil)
    #expect(city.name == "Oakland")
  }

  @Test("an error of encoding is thrown before anything is written")
  func encodingErrors() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    let bad = Unencodable()
    #expect(throws: EncodingError.self) { try reference.setData(from: bad) }
    #expect(throws: EncodingError.self) { try reference.setData(from: bad, merge: true) }
    #expect(throws: EncodingError.self) { try reference.setData(from: bad, mergeFields: ["number"]) }
    #expect(throws: EncodingError.self) { try db.collection("cities").addDocument(from: bad) }
    let batch = db.batch()
    #expect(throws: EncodingError.self) { try batch.setData(from: bad, forDocument: reference) }
    #expect(throws: EncodingError.self) { try batch.setData(from: bad, forDocument: reference, merge: true) }
    #expect(throws: EncodingError.self) { try batch.setData(from: bad, forDocument: reference, mergeFields: ["a"]) }
    await #expect(throws: EncodingError.self) { try await reference.setDataAndWait(from: bad) }
    #expect(try await db.pendingWrites().isEmpty)
  }

  @Test("decoding a document comes after reading it: each has its own errors, also in the form with a completion")
  func readingErrors() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    let unavailable = await thrown { _ = try await reference.getDocument(as: City.self) }
    #expect(unavailable?.code == FirestoreErrorCode.unavailable.rawValue)
    reference.setData(["name": 5], completion: nil)
    await #expect(throws: DecodingError.self) { try await reference.getDocument(as: City.self) }
    func read() async -> Result<City, any Error> {
      await withCheckedContinuation { continuation in
        reference.getDocument(as: City.self) { continuation.resume(returning: $0) }
      }
    }
    let failed = await read()
    #expect(throws: DecodingError.self) { try failed.get() }
    try reference.setData(from: Self.oakland)
    #expect(try await read().get().name == "Oakland")
    reference.delete(completion: nil)
    #expect(try await reference.getDocument(as: City?.self, source: .cache) == nil)
  }

  @Test("with a server: completions, waiting forms, batches, transactions and the server's time")
  func withServer() async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let test = try TestFirestore(host: "127.0.0.1:\(server.port)")
    let db = test.firestore
    let cities = db.collection("cities")

    try await cities.document("OAK").setDataAndWait(from: Self.oakland)
    let oakland = try await cities.document("OAK").getDocument(as: City.self, source: .server)
    #expect(oakland.changed != nil)
    #expect(oakland.population == 440_000)
    try await cities.document("OAK").setDataAndWait(from: ["population": 1], merge: true)
    try await cities.document("OAK").setDataAndWait(from: ["population": 2, "name": 3], mergeFields: ["population"])
    #expect(try await cities.document("OAK").getDocument(as: City.self).population == 2)

    let failure: (any Error)? = try await withCheckedThrowingContinuation { continuation in
      do {
        try cities.document("SF").setData(from: City(name: "SF", mayor: "L", changed: nil)) {
          continuation.resume(returning: $0)
        }
      } catch { continuation.resume(throwing: error) }
    }
    #expect(failure == nil)

    let added = try await cities.addDocumentAndWait(from: City(name: "Added", mayor: nil, changed: nil))
    #expect(try await added.getDocument(as: City.self).id == added.documentID)
    let other = try cities.addDocument(from: City(name: "Other", mayor: nil, changed: nil))
    #expect(other.documentID.count == 20)

    let batch = db.batch()
    try batch.setData(
      from: City(name: "B1", population: 1, mayor: nil, changed: nil), forDocument: cities.document("B1")
    )
    .setData(from: ["population": 9], forDocument: cities.document("B1"), merge: true)
    .setData(from: ["name": "x", "mayor": "m"], forDocument: cities.document("B1"), mergeFields: ["mayor"])
    try await batch.commit()
    let batched = try await cities.document("B1").getDocument(as: City.self)
    #expect(batched.name == "B1")
    #expect(batched.population == 9)
    #expect(batched.mayor == "m")

    _ = try await db.runTransaction { transaction, errorPointer in
      do {
        var city = try transaction.getDocument(cities.document("B1")).data(as: City.self)
        city.population = (city.population ?? 0) + 1
        try transaction.setData(from: city, forDocument: cities.document("B1"))
          .setData(from: ["mayor": "n"], forDocument: cities.document("B1"), merge: true)
          .setData(from: ["name": "T", "mayor": "x"], forDocument: cities.document("B1"), mergeFields: ["name"])
      } catch { errorPointer?.pointee = error as NSError }
      return nil
    }
    let final = try await cities.document("B1").getDocument(as: City.self, source: .server)
    #expect(final.population == 10)
    #expect(final.name == "T")
    #expect(final.mayor == "n")

    let all = try await cities.getDocuments().documents.map { try $0.data(as: City.self) }
    #expect(Set(all.compactMap(\.id)).isSuperset(of: ["OAK", "SF", "B1", added.documentID]))
    await test.app.delete()
    await server.shutdown()
  }
}
