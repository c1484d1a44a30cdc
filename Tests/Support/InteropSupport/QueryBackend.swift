package import GRPCCore
package import GRPCNIOTransportHTTP2
import GRPCProtobuf
package import HearthModel
import HearthTransport
import HearthWire

/// One database of a backend, to be filled and queried by the protocol itself.
package struct QueryBackend: Sendable {
  package let client: GRPCClient<HTTP2ClientTransport.Posix>
  package let database: DatabaseID

  private typealias Method = Google_Firestore_V1_Firestore.Method
  private static let metadata: Metadata = ["authorization": "Bearer owner"]

  package init(client: GRPCClient<HTTP2ClientTransport.Posix>, database: DatabaseID) {
    self.client = client
    self.database = database
  }

  private var translator: WireTranslator { WireTranslator(database: database) }

  /// Runs `body` with a connection to the backend at a port of this machine.
  package static func withConnection<R: Sendable>(
    port: Int, _ body: (GRPCClient<HTTP2ClientTransport.Posix>) async throws -> R
  ) async throws -> R {
    try await withGRPCClient(
      transport: .http2NIOPosix(target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
    ) { try await body($0) }
  }

  package func commit(_ mutations: [Mutation]) async throws {
    _ = try await client.unary(
      request: ClientRequest(message: translator.encodeCommit(mutations), metadata: Self.metadata),
      descriptor: Method.Commit.descriptor, serializer: ProtobufSerializer<Google_Firestore_V1_CommitRequest>(),
      deserializer: ProtobufDeserializer<Google_Firestore_V1_CommitResponse>(), options: .defaults
    ) { try $0.message }
  }

  /// The documents of a query's result in the order of its target: a limit to the last documents comes reversed.
  package func run(_ query: Query) async throws -> [Document] {
    let (parent, structuredQuery) = translator.structuredQuery(query.target)
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = parent
    request.structuredQuery = structuredQuery
    let translator = translator
    return try await client.serverStreaming(
      request: ClientRequest(message: request, metadata: Self.metadata), descriptor: Method.RunQuery.descriptor,
      serializer: ProtobufSerializer<Google_Firestore_V1_RunQueryRequest>(),
      deserializer: ProtobufDeserializer<Google_Firestore_V1_RunQueryResponse>(), options: .defaults
    ) { response in
      var documents: [Document] = []
      for try await message in response.messages where !message.document.isEmpty {
        documents.append(try translator.decode(documentBytes: message.document, readTime: .none))
      }
      return documents
    }
  }
}
