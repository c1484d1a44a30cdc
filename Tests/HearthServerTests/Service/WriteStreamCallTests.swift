import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("Write streams", .everyStorage)
struct WriteStreamCallTests {
  private typealias Request = Google_Firestore_V1_WriteRequest
  private typealias Response = Google_Firestore_V1_WriteResponse

  private var handshake: Request { .with { $0.database = ServerFixture.database.resourceName } }

  private func batch(_ mutations: [Mutation], label: String? = nil) -> Request {
    .with {
      $0.writes = mutations.map { ServerFixture.translator.encode($0) }
      $0.labels["hearth-batch"] = label
    }
  }

  private func increment(_ path: String) -> Mutation {
    Mutation(
      key: key(path), operation: .patch(.empty, mask: .empty),
      transforms: [FieldTransform(path: field("n"), operation: .increment(1.value))])
  }

  @Test("each request is one commit with one response; an empty one ends the stream")
  func conversation() async throws {
    try await ServerFixture.withServer { fixture in
      let responses: [Response] = try await fixture.converse(
        Method.Write.descriptor,
        [handshake, batch([.set(key("a/1"), [:]), .set(key("a/2"), [:])]), batch([.delete(key("a/1"))]), Request()])
      #expect(responses.count == 4)
      #expect(!responses[0].streamID.isEmpty && !responses[0].streamToken.isEmpty && !responses[0].hasCommitTime)
      #expect(responses[1].writeResults.count == 2 && responses[1].hasCommitTime)
      #expect(responses[2].writeResults.count == 1)
      #expect(Set(responses.map(\.streamToken)).count == 4)
      #expect(try await fixture.ids(Query(path: path("a"))) == ["2"])
    }
  }

  @Test("the handshake has a database and nothing else; the header stands in for a missing name")
  func handshakes() async throws {
    try await ServerFixture.withServer { fixture in
      func first(_ request: Request, _ fixture: ServerFixture) async -> (code: RPCError.Code, message: String)? {
        await failure { try await fixture.converse(Method.Write.descriptor, [request]) as [Response] }
      }
      var early = handshake
      early.writes = [ServerFixture.translator.encode(.delete(key("a/1")))]
      #expect(await first(early, fixture)?.message == "'writes' must not be set on an initial write request.")
      var resumed = handshake
      resumed.streamID = "7"
      #expect(await first(resumed, fixture)?.message == "Resuming streams is not supported, do not set stream ID.")
      #expect(await first(Request(), fixture)?.code == .invalidArgument)
      var headed = fixture
      headed.metadata = ["google-cloud-resource-prefix": "\(ServerFixture.database.resourceName)"]
      #expect(await first(Request(), headed) == nil)
    }
  }

  @Test("a failing batch ends the stream with its status; what came before it stays")
  func failingBatch() async throws {
    try await ServerFixture.withServer { fixture in
      let failed = await failure {
        try await fixture.converse(
          Method.Write.descriptor,
          [handshake, batch([.set(key("a/1"), [:])]), batch([.set(key("a/1"), [:], precondition: .exists(false))])])
          as [Response]
      }
      #expect(failed?.code == .alreadyExists)
      let ids = try await fixture.ids(Query(path: path("a")))
      #expect(ids == ["1"])
    }
  }

  private func label(_ number: UInt64) -> String {
    BatchLabel(cacheID: "cache", identity: BatchIdentity(high: 0, low: number)).text
  }

  @Test("the answer to the handshake announces that labels are known")
  func announcement() async throws {
    try await ServerFixture.withServer { fixture in
      let responses: [Response] = try await fixture.converse(Method.Write.descriptor, [handshake])
      #expect(responses.map(\.streamID) == ["hearth-batch-labels-1"])
      #expect(try ServerFixture.translator.decode(responses[0]).knowsBatchLabels)
    }
  }

  @Test("a labelled batch is applied once: a repetition on another stream, also after a restart, gets the first answer")
  func labels() async throws {
    try await withTemporaryFolder { folder in
      let requests = [handshake, batch([increment("a/n"), .delete(key("a/x"))], label: label(7))]
      let first = try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let first: [Response] = try await fixture.converse(Method.Write.descriptor, requests)
        let repeated: [Response] = try await fixture.converse(Method.Write.descriptor, requests)
        #expect(repeated[1] == first[1])
        return first[1]
      }
      #expect(first.writeResults[0].transformResults[0].integerValue == 1)
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let again: [Response] = try await fixture.converse(Method.Write.descriptor, requests)
        #expect(again[1] == first)
        #expect(try await fixture.get("a/n").fields["n"]?.integerValue == 1)
        let other = [
          handshake, batch([increment("a/n")], label: label(8)),
          batch([increment("a/n"), .delete(key("a/y"))], label: label(7)),
        ]
        _ = try await fixture.converse(Method.Write.descriptor, other) as [Response]
        #expect(try await fixture.get("a/n").fields["n"]?.integerValue == 3)
      }
    }
  }

  @Test(
    "a label that is none is refused and nothing applied",
    arguments: ["", "cache/7", "af63dc4c8601ec8c", "AF63DC4C8601EC8C-00000000000000ab0000000000000001"])
  func brokenLabels(label: String) async throws {
    try await ServerFixture.withServer { fixture in
      let failed = await failure {
        try await fixture.converse(Method.Write.descriptor, [handshake, batch([increment("a/n")], label: label)])
          as [Response]
      }
      #expect(failed?.code == .invalidArgument)
      #expect(await failure { try await fixture.get("a/n") }?.code == .notFound)
    }
  }
}
