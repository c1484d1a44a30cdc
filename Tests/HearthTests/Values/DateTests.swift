import Foundation
import HearthModel
import TestSupport
import Testing

@testable import Hearth

/// A `Date` is a binary fraction, which may lie just below the microsecond that it stands for.
@Suite("Dates", .timeLimit(.minutes(1)))
struct DateTests {
  private struct Visit: Codable, Equatable, Sendable {
    var at: Date
    @ServerTimestamp var seen: Date?
  }

  /// Random times with whole microseconds, before 1970 too, and awkward ones.
  private static func times(_ count: Int) -> [Hearth.Timestamp] {
    var numbers = SeededGenerator(seed: 1)
    let edges: [(Int64, Int32)] = [
      (1_700_000_000, 123_000_000), (1_700_000_000, 999_999_000), (-1, 999_999_000), (0, 1_000),
      (4_294_967_295, 999_999_000),
      (-4_294_967_296, 1_000), (978_307_199, 999_999_000),
    ]
    return edges.map { Hearth.Timestamp(seconds: $0, nanoseconds: $1) }
      + (0..<count).map { _ in
        Hearth.Timestamp(
          seconds: Int64.random(in: -2_000_000_000...4_000_000_000, using: &numbers),
          nanoseconds: Int32(numbers.below(1_000_000)) * 1_000)
      }
  }

  @Test("a time with whole microseconds stays the same as a date, in every conversion")
  func roundTrip() throws {
    for time in Self.times(1_000) {
      let date = time.dateValue()
      #expect(Hearth.Timestamp(date: date) == time)
      #expect(try Date.unwrap(date) == time)
      for content in [FieldContent.date(date), try FieldContent(checking: date, at: "at")] {
        guard case .timestamp(let stored) = content else { throw CancellationError() }
        #expect(stored == time)
      }
    }
  }

  @Test("a date between two microseconds becomes the nearer one, also across a second and before 1970")
  func nearest() throws {
    for (interval, seconds, microseconds) in [
      (0.0000004, 0, 0), (0.0000006, 0, 1), (0.9999996, 1, 0), (-0.0000004, 0, 0), (-0.0000006, -1, 999_999),
      (1.9999999, 2, 0), (-1.0000001, -1, 0),
    ] as [(Double, Int64, Int32)] {
      let time = Hearth.Timestamp(date: Date(timeIntervalSince1970: interval))
      #expect(time == Hearth.Timestamp(seconds: seconds, nanoseconds: microseconds * 1_000), "\(interval)")
    }
  }

  @Test("far dates stay in the range, and settle after one round")
  func farDates() throws {
    for interval in [
      253_402_300_799.0, 253_402_300_800.0.nextDown, -62_135_596_800.0, 99_999_999_999.9, -61_000_000_000.3,
    ] {
      let time = Hearth.Timestamp(date: Date(timeIntervalSince1970: interval))
      #expect(Hearth.Timestamp.validSeconds.contains(time.seconds) && (0..<1_000_000_000).contains(time.nanoseconds))
      #expect(Hearth.Timestamp(date: time.dateValue()) == time)
    }
    let below = Date(timeIntervalSince1970: (-62_135_596_800.0).nextDown)
    #expect(throws: ProgrammingError.self) { try HearthModel.Timestamp(checking: below) }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(Visit(at: below)) }
  }

  @Test("a document that is read as a model and written back keeps its dates")
  func models() async throws {
    let db = try await TestFirestore.offline()
    let visit = db.document("visits/v")
    for time in Self.times(30) {
      visit.setData(["at": time, "seen": time], completion: nil)
      for _ in 1...3 {
        let model = try await visit.getDocument(source: .cache).data(as: Visit.self)
        try visit.setData(from: model)
      }
      let stored = try await visit.getDocument(source: .cache)
      #expect(stored.get("at") as? Hearth.Timestamp == time && stored.get("seen") as? Hearth.Timestamp == time)
    }
  }

  @Test("a date finds its document, and pages that start after a date repeat none")
  func queries() async throws {
    let db = try await TestFirestore.offline()
    let visits = db.collection("visits")
    let times = Self.times(40)
    for (index, time) in times.enumerated() { visits.document("\(index)").setData(["at": time], completion: nil) }
    for time in times {
      #expect(
        try await visits.whereField("at", isEqualTo: time.dateValue()).getDocuments(source: .cache).count
          == times.count { $0 == time })
    }
    for descending in [false, true] {
      var seen: [String] = []
      var page = visits.order(by: "at", descending: descending).limit(to: 7)
      while let last = try await next(page, &seen) {
        page = visits.order(by: "at", descending: descending).start(after: [last]).limit(to: 7)
      }
      #expect(seen.count == times.count && Set(seen).count == seen.count)
    }
  }

  private func next(_ page: Hearth.Query, _ seen: inout [String]) async throws -> Date? {
    let result = try await page.getDocuments(source: .cache)
    seen += result.ids
    return (result.documents.last?.get("at") as? Hearth.Timestamp)?.dateValue()
  }
}
