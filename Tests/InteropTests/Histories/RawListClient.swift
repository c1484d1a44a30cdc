import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import GRPCProtobuf
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf

/// The protocol itself: transactions of all kinds, ended in the middle at times. Each call takes the next connection, which may lead to another
/// server of the same databases.
actor RawListClient: ListClient {
  /// A mistake of the client that makes an anomaly of its history, although the server makes none.
  enum Mistake: CaseIterable {
    /// Reads a list and writes it without a transaction.
    case lostUpdate
    /// Reads a list without a transaction, and then writes another one.
    case writeSkew
    /// Takes the state of some time ago for the present one.
    case staleRead
  }

  nonisolated let name: String
  nonisolated let queries: Bool
  private let isOptimistic: Bool
  private let mistake: Mistake?
  /// True if servers fail. A call that has no answer may have been carried out.
  private let expectsFailures: Bool
  private let clients: [GRPCClient<HTTP2ClientTransport.Posix>]
  private var turn = 0
  private let translator: WireTranslator
  /// The id of a transaction that was begun and then left by a kill. The next transaction names it as the one that it retries.
  private var last = Data()
  private var lastReadTime: Google_Protobuf_Timestamp?

  private typealias Method = Google_Firestore_V1_Firestore.Method
  private static let metadata: Metadata = ["authorization": "Bearer owner"]

  init(
    name: String, database: DatabaseID, clients: [GRPCClient<HTTP2ClientTransport.Posix>], isOptimistic: Bool = false,
    mistake: Mistake? = nil, expectsFailures: Bool = false
  ) {
    self.name = name
    self.expectsFailures = expectsFailures
    self.clients = clients
    self.isOptimistic = isOptimistic
    self.mistake = mistake
    queries = mistake == nil
    translator = WireTranslator(database: database)
  }

  func end() async throws {}

  private func nextClient() -> GRPCClient<HTTP2ClientTransport.Posix> {
    turn += 1
    return clients[turn % clients.count]
  }

  func perform(_ plan: ListPlan, isKilled: Bool) async throws -> ListAnswer {
    for _ in 0..<10 {
      do {
        return try await attempt(plan, isKilled: isKilled)
      } catch let error as RPCError where error.code == .aborted {
        continue
      } catch let error as RPCError
        where error.code == .invalidArgument
        && (error.message.contains("expired") || error.message.contains("closed"))
      {
        // It was idle for too long, and nothing of it was carried out. The server calls it closed when it has forgotten it already.
        return .failed
      } catch is RPCError where isKilled || expectsFailures {
        return .unknown
      } catch is CancellationError where isKilled {
        // It was cancelled before gRPC had begun with the call.
        return .unknown
      }
    }
    return .failed
  }

  /// Reads lists as they are, without a transaction.
  func read(_ lists: [String]) async throws -> [String: [Int]] {
    try await get(lists) { _ in }
  }

  private func attempt(_ plan: ListPlan, isKilled: Bool) async throws -> ListAnswer {
    if plan.isBlind {
      try await commit(plan, [:], Data(), isKilled: isKilled)
      return ListAnswer(outcome: "committed")
    }
    if let mistake { return try await err(plan, mistake) }
    let transaction = try await begin(plan)
    last = transaction
    var reads: [String: [Int]] = [:]
    if !plan.reads.isEmpty { reads = try await get(plan.reads) { $0.transaction = transaction } }
    if let group = plan.group {
      let found = try await query(group, of: plan, transaction)
      for (list, numbers) in found { reads[list] = numbers }
      for list in ListPlan.lists(ofGroup: group, epoch: plan.epoch) where reads[list] == nil { reads[list] = [] }
    }
    // A client that vanishes now leaves its locks behind.
    if isKilled, plan.epoch % 2 == 0 { return .failed }
    try await commit(plan, reads, transaction, isKilled: isKilled)
    last = Data()
    return ListAnswer(outcome: "committed", reads: reads)
  }

  private func err(_ plan: ListPlan, _ mistake: Mistake) async throws -> ListAnswer {
    let time = plan.isReadOnly && mistake == .staleRead ? lastReadTime : nil
    let reads = try await get(plan.reads) { if let time { $0.readTime = time } }
    guard !plan.isReadOnly else { return ListAnswer(outcome: "committed", reads: reads) }
    switch mistake {
    case .lostUpdate: try await commit(plan, reads, Data(), isKilled: false)
    case .writeSkew: try await commit(plan, [:], Data(), isKilled: false)
    case .staleRead:
      let transaction = try await begin(plan)
      let reads = try await get(plan.reads) { $0.transaction = transaction }
      try await commit(plan, reads, transaction, isKilled: false)
      return ListAnswer(outcome: "committed", reads: reads)
    }
    return ListAnswer(outcome: "committed", reads: reads)
  }

  // MARK: - Calls

  private func begin(_ plan: ListPlan) async throws -> Data {
    var request = Google_Firestore_V1_BeginTransactionRequest()
    request.database = translator.database.resourceName
    if plan.isReadOnly {
      request.options.readOnly = .init()
    } else {
      request.options.readWrite.retryTransaction = last
      if isOptimistic { request.options.readWrite.concurrencyMode = .optimistic }
    }
    return try await unary(
      Method.BeginTransaction.descriptor, request, answer: Google_Firestore_V1_BeginTransactionResponse.self
    ).transaction
  }

  private func get(
    _ lists: [String], _ change: (inout Google_Firestore_V1_BatchGetDocumentsRequest) -> Void
  ) async throws -> [String: [Int]] {
    var request = translator.encodeBatchGet(try lists.map { try DocumentKey.list($0) })
    change(&request)
    let translator = translator
    let (reads, time) = try await nextClient().serverStreaming(
      request: ClientRequest(message: request, metadata: Self.metadata),
      descriptor: Method.BatchGetDocuments.descriptor,
      serializer: ProtobufSerializer<Google_Firestore_V1_BatchGetDocumentsRequest>(),
      deserializer: ProtobufDeserializer<Google_Firestore_V1_BatchGetDocumentsResponse>(), options: .defaults
    ) { response in
      var reads: [String: [Int]] = [:]
      var time: Google_Protobuf_Timestamp?
      for try await message in response.messages {
        guard let document = try translator.decode(message) else { continue }
        reads[document.key.path.last ?? ""] = try document.numbers()
        time = message.readTime
      }
      return (reads, time)
    }
    if lastReadTime == nil || mistake == nil { lastReadTime = time }
    return reads
  }

  private func query(_ group: Int, of plan: ListPlan, _ transaction: Data) async throws -> [String: [Int]] {
    let query = try Query(path: DocumentKey.list("x").collectionPath)
      .with(filter: .field(.of("epoch"), .equal, .integer(Int64(plan.epoch))))
      .with(filter: .field(.of("group"), .equal, .integer(Int64(group))))
    let (parent, structuredQuery) = translator.structuredQuery(query.target)
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = parent
    request.structuredQuery = structuredQuery
    request.transaction = transaction
    let translator = translator
    return try await nextClient().serverStreaming(
      request: ClientRequest(message: request, metadata: Self.metadata), descriptor: Method.RunQuery.descriptor,
      serializer: ProtobufSerializer<Google_Firestore_V1_RunQueryRequest>(),
      deserializer: ProtobufDeserializer<Google_Firestore_V1_RunQueryResponse>(), options: .defaults
    ) { response in
      var reads: [String: [Int]] = [:]
      for try await message in response.messages where !message.document.isEmpty {
        let document = try translator.decode(documentBytes: message.document, readTime: .none)
        reads[document.key.path.last ?? ""] = try document.numbers()
      }
      return reads
    }
  }

  private func commit(
    _ plan: ListPlan, _ reads: [String: [Int]], _ transaction: Data, isKilled: Bool
  ) async throws {
    let mutations = try plan.appends.map { append -> Mutation in
      var fields: MapValue = [
        "epoch": .integer(Int64(plan.epoch)), "group": .integer(Int64(append.group)),
      ]
      guard !append.isBlind, let numbers = reads[append.list] else {
        let paths: [FieldPath] = try [.of("epoch"), .of("group")]
        let union = TransformOperation.arrayUnion([.integer(Int64(append.number))])
        return try .patch(
          .list(append.list), fields, mask: FieldMask(paths),
          precondition: .none, transforms: [FieldTransform(path: .of("numbers"), operation: union)])
      }
      fields["numbers"] = .array((numbers + [append.number]).map { .integer(Int64($0)) })
      return try .set(.list(append.list), fields)
    }
    var request = translator.encodeCommit(mutations)
    request.transaction = transaction
    let call = Task { [request] in
      try await unary(Method.Commit.descriptor, request, answer: Google_Firestore_V1_CommitResponse.self)
    }
    if isKilled { call.cancel() }
    _ = try await call.value
  }

  private func unary<Request: SwiftProtobuf.Message, Answer: SwiftProtobuf.Message>(
    _ method: MethodDescriptor, _ request: Request, answer: Answer.Type
  ) async throws -> Answer {
    try await nextClient().unary(
      request: ClientRequest(message: request, metadata: Self.metadata), descriptor: method,
      serializer: ProtobufSerializer<Request>(), deserializer: ProtobufDeserializer<Answer>(), options: .defaults
    ) { try $0.message }
  }
}

extension DocumentKey {
  fileprivate static func list(_ name: String) throws -> DocumentKey { try DocumentKey(parsing: "lists/\(name)") }
}

extension FieldPath {
  fileprivate static func of(_ name: String) throws -> FieldPath { try FieldPath([name]) }
}

extension Document {
  fileprivate func numbers() throws -> [Int] {
    guard case .array(let values)? = try fields.value(at: .of("numbers")) else { return [] }
    return values.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
  }
}
