import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Values")
struct ValueTests {
  @Test(
    "dates become timestamps with a part below a second that counts forward",
    arguments: [
      (0.0, 0, 0), (1.5, 1, 500_000_000), (-0.25, -1, 750_000_000), (-1.0, -1, 0), (-1e-17, 0, 0),
      (-62_135_596_800, -62_135_596_800, 0),
    ] as [(Double, Int64, Int32)])
  func dates(interval: Double, seconds: Int64, nanoseconds: Int32) throws {
    let timestamp = Hearth.Timestamp(date: Date(timeIntervalSince1970: interval))
    #expect(timestamp.seconds == seconds)
    #expect(timestamp.nanoseconds == nanoseconds)
  }

  @Test("dates and fields out of range are refused", arguments: [1e300, -1e300, .nan, .infinity, 253_402_300_800])
  func datesOutOfRange(interval: Double) {
    #expect(throws: ProgrammingError.self) {
      try HearthModel.Timestamp(checking: Date(timeIntervalSince1970: interval))
    }
  }

  @Test("the last moments of the year 9999 can be written back", arguments: [999_900_000, 999_999_000, 999_999_999])
  func endOfTime(nanoseconds: Int32) {
    let date = Hearth.Timestamp(seconds: 253_402_300_799, nanoseconds: nanoseconds).dateValue()
    let writtenBack = try? HearthModel.Timestamp(checking: date)
    #expect(writtenBack?.seconds == 253_402_300_799)
    #expect(abs((writtenBack?.nanoseconds ?? 0) - nanoseconds) < 60_000)
  }

  @Test("fields of a timestamp have their ranges")
  func ranges() {
    #expect(throws: ProgrammingError.self) { try Hearth.Timestamp.validate(seconds: 0, nanoseconds: -1) }
    #expect(throws: ProgrammingError.self) { try Hearth.Timestamp.validate(seconds: 0, nanoseconds: 1_000_000_000) }
    #expect(throws: ProgrammingError.self) {
      try Hearth.Timestamp.validate(seconds: 253_402_300_800, nanoseconds: 0)
    }
    #expect(throws: Never.self) { try Hearth.Timestamp.validate(seconds: -62_135_596_800, nanoseconds: 999_999_999) }
  }

  @Test("timestamps compare and convert")
  func timestamps() {
    let early = Hearth.Timestamp(seconds: 1, nanoseconds: 5)
    let late = Hearth.Timestamp(seconds: 1, nanoseconds: 6)
    #expect(early.compare(late) == .orderedAscending)
    #expect(late.compare(early) == .orderedDescending)
    #expect(early == Hearth.Timestamp(seconds: 1, nanoseconds: 5))
    #expect(early.hash == Hearth.Timestamp(seconds: 1, nanoseconds: 5).hash)
    #expect(Hearth.Timestamp(seconds: 2, nanoseconds: 500_000_000).dateValue().timeIntervalSince1970 == 2.5)
    #expect(abs(Hearth.Timestamp().dateValue().timeIntervalSinceNow) < 60)
  }

  @Test(
    "positions have their ranges",
    arguments: [(91, 0), (-90.1, 0), (.nan, 0), (0, 180.5), (0, -.infinity)] as [(Double, Double)])
  func positions(latitude: Double, longitude: Double) {
    #expect(throws: ProgrammingError.self) {
      try Hearth.GeoPoint.validate(latitude, name: "latitude", limit: 90)
      try Hearth.GeoPoint.validate(longitude, name: "longitude", limit: 180)
    }
  }

  @Test("field values are equal by operation and operands")
  func fieldValues() {
    #expect(FieldValue.serverTimestamp() == FieldValue.serverTimestamp())
    #expect(FieldValue.delete() != FieldValue.serverTimestamp())
    #expect(FieldValue.arrayUnion([1, "a"]) == FieldValue.arrayUnion([1, "a"]))
    #expect(FieldValue.arrayUnion([1]) != FieldValue.arrayRemove([1]))
    #expect(FieldValue.increment(1) == FieldValue.increment(Int64(1)))
    #expect(FieldValue.increment(1.0) != FieldValue.increment(Int64(1)))
    #expect(FieldValue.minimum(1) != FieldValue.maximum(1))
  }

  @Test("field paths take any character but no empty name")
  func fieldPaths() {
    #expect(Hearth.FieldPath(["a.b", "`"]).description == "`a.b`.`\\``")
    #expect(Hearth.FieldPath(["a"]) == Hearth.FieldPath(["a"]))
    #expect(Hearth.FieldPath.documentID().model.isDocumentKey)
    #expect(throws: ProgrammingError.self) { try Hearth.FieldPath.checked([]) }
    #expect(
      throws: ProgrammingError("Invalid field name at index 1. Field names must not be empty.")
    ) { try Hearth.FieldPath.checked(["a", ""]) }
    for bad in ["", ".", "a.", ".a", "a..b", "a~b", "a*b", "a/b", "a[b", "a]b"] {
      #expect(throws: ProgrammingError.self, "\(bad)") { try Hearth.FieldPath.parsed(bad) }
    }
  }
}
