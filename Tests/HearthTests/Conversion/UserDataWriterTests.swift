import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Showing stored values")
struct UserDataWriterTests {
  let firestore: Firestore

  init() throws {
    firestore = try TestFirestore().firestore
  }

  func any(_ value: Value, _ behavior: ServerTimestampBehavior = .none) -> Any {
    UserDataWriter(firestore: firestore, behavior: behavior).any(value)
  }

  @Test("numbers cast to every Swift number type on every platform")
  func numbers() {
    let integer = any(.integer(42))
    #expect(integer as? Int == 42)
    #expect(integer as? Int64 == 42)
    #expect(integer as? Double == 42)
    #expect(integer is NSNumber)
    #expect(any(.double(1.5)) as? Double == 1.5)
    #expect(any(.boolean(true)) as? Bool == true)
    #expect((any(.boolean(true)) as? NSNumber)?.isBoolean == true)
    #expect((any(.integer(1)) as? NSNumber)?.isBoolean == false)
  }

  @Test("the other kinds become the documented types")
  func kinds() throws {
    #expect(any(.null) is NSNull)
    #expect(any(.string("x")) as? String == "x")
    #expect(any(.bytes([1])) as? Data == Data([1]))
    #expect(
      any(.geoPoint(HearthModel.GeoPoint(latitude: 1, longitude: 2))) as? Hearth.GeoPoint
        == Hearth.GeoPoint(latitude: 1, longitude: 2))
    #expect(any(.vector([1, 2])) as? VectorValue == VectorValue([1, 2]))
    #expect(any([1, "a"]) as? [AnyHashable] == [1, "a"])
    #expect((any(["a": ["b": 1]]) as? [String: Any])?["a"] as? [String: Int] == ["b": 1])
    let time = HearthModel.Timestamp(seconds: 1, nanoseconds: 2_000)
    #expect(any(.timestamp(time)) as? Hearth.Timestamp == Hearth.Timestamp(seconds: 1, nanoseconds: 2_000))
  }

  @Test("references of another database become references of this one")
  func references() throws {
    let foreign = ReferenceValue(database: DatabaseID(projectID: "other"), key: try DocumentKey(parsing: "a/b"))
    #expect(any(.reference(foreign)) as? DocumentReference == firestore.document("a/b"))
  }

  @Test("pending server timestamps show as the behaviour says")
  func serverTimestamps() {
    let time = HearthModel.Timestamp(seconds: 9, nanoseconds: 0)
    let pending = Value.pendingServerTimestamp(localWriteTime: time, previousValue: 7)
    let fresh = Value.pendingServerTimestamp(localWriteTime: time, previousValue: nil)
    #expect(any(pending) is NSNull)
    #expect(any(pending, .estimate) as? Hearth.Timestamp == Hearth.Timestamp(seconds: 9, nanoseconds: 0))
    #expect(any(pending, .previous) as? Int == 7)
    #expect(any(fresh, .previous) is NSNull)
  }

  @Test("names that are equal to Swift only do not stop the process")
  func canonicallyEquivalentNames() {
    let map = MapValue(entries: [("\u{E9}", 1), ("e\u{301}", 2)])
    #expect(UserDataWriter(firestore: firestore, behavior: .none).dictionary(map).count == 1)
  }
}
