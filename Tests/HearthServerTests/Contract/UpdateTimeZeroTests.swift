import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

/// Mobile SDKs before November 2022 send it for every document that a transaction has read as missing.
@Suite("An update time of 0 as a precondition", .everyStorage)
struct UpdateTimeZeroTests {
  private static func mutations(_ path: String) -> [(name: String, mutation: Mutation)] {
    let (key, zero) = (key(path), Precondition.updateTime(.none))
    let transform = FieldTransform(path: field("s"), operation: .serverTimestamp)
    return [
      ("set", .set(key, ["n": 1.value], precondition: zero)),
      ("merge", .patch(key, ["n": 1.value], mask: FieldMask([field("n")]), precondition: zero)),
      ("transform", .patch(key, [:], mask: .empty, precondition: zero, transforms: [transform])),
      ("delete", .delete(key, precondition: zero)),
      ("verify", Mutation(key: key, operation: .verify, precondition: zero)),
    ]
  }

  @Test("means that the document is not there: every write of a missing one is carried out, in every kind of request")
  func missing() async throws {
    try await ServerFixture.withServer { fixture in
      for kind in Kind.allCases {
        for (name, mutation) in Self.mutations("c/\(kind)") {
          try await fixture.commit([.delete(mutation.key)])
          #expect(await kind.failure(of: mutation, fixture) == nil, "\(kind), \(name)")
          let isThere = await failure { try await fixture.get("c/\(kind)") } == nil
          #expect(isThere == (name != "delete" && name != "verify"), "\(kind), \(name)")
        }
      }
    }
  }

  @Test("is not met by a document that is there, which is FAILED_PRECONDITION and leaves it as it is")
  func there() async throws {
    try await ServerFixture.withServer { fixture in
      for kind in Kind.allCases {
        try await fixture.set("c/\(kind)", ["before": 1.value])
        let before = try await fixture.get("c/\(kind)")
        for (name, mutation) in Self.mutations("c/\(kind)") {
          #expect(await kind.failure(of: mutation, fixture) == .failedPrecondition, "\(kind), \(name)")
        }
        #expect(try await fixture.get("c/\(kind)") == before)
      }
    }
  }

  @Test("over REST")
  func rest() async throws {
    try await RESTCallTests.withClient { client, _ in
      let zero = "currentDocument.updateTime=1970-01-01T00:00:00Z"
      let document = RESTPath.documents + "/t/a"
      for (verb, body, path, status) in [
        ("PATCH", "{}", document, 200), ("PATCH", "{}", document, 400), ("DELETE", nil, document, 400),
        ("DELETE", nil, RESTPath.documents + "/t/b", 200),
      ] {
        #expect(try await client.request(verb, "\(path)?\(zero)", body).status == status, "\(verb) \(path)")
      }
      #expect(try await client.request("DELETE", document).status == 200)
      #expect(try await client.request("PATCH", "\(document)?\(zero)", "{}").status == 200, "it was there before")
      let later = "currentDocument.updateTime=1970-01-01T00:00:01Z"
      #expect(try await client.request("PATCH", RESTPath.documents + "/t/c?\(later)", "{}").status == 400)
      let earlier = try await client.request(
        "PATCH", RESTPath.documents + "/t/c?currentDocument.updateTime=1969-12-31T23:59:59Z", "{}")
      #expect(earlier.status == 400 && earlier.body.contains("Only timestamps past epoch are supported."))
    }
  }

  private enum Kind: CaseIterable {
    case commit, transaction, batchWrite, stream

    func failure(of mutation: Mutation, _ fixture: ServerFixture) async -> RPCError.Code? {
      let write = ServerFixture.translator.encode(mutation)
      let database = ServerFixture.database.resourceName
      switch self {
      case .commit: return await HearthServerTests.failure { try await fixture.commit([mutation]) }?.code
      case .transaction:
        return await HearthServerTests.failure {
          let begin = Google_Firestore_V1_BeginTransactionRequest.with { $0.database = database }
          let begun: Google_Firestore_V1_BeginTransactionResponse = try await fixture.unary(
            Method.BeginTransaction.descriptor, begin)
          _ = try await fixture.commit([mutation], transaction: begun.transaction)
        }?.code
      case .batchWrite:
        do {
          let request = Google_Firestore_V1_BatchWriteRequest.with { ($0.database, $0.writes) = (database, [write]) }
          let response: Google_Firestore_V1_BatchWriteResponse = try await fixture.unary(
            Method.BatchWrite.descriptor, request)
          let code = Int(response.status.first?.code ?? -1)
          return Status.Code(rawValue: code).flatMap { RPCError.Code($0) }
        } catch {
          return .unknown
        }
      case .stream:
        return await HearthServerTests.failure {
          let requests: [Google_Firestore_V1_WriteRequest] = [
            .with { $0.database = database }, .with { $0.writes = [write] },
          ]
          _ = try await fixture.converse(
            Method.Write.descriptor, requests, as: Google_Firestore_V1_WriteResponse.self)
        }?.code
      }
    }
  }
}
