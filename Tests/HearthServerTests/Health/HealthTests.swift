import GRPCCore
import HearthModel
import Testing

@testable import HearthRPC
@testable import HearthServer

/// Passes the bytes of messages on as they are.
struct BytesCoder: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }
  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
    bytes.withUnsafeBytes { [UInt8]($0) }
  }
}

@Suite("Health")
struct HealthTests {
  private static let service = ServiceDescriptor(fullyQualifiedService: "grpc.health.v1.Health")

  private func request(_ service: String) -> ClientRequest<[UInt8]> {
    var writer = WireWriter()
    if !service.isEmpty { writer.writeString(service, field: 1) }
    return ClientRequest(message: writer.bytes)
  }

  @Test("the server and its services are serving, and others are not known")
  func check() async throws {
    try await ServerFixture.withServer { fixture in
      let method = MethodDescriptor(service: Self.service, method: "Check")
      for service in ["", "google.firestore.v1.Firestore", "grpc.health.v1.Health"] {
        let answer = try await fixture.client.unary(
          request: request(service), descriptor: method, serializer: BytesCoder(), deserializer: BytesCoder(),
          options: .defaults
        ) { try $0.message }
        #expect(answer == [8, 1])
      }
      let unknown = await failure {
        try await fixture.client.unary(
          request: request("x"), descriptor: method, serializer: BytesCoder(), deserializer: BytesCoder(),
          options: .defaults
        ) { try $0.message }
      }
      #expect(unknown == .notFound)
    }
  }

  private func failure(_ body: () async throws -> [UInt8]) async -> RPCError.Code? {
    do {
      _ = try await body()
      return nil
    } catch {
      return (error as? RPCError)?.code
    }
  }

  @Test("the list names all services")
  func list() async throws {
    try await ServerFixture.withServer { fixture in
      let answer = try await fixture.client.unary(
        request: request(""), descriptor: MethodDescriptor(service: Self.service, method: "List"),
        serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
      ) { try $0.message }
      var output = JSONOutput(isPretty: false)
      let index = try #require(ProtoSchema.server.index(of: "grpc.health.v1.HealthListResponse"))
      try answer.withUnsafeBytes { try JSONEncoding(schema: .server).write($0, of: index, to: &output) }
      #expect(
        String(decoding: output.bytes, as: UTF8.self)
          == #"{"statuses":{"":{"status":"SERVING"},"grpc.health.v1.Health":{"status":"SERVING"},"#
          + #""google.firestore.v1.Firestore":{"status":"SERVING"}}}"#)
    }
  }

  @Test("a watcher hears that the server ends")
  func watch() async throws {
    try await ServerFixture.withServer { fixture in
      let (states, continuation) = AsyncStream.makeStream(of: [UInt8].self)
      async let watching: Void = Self.watch(fixture, request(""), continuation)
      var seen: [[UInt8]] = []
      for await state in states {
        seen.append(state)
        if seen.count == 1 { await fixture.server.shutdown() }
      }
      await watching
      #expect(seen == [[8, 1], [8, 2]])
    }
  }

  /// Passes the states on until the stream ends.
  private static func watch(
    _ fixture: ServerFixture, _ request: ClientRequest<[UInt8]>, _ states: AsyncStream<[UInt8]>.Continuation
  ) async {
    _ = try? await fixture.client.serverStreaming(
      request: request, descriptor: MethodDescriptor(service: service, method: "Watch"), serializer: BytesCoder(),
      deserializer: BytesCoder(), options: .defaults
    ) { response in
      for try await message in response.messages { states.yield(message) }
    }
    states.finish()
  }
}
