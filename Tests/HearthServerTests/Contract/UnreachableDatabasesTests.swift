import Foundation
import HearthModel
import HearthRPC
import HearthWire
import NIOCore
import RawHTTP2
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("A server whose databases are out of reach", .timeLimit(.minutes(2)))
struct UnreachableDatabasesTests {
  @Test(
    "each call fails with UNAVAILABLE, however far it gets, and the server serves the next one",
    arguments: [false, true])
  func calls(knowsNames: Bool) async throws {
    let service = FirestoreService(sessions: Sessions(databases: UnreachableDatabases(knowsNames: knowsNames)))
    #expect(Set(EveryCall.calls.map(\.method)) == Set(service.methods.map(\.name)))
    let server = CallServer(
      services: [FirestoreService.name: service.methods], limits: ServerLimits(),
      authenticator: DevelopmentAuthenticator(),
      interceptor: nil,
      logger: ServerFixture.quietLogger)
    let listening = try await CallListener(
      server: server, connections: OpenConnections(), refusals: 1, prepare: nil
    ).listen(host: "127.0.0.1", port: 0)
    let port = try #require(listening.localAddress?.port)
    try await RawHTTP2Client.withConnection(toPort: port) { client in
      for _ in 0..<2 {
        for (method, status) in try await EveryCall.statuses(of: client) {
          let expected =
            switch method {
            case "ExecutePipeline": "12"
            // Each of its writes has a status of its own.
            case "BatchWrite" where knowsNames: "0"
            default: "14"
            }
          #expect(status == expected, "\(method)")
        }
      }
    }
    try await listening.close().get()
  }
}
