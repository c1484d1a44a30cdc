import Foundation
import Testing

@testable import Hearth

@Suite("Updating documents from values", .timeLimit(.minutes(2)))
struct UpdatesFromValuesTests {
  private struct Change: Encodable {
    var name: String?
    @ExplicitNull var mayor: String?
    var address: [String: String]?
    var draft: FieldValue?
    var visits: FieldValue?
  }

  private struct Unencodable: Encodable {
    var number = Double.nan
  }

  /// Compiled, and so shown to be as for `setData(from:)`: no form of an update is chosen by the presence of `await`.
  private static func inAsynchronousCode(_ reference: DocumentReference) async throws {
    try reference.setData(from: ["n": 1])
    try reference.updateData(from: ["n": 1])
  }

  @Test("changes the encoded fields, replaces maps as a whole, and leaves what is nil")
  func fields() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    reference.setData(
      [
        "name": "Oakland", "mayor": "Thao", "draft": true, "visits": 1,
        "address": ["street": "Broadway", "zip": "94607"],
      ], completion: nil)
    try reference.updateData(
      from: Change(mayor: nil, address: ["zip": "94612"], draft: .delete(), visits: .increment(Int64(2))))
    let fields = try #require(try await reference.getDocument().data())
    #expect(fields["name"] as? String == "Oakland")
    #expect(fields["mayor"] is NSNull)
    #expect(fields["address"] as? [String: String] == ["zip": "94612"])
    #expect(fields["draft"] == nil)
    #expect(fields["visits"] as? Int == 3)
  }

  @Test("a name with dots is one field")
  func dots() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("versions/1")
    reference.setData(["a": ["b": 1]], completion: nil)
    try reference.updateData(from: ["a.b": 2])
    let fields = try #require(try await reference.getDocument().fieldMap())
    #expect(fields == ["a": ["b": 1], "a.b": 2])
  }

  @Test("an error of encoding is thrown before anything is written")
  func encodingError() async throws {
    let db = try await TestFirestore.offline()
    let reference = db.document("cities/OAK")
    reference.setData(["name": "Oakland"], completion: nil)
    #expect(throws: EncodingError.self) { try reference.updateData(from: Unencodable()) }
    #expect(throws: EncodingError.self) { try reference.updateData(from: 5) }
    await #expect(throws: EncodingError.self) { try await reference.updateDataAndWait(from: Unencodable()) }
    let batch = db.batch()
    #expect(throws: EncodingError.self) { try batch.updateData(from: Unencodable(), forDocument: reference) }
    #expect(try await db.pendingWrites().count == 1)
  }

  @Test("with a server: the waiting form, batches and transactions, and notFound for a document that does not exist")
  func withServer() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let city = db.document("cities/OAK")
      let missing = await thrown { try await city.updateDataAndWait(from: Change(mayor: nil)) }
      #expect(missing?.code == FirestoreErrorCode.notFound.rawValue)
      let nothing = await thrown { try await city.updateDataAndWait(from: [String: Int]()) }
      #expect(nothing?.code == FirestoreErrorCode.notFound.rawValue)

      try await city.setData(["name": "Oakland", "visits": 1])
      try await city.updateDataAndWait(from: Change(mayor: "Thao", visits: .increment(Int64(1))))
      let batch = db.batch()
      try batch.updateData(from: Change(mayor: "Lee"), forDocument: city)
        .updateData(from: ["name": "O"], forDocument: city)
      try await batch.commit()
      _ = try await db.runTransaction { transaction, errorPointer in
        do {
          try transaction.updateData(from: ["visits": 10], forDocument: city).updateData(
            from: ["a.b": 1], forDocument: city)
        } catch { errorPointer?.pointee = error as NSError }
        return nil
      }
      let fields = try await city.getDocument(source: .server).fieldMap()
      #expect(fields == ["name": "O", "mayor": "Lee", "visits": 10, "a.b": 1])
      try await db.terminate()
    }
  }
}
