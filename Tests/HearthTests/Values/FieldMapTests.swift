import Foundation
import Testing

@testable import Hearth

@Suite("Field maps", .timeLimit(.minutes(2)))
struct FieldMapTests {
  @Test("every content is written and read back as it was")
  func contents() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("all/1")
    let fields: FieldMap = [
      "null": nil, "boolean": true, "integer": 3, "double": 3.5, "string": "a", "map": ["x": ["y": 1]],
      "list": [1, "b", nil],
      "empty": [:], "time": .timestamp(Timestamp(seconds: 5, nanoseconds: 6_000)), "bytes": .bytes(Data([1, 2])),
      "reference": .reference(db.document("a/b")), "position": .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
      "vector": .vector(VectorValue([1, 2])), "date": .date(Date(timeIntervalSince1970: 1)), "text \(1)": "number \(1)",
    ]
    reference.setData(fields: fields, completion: nil)
    let snapshot = try await reference.getDocument()
    #expect(snapshot.fieldMap() == fields)
    #expect(try FieldMap(try #require(snapshot.data())) == fields)
    #expect(snapshot.fieldMap()?["integer"] != 3.0)
    let found = try await db.collection("all").getDocuments().documents
    #expect(found.map { $0.fieldMap() } == [fields])
    reference.delete(completion: nil)
    #expect(try await reference.getDocument(source: .cache).fieldMap() == nil)
  }

  @Test("operations do what field values do, at the places where these are legal")
  func operations() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("all/1")
    reference.setData(fields: ["n": 1, "tags": ["a"], "old": true, "map": ["x": 1, "y": 2]], completion: nil)
    reference.updateData(
      fields: ["n": .increment(2), "tags": .arrayUnion(["b"]), "old": .delete, "map.x": 5, "at": .serverTimestamp],
      completion: nil)
    reference.setData(fields: ["map": ["y": .delete], "tags": .arrayRemove(["a"])], merge: true, completion: nil)
    reference.setData(fields: ["n": .increment(0.5), "ignored": 1], mergeFields: ["n"], completion: nil)
    let snapshot = try await reference.getDocument()
    #expect(snapshot.fieldMap() == ["n": 3.5, "tags": ["b"], "map": ["x": 5], "at": nil])
    let estimated = try #require(snapshot.fieldMap(with: .estimate)?["at"])
    guard case .timestamp = estimated else {
      Issue.record("\(estimated) is no estimate")
      return
    }
  }

  @Test("collections, batches and transactions take field maps, and waiting forms wait")
  func writers() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let cities = db.collection("cities")
      let added = try await cities.addDocument(fields: ["name": "Added"])
      cities.addDocument(fields: ["name": "Later"], completion: nil)
      let city = cities.document("OAK")
      try await city.setData(fields: ["name": "Oakland"])
      try await city.setData(fields: ["visits": 1], merge: true)
      try await city.setData(fields: ["visits": 2, "name": "X"], mergeFields: ["visits"])
      try await city.updateData(fields: ["visits": .increment(1)])
      let batch = db.batch()
        .setData(fields: ["name": "SF"], forDocument: cities.document("SF"))
        .setData(fields: ["a": 1], forDocument: cities.document("SF"), merge: true)
        .setData(fields: ["b": 1, "a": 2], forDocument: cities.document("SF"), mergeFields: ["b"])
        .updateData(fields: ["c": 1], forDocument: cities.document("SF"))
      try await batch.commit()
      _ = try await db.runTransaction { transaction, _ in
        transaction.setData(fields: ["name": "LA"], forDocument: cities.document("LA"))
          .setData(fields: ["a": 1], forDocument: cities.document("LA"), merge: true)
          .setData(fields: ["b": 1, "a": 2], forDocument: cities.document("LA"), mergeFields: ["b"])
          .updateData(fields: ["c": 1], forDocument: cities.document("LA"))
        return nil
      }
      #expect(try await added.getDocument(source: .server).fieldMap() == ["name": "Added"])
      #expect(try await city.getDocument(source: .server).fieldMap() == ["name": "Oakland", "visits": 3])
      #expect(
        try await cities.document("SF").getDocument(source: .server).fieldMap() == [
          "name": "SF", "a": 1, "b": 1, "c": 1,
        ])
      #expect(
        try await cities.document("LA").getDocument(source: .server).fieldMap() == [
          "name": "LA", "a": 1, "b": 1, "c": 1,
        ])
      try await db.terminate()
    }
  }

  @Test("contents are values in untyped data and in conditions, too")
  func untyped() async throws {
    let db = try await TestFirestore.offline()
    let content: FieldContent = "CA"
    let map: FieldMap = ["x": 1]
    db.document("cities/SF").setData(
      ["state": content, "inner": ["map": map, "at": FieldContent.delete]], merge: true, completion: nil)
    db.document("cities/SF").updateData(["state": FieldContent.delete, "code": content], completion: nil)
    #expect(try await db.document("cities/SF").getDocument().fieldMap() == ["code": "CA", "inner": ["map": ["x": 1]]])
    #expect(try await db.collection("cities").whereField("code", isEqualTo: content).getDocuments().count == 1)
  }

  @Test("a value that cannot be stored is an error with its place")
  func unstorable() {
    struct Unknown {}
    func message(_ data: [String: Any]) -> String? {
      guard case .failure(let error) = Result(catching: { try FieldMap(data) }) else { return nil }
      #expect((error as NSError).code == FirestoreErrorCode.invalidArgument.rawValue)
      return error.localizedDescription
    }
    #expect(message(["a": ["b": [1, Unknown()]]])?.hasPrefix("Field a.b[1] has a value of type Unknown") == true)
    #expect(message(["a": UInt64.max])?.contains("in field a") == true)
    #expect(message(["a": Optional<Int>.none as Any, "b": [1.5, "x"]]) == nil)
  }

  @Test("a value is encoded to a map, and a map is changed by name")
  func values() throws {
    struct City: Encodable {
      var name: String
      var tags: [String]
    }
    var fields = try FieldMap(from: City(name: "Oakland", tags: ["port"]))
    #expect(fields == ["name": "Oakland", "tags": ["port"]])
    fields["name"] = .null
    fields["tags"] = nil
    #expect(fields == ["name": nil])
    #expect(FieldMap([("a", 1), ("a", 2)]) == ["a": 2])
    #expect(throws: EncodingError.self) { try FieldMap(from: 5) }
  }
}
