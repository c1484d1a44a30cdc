import Testing

@testable import HearthModel

@Suite("Timestamps and versions")
struct TimestampTests {
  @Test(
    "microseconds before and after the epoch come back", arguments: [0, 1, -1, 999_999, -999_999, -1_000_000, 1 << 53])
  func microseconds(_ microseconds: Int64) {
    let timestamp = Timestamp(microseconds: microseconds)
    #expect(timestamp.microseconds == microseconds)
    #expect((0..<1_000_000_000).contains(timestamp.nanoseconds))
    #expect(SnapshotVersion(microseconds: microseconds).microseconds == microseconds)
  }

  @Test("the digits below a microsecond are cut, never rounded")
  func truncation() {
    #expect(
      Timestamp(seconds: -2, nanoseconds: 123_456_999).truncatedToMicroseconds()
        == Timestamp(seconds: -2, nanoseconds: 123_456_000))
  }

  @Test("nanoseconds out of range are carried")
  func carry() {
    #expect(Timestamp(seconds: 1, nanoseconds: -1) == Timestamp(seconds: 0, nanoseconds: 999_999_999))
    #expect(Timestamp(seconds: 1, nanoseconds: 2_000_000_001) == Timestamp(seconds: 3, nanoseconds: 1))
  }

  @Test("the ends of the range saturate")
  func saturation() {
    #expect(Timestamp(seconds: .max, nanoseconds: 0).microseconds == .max)
    #expect(Timestamp(seconds: .min, nanoseconds: 0).microseconds == .min)
    #expect(Timestamp(microseconds: .max).microseconds == .max)
    #expect(Timestamp(microseconds: .min).microseconds == .min)
    #expect(Timestamp(seconds: .max, nanoseconds: .max).seconds == .max)
    #expect(Timestamp(seconds: .min, nanoseconds: .min).seconds == .min)
  }

  @Test("seconds decide before nanoseconds")
  func order() {
    let ascending = [(-1, 0), (-1, 5), (0, 0), (0, 1), (1, 0)].map {
      Timestamp(seconds: $0.0, nanoseconds: Int32($0.1))
    }
    #expect(ascending == ascending.shuffled().sorted())
    #expect(SnapshotVersion.none < SnapshotVersion(microseconds: 1))
  }
}

@Suite("Status errors")
struct StatusErrorTests {
  @Test("codes have gRPC's numbers and names")
  func codes() {
    #expect(StatusCode.allCases.map(\.rawValue) == Array(0...16))
    #expect(StatusCode.unauthenticated.rawValue == 16)
    #expect(
      "\(StatusError(code: .failedPrecondition, message: "no index"))" == "FAILED_PRECONDITION: no index")
  }
}
