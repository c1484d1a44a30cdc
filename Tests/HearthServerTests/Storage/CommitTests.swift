import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("Commits", .everyStorage)
struct CommitTests {
  @Test("an error that names a very long document arrives as that error")
  func longNames() async throws {
    try await ServerFixture.withServer { fixture in
      // 5.8 KB of UTF-8, three times that in the header of the answer.
      let long = (0..<8).map { _ in String(repeating: "\u{e9}", count: 363) }.joined(separator: "/")
      let failed = await failure {
        try await fixture.commit([.patch(key(long), [:], mask: .empty)])
      }
      #expect(failed?.code == .notFound)
      #expect(failed?.message.hasPrefix("No document to update: ") == true)
    }
  }

  @Test("all writes of a commit share its time; a delete has no update time")
  func results() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/old")
      let response = try await fixture.commit([
        .set(key("a/1"), [:]), .set(key("a/2"), ["x": 1.value]), .delete(key("a/old")),
      ])
      #expect(response.writeResults.count == 3)
      #expect(response.writeResults[0].updateTime == response.commitTime)
      #expect(response.writeResults[1].updateTime == response.commitTime)
      #expect(!response.writeResults[2].hasUpdateTime)
      let later = try await fixture.commit([.set(key("a/1"), ["y": 1.value])])
      #expect(Self.microseconds(later.commitTime) > Self.microseconds(response.commitTime))
    }
  }

  static func microseconds(_ time: Google_Protobuf_Timestamp) -> Int64 {
    time.seconds * 1_000_000 + Int64(time.nanos) / 1000
  }

  @Test("a write that changes nothing keeps the update time")
  func unchanged() async throws {
    try await ServerFixture.withServer { fixture in
      let first = try await fixture.commit([.set(key("a/b"), ["x": 1.value, "y": .string("z")])])
      let same = try await fixture.commit([.set(key("a/b"), ["y": .string("z"), "x": 1.value])])
      #expect(same.writeResults[0].updateTime == first.writeResults[0].updateTime)
      #expect(same.commitTime != first.commitTime)
      let different = try await fixture.commit([.set(key("a/b"), ["x": .double(1), "y": .string("z")])])
      #expect(different.writeResults[0].updateTime == different.commitTime)
    }
  }

  @Test("one commit may update, delete and create the same document")
  func sameDocument() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/b", ["n": 1.value])
      try await fixture.commit([
        .patch(key("a/b"), ["n": 2.value], mask: FieldMask([field("n")])), .delete(key("a/b")),
        .set(key("a/b"), ["new": 1.value], precondition: .exists(false)),
      ])
      let document = try await fixture.get("a/b")
      #expect(document.fields.keys.sorted() == ["new"])
      #expect(document.createTime == document.updateTime)
    }
  }

  @Test("a failing write undoes those before it")
  func atomic() async throws {
    try await ServerFixture.withServer { fixture in
      let failed = await failure {
        try await fixture.commit([
          .set(key("a/1"), [:]), .patch(key("a/none"), ["x": 1.value], mask: FieldMask([field("x")])),
        ])
      }
      #expect(failed?.code == .notFound)
      #expect(failed?.message == "No document to update: \(name("a/none"))")
      #expect(await failure { try await fixture.get("a/1") }?.code == .notFound)
    }
  }

  @Test("an update time that is not the stored one is FAILED_PRECONDITION, one of the future INVALID_ARGUMENT")
  func updateTimes() async throws {
    try await ServerFixture.withServer { fixture in
      let stored = try await fixture.commit([.set(key("a/b"), [:])])
      let version = SnapshotVersion(microseconds: Self.microseconds(stored.commitTime))
      let older = SnapshotVersion(microseconds: version.microseconds - 1)
      let mismatch = await failure {
        try await fixture.commit([.set(key("a/b"), ["x": 1.value], precondition: .updateTime(older))])
      }
      #expect(mismatch?.code == .failedPrecondition)
      #expect(
        mismatch?.message == "the stored version (\(version.microseconds)) does not match the required base version "
          + "(\(older.microseconds))")
      let future = SnapshotVersion(microseconds: version.microseconds + 3_600_000_000)
      let early = await failure { try await fixture.commit([.delete(key("a/b"), precondition: .updateTime(future))]) }
      #expect(early?.code == .invalidArgument)
      try await fixture.commit([.set(key("a/b"), ["x": 1.value], precondition: .updateTime(version))])
    }
  }

  @Test("transforms report their results, in order, and server timestamps agree within a commit")
  func transforms() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/b", ["n": 5.value, "tags": .array([1.value])])
      let response = try await fixture.commit([
        Mutation(
          key: key("a/b"), operation: .patch(.empty, mask: .empty),
          transforms: [
            FieldTransform(path: field("n"), operation: .increment(2.value)),
            FieldTransform(path: field("t"), operation: .serverTimestamp),
            FieldTransform(path: field("tags"), operation: .arrayUnion([1.value, 2.value])),
          ]),
        Mutation(
          key: key("a/c"), operation: .patch(.empty, mask: .empty),
          transforms: [FieldTransform(path: field("t"), operation: .serverTimestamp)]),
      ])
      let results = response.writeResults[0].transformResults
      #expect(results.count == 3)
      #expect(results[0].integerValue == 7)
      #expect(results[1].timestampValue.nanos % 1_000_000 == 0)
      #expect(results[1] == response.writeResults[1].transformResults[0])
      #expect(results[2].valueType == .nullValue(.nullValue))
      let document = try await fixture.get("a/b")
      #expect(document.fields["tags"]?.arrayValue.values.map(\.integerValue) == [1, 2])
    }
  }

  @Test("verify checks without writing and reports the present update time")
  func verify() async throws {
    try await ServerFixture.withServer { fixture in
      let stored = try await fixture.commit([.set(key("a/b"), [:])])
      let verify = Mutation(key: key("a/b"), operation: .verify, precondition: .exists(true))
      let response = try await fixture.commit([verify])
      #expect(response.writeResults[0].updateTime == stored.commitTime)
      let bare = await failure { try await fixture.commit([Mutation(key: key("a/b"), operation: .verify)]) }
      #expect(bare?.code == .invalidArgument)
      #expect(bare?.message.contains("a verify must contain a precondition") == true)
      let absent = Mutation(key: key("a/none"), operation: .verify, precondition: .exists(true))
      #expect(await failure { try await fixture.commit([absent]) }?.code == .notFound)
    }
  }

  @Test("timestamps are cut to microseconds")
  func microsecondTimestamps() async throws {
    try await ServerFixture.withServer { fixture in
      let time = Value.timestamp(Timestamp(seconds: 5, nanoseconds: 123_456_789))
      try await fixture.set("a/b", ["t": time, "m": .map(["l": .array([time])])])
      let document = try await fixture.get("a/b")
      #expect(document.fields["t"]?.timestampValue.nanos == 123_456_000)
      #expect(document.fields["m"]?.mapValue.fields["l"]?.arrayValue.values[0].timestampValue.nanos == 123_456_000)
    }
  }

  @Test("501 writes fit into one commit")
  func manyWrites() async throws {
    try await ServerFixture.withServer { fixture in
      let response = try await fixture.commit((0..<501).map { .set(key("many/\($0)"), ["i": $0.value]) })
      #expect(response.writeResults.count == 501)
      #expect(try await fixture.ids(Query(path: path("many"))).count == 501)
    }
  }

  @Test("commit times rise although the clock stands still or goes back over a restart")
  func clockGoesBack() async throws {
    try await withTemporaryFolder { folder in
      let clock = ManualClock()
      var last: Int64 = 0
      for restart in 0..<3 {
        if restart > 0 { clock.advance(seconds: -3600) }
        try await ServerFixture.withServer(storage: .folder(folder), clock: clock.clock) { fixture in
          for i in 0..<3 {
            let response = try await fixture.commit([.set(key("a/b"), ["i": (restart * 3 + i).value])])
            let time = Self.microseconds(response.commitTime)
            #expect(time > last)
            last = time
          }
        }
      }
    }
  }

  @Test("a batch write applies what it can and answers each write")
  func batchWrite() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/exists")
      try await fixture.set("a/gone")
      var request = Google_Firestore_V1_BatchWriteRequest()
      request.database = ServerFixture.database.resourceName
      request.writes = [
        Mutation.set(key("a/1"), ["x": 1.value]),
        .patch(key("a/none"), ["x": 1.value], mask: FieldMask([field("x")])),
        .set(key("a/exists"), [:], precondition: .exists(false)), .delete(key("a/gone")),
      ].map { ServerFixture.translator.encode($0) }
      let response: Google_Firestore_V1_BatchWriteResponse = try await fixture.unary(
        Method.BatchWrite.descriptor, request)
      #expect(response.status.map(\.code) == [0, 5, 6, 0])
      #expect(response.writeResults.count == 4)
      #expect(response.writeResults[0].hasUpdateTime && !response.writeResults[1].hasUpdateTime)
      #expect(try await fixture.get("a/1").fields["x"]?.integerValue == 1)

      request.writes = [Mutation.set(key("a/1"), [:]), .delete(key("a/1"))].map { ServerFixture.translator.encode($0) }
      let twice = await failure {
        try await fixture.unary(Method.BatchWrite.descriptor, request) as Google_Firestore_V1_BatchWriteResponse
      }
      #expect(twice?.code == .invalidArgument)
      #expect(twice?.message == "the same document cannot be written more than once in a single request")
    }
  }
}
