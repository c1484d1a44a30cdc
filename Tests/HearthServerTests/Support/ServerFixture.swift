import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import GRPCProtobuf
import HearthModel
import HearthRPC
import HearthServer
import HearthTransport
import HearthWire
import Logging
import Metrics
import SwiftProtobuf
import Synchronization

typealias Method = Google_Firestore_V1_Firestore.Method

/// A server and a client that is connected to it over a real socket.
struct ServerFixture: Sendable {
  let server: EmbeddedServer
  let client: GRPCClient<HTTP2ClientTransport.Posix>
  var metadata: Metadata = [:]

  static let database = DatabaseID(projectID: "test")
  static let translator = WireTranslator(database: database)

  static var quietLogger: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  /// Runs `body` against a server of its own.
  static func withServer<R: Sendable>(
    storage: StorageLocation = .memory, clock: ServerClock = .system, tokenRefreshInterval: Duration = .seconds(30),
    connectionLimits: ConnectionLimits = ConnectionLimits(), limits: ServerLimits = ServerLimits(),
    databaseLimits: DatabaseLimits = DatabaseLimits(),
    indexFile: String? = nil, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
    _ body: (ServerFixture) async throws -> R
  ) async throws -> R {
    var limits = limits
    limits.connection = connectionLimits
    return try await withServerAlone(storage: storage) {
      $0.clock = clock
      $0.intervals.tokenRefresh = tokenRefreshInterval
      $0.indexFile = indexFile
      $0.intervals.indexFile = .milliseconds(20)
      $0.limits = limits
      $0.databaseLimits = databaseLimits
      $0.metrics = metrics
    } _: { server in
      try await withClient(of: server, body)
    }
  }

  /// Runs `body` against a server of its own, to which nobody is connected.
  static func withServerAlone<R: Sendable>(
    storage: StorageLocation = .memory, _ configure: (inout EmbeddedServer.Configuration) -> Void,
    _ body: (EmbeddedServer) async throws -> R
  ) async throws -> R {
    var configuration = EmbeddedServer.Configuration(storage: storage)
    configure(&configuration)
    let location = try await TestedStorage.current.location(inPlaceOf: storage, clock: configuration.clock)
    let server = try await EmbeddedServer.start(storage: location, logger: quietLogger) {
      configure(&$0)
      // As in memory.
      if location != storage { $0.permissions.insert(.clearing) }
    }
    let result: Result<R, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    await server.shutdown()
    return try result.get()
  }

  /// Runs `body` with one more client.
  static func withClient<R: Sendable>(
    of server: EmbeddedServer, _ body: (ServerFixture) async throws -> R
  ) async throws -> R {
    let client = GRPCClient(
      transport: try .http2NIOPosix(
        target: .ipv4(address: "127.0.0.1", port: server.port), transportSecurity: .plaintext))
    let connections = Task { try await client.runConnections() }
    let result: Result<R, any Error>
    do {
      result = .success(try await body(ServerFixture(server: server, client: client)))
    } catch {
      result = .failure(error)
    }
    client.beginGracefulShutdown()
    // A body that makes no calls may end before the connections begin; they refuse to, which is no failure.
    _ = await connections.result
    return try result.get()
  }

  // MARK: - Calls

  func unary<Request: Message, Response: Message>(
    _ descriptor: MethodDescriptor, _ request: Request, as: Response.Type = Response.self
  ) async throws -> Response {
    try await client.unary(
      request: ClientRequest(message: request, metadata: metadata), descriptor: descriptor,
      serializer: ProtobufSerializer<Request>(), deserializer: ProtobufDeserializer<Response>(), options: .defaults
    ) { try $0.message }
  }

  func list<Request: Message, Response: Message>(
    _ descriptor: MethodDescriptor, _ request: Request, as: Response.Type = Response.self
  ) async throws -> [Response] {
    try await client.serverStreaming(
      request: ClientRequest(message: request, metadata: metadata), descriptor: descriptor,
      serializer: ProtobufSerializer<Request>(), deserializer: ProtobufDeserializer<Response>(), options: .defaults
    ) { response in
      var messages: [Response] = []
      for try await message in response.messages { messages.append(message) }
      return messages
    }
  }

  /// Sends all requests, closes this side and gives what came back until the server closed its.
  func converse<Request: Message, Response: Message>(
    _ descriptor: MethodDescriptor, _ requests: [Request], as: Response.Type = Response.self
  ) async throws -> [Response] {
    try await client.bidirectionalStreaming(
      request: StreamingClientRequest(metadata: metadata) { try await $0.write(contentsOf: requests) },
      descriptor: descriptor, serializer: ProtobufSerializer<Request>(),
      deserializer: ProtobufDeserializer<Response>(), options: .defaults
    ) { response in
      var messages: [Response] = []
      for try await message in response.messages { messages.append(message) }
      return messages
    }
  }

  /// Opens a listen stream, sends `requests` and hands over each response; returning false closes the stream.
  func listen(
    _ requests: [Google_Firestore_V1_ListenRequest],
    _ onResponse: @escaping @Sendable (Google_Firestore_V1_ListenResponse) async throws -> Bool
  ) async throws {
    let (open, close) = AsyncStream<Never>.makeStream()
    try await client.bidirectionalStreaming(
      request: StreamingClientRequest(metadata: metadata) { writer in
        try await writer.write(contentsOf: requests)
        for await _ in open {}
      },
      descriptor: Method.Listen.descriptor, serializer: ProtobufSerializer<Google_Firestore_V1_ListenRequest>(),
      deserializer: ProtobufDeserializer<Google_Firestore_V1_ListenResponse>(), options: .defaults
    ) { response in
      defer { close.finish() }
      for try await message in response.messages where try await !onResponse(message) { return }
    }
  }

  // MARK: - Shorthands

  @discardableResult
  func commit(
    _ mutations: [Mutation], transaction: Data = Data()
  ) async throws -> Google_Firestore_V1_CommitResponse {
    var request = Google_Firestore_V1_CommitRequest()
    request.database = Self.database.resourceName
    request.writes = mutations.map { Self.translator.encode($0) }
    request.transaction = transaction
    return try await unary(Method.Commit.descriptor, request)
  }

  func set(_ path: String, _ fields: MapValue = [:]) async throws {
    try await commit([.set(key(path), fields)])
  }

  func get(_ path: String) async throws -> Google_Firestore_V1_Document {
    var request = Google_Firestore_V1_GetDocumentRequest()
    request.name = name(path)
    return try await unary(Method.GetDocument.descriptor, request)
  }

  /// The ids of a query's result in order.
  func ids(_ query: Query) async throws -> [String] {
    try await run(query).filter { !$0.document.isEmpty }.map {
      try Self.translator.decode(documentBytes: $0.document, readTime: .none).key.id
    }
  }

  func run(_ query: Query) async throws -> [Google_Firestore_V1_RunQueryResponse] {
    try await list(Method.RunQuery.descriptor, queryRequest(query))
  }

  func queryRequest(_ query: Query) -> Google_Firestore_V1_RunQueryRequest {
    let (parent, structuredQuery) = Self.translator.structuredQuery(query.target)
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = parent
    request.structuredQuery = structuredQuery
    return request
  }
}

func key(_ path: String) -> DocumentKey {
  do { return try DocumentKey(parsing: path) } catch { fatalError("\(error)") }
}

func path(_ text: String) -> ResourcePath {
  do { return try ResourcePath(parsing: text) } catch { fatalError("\(error)") }
}

func field(_ path: String) -> FieldPath {
  do { return try FieldPath(parsingServerFormat: path) } catch { fatalError("\(error)") }
}

func name(_ path: String) -> String { "\(ServerFixture.database.documentsName)/\(path)" }

func documentBytes(_ path: String?, _ fields: MapValue) -> Data {
  Data(
    EncodedDocument.encode(
      name: path.map(name) ?? "", fields: EncodedFields(fields), createTime: nil, updateTime: nil))
}

/// The code and message with which `body` fails.
func failure(of body: () async throws -> some Sendable) async -> (code: RPCError.Code, message: String)? {
  do {
    _ = try await body()
    return nil
  } catch let error as RPCError {
    return (error.code, error.message)
  } catch {
    return (.unknown, "\(error)")
  }
}

/// A folder that is removed at the end.
func withTemporaryFolder<R>(_ body: (String) async throws -> R) async throws -> R {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-server-\(UUID().uuidString)").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

/// A clock that stands still until it is moved.
final class ManualClock: Sendable {
  private let microseconds: Mutex<Int64>

  init(microseconds: Int64 = 1_700_000_000_000_123) {
    self.microseconds = Mutex(microseconds)
  }

  var clock: ServerClock { ServerClock { Timestamp(microseconds: self.now) } }
  var now: Int64 { microseconds.withLock { $0 } }

  func advance(seconds: Int64) { advance(milliseconds: seconds * 1_000) }
  func advance(milliseconds: Int64) { microseconds.withLock { $0 += milliseconds * 1_000 } }
}
