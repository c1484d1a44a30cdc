internal import GRPCCore
internal import GRPCNIOTransportHTTP2
internal import GRPCProtobuf
package import HearthModel
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreTransport {
  /// Commits `mutations` at once or not at all.
  ///
  /// - Returns: the commit's version and one result for each mutation.
  /// - Throws: the backend's refusal, or `unavailable` when it cannot be reached; then the writes may or may not
  ///   have been applied if the connection broke in between.
  package func commit(
    _ mutations: [Mutation]
  ) async throws(StatusError) -> (commitVersion: SnapshotVersion, results: [MutationResult]) {
    let request = translator.encodeCommit(mutations)
    let answer = try await call { client, metadata, options in
      try await client.unary(
        request: ClientRequest(message: request, metadata: metadata),
        descriptor: Google_Firestore_V1_Firestore.Method.Commit.descriptor,
        serializer: ProtobufSerializer<Google_Firestore_V1_CommitRequest>(),
        deserializer: IncomingMessageDeserializer<Google_Firestore_V1_CommitResponse>(), options: options
      ) { response in
        try response.message
      }
    }
    let (commitVersion, results) = try decoded { try translator.decode(answer) }
    guard results.count == mutations.count else {
      throw StatusError(
        code: .internal,
        message:
          "\(configuration.endpoint) answered a commit of \(mutations.count) writes with \(results.count) results.")
    }
    return (commitVersion, results)
  }

  /// Makes the backend aggregate the result of a query.
  ///
  /// - Parameter deadline: The time by which the answer must be there; nil for that of all calls.
  /// - Returns: the values by the aggregations' aliases, and the version of the database that they are of, if the backend names it.
  package func aggregate(
    _ query: Query, _ aggregations: [Aggregation], until deadline: ContinuousClock.Instant? = nil
  ) async throws(StatusError) -> (values: [String: Value], readTime: SnapshotVersion?) {
    let request = translator.encodeAggregation(query, aggregations)
    let translator = translator
    let (values, readTime) = try await call(until: deadline) { client, metadata, options in
      try await client.serverStreaming(
        request: ClientRequest(message: request, metadata: metadata),
        descriptor: Google_Firestore_V1_Firestore.Method.RunAggregationQuery.descriptor,
        serializer: ProtobufSerializer<Google_Firestore_V1_RunAggregationQueryRequest>(),
        deserializer: IncomingMessageDeserializer<Google_Firestore_V1_RunAggregationQueryResponse>(),
        options: options
      ) { response in
        var values: [String: Value] = [:]
        var readTime: SnapshotVersion?
        for try await message in response.messages {
          if let more = try translator.decode(message) { values.merge(more) { _, last in last } }
          readTime = try translator.decodeReadTime(message) ?? readTime
        }
        return (values, readTime)
      }
    }
    for aggregation in aggregations {
      let value = values[aggregation.alias]
      guard let value, aggregation.canResult(in: value) else {
        let answer = value == nil ? "did not answer" : "answered with a value of another kind"
        throw StatusError(
          code: .internal,
          message: "\(configuration.endpoint) \(answer) for aggregation \"\(aggregation.alias)\".")
      }
    }
    return (values, readTime)
  }

  /// Makes one call with the headers and limits that all calls have.
  ///
  /// - Parameters:
  ///   - timeout: The time that the backend has for its answer; nil for that of all calls.
  ///   - deadline: The time by which the answer must be there; nil for none.
  ///   - body: Asks the backend. It is not called if an error comes before that, such as one of the credentials.
  func call<Answer: Sendable>(
    timeout: Duration? = nil, until deadline: ContinuousClock.Instant? = nil,
    _ body: (GRPCClient<HTTP2ClientTransport.Posix>, Metadata, CallOptions) async throws -> Answer
  ) async throws(StatusError) -> Answer {
    var used: Connection?
    var tokens: RequestTokens?
    do {
      let connection = try connection()
      let limit = try timeLimit(timeout, until: deadline)
      let end = ContinuousClock.now + limit
      let present = try await tokenFetches.tokens(configuration, until: end)
      tokens = present
      let headers = try RequestHeaders(configuration, present)
      let rest = try timeLimit(limit, until: end)
      used = connection
      return try await body(connection.client, headers.metadata, callOptions(timeout: rest))
    } catch {
      let error = StatusError(error, endpoint: configuration.endpoint, stage: .unknown)
        .hiding(tokens?.secrets ?? [])
      if error.code == .unauthenticated, let tokens { invalidate(tokens) }
      if let used {
        review(used, after: error)
      }
      throw error
    }
  }

  /// The time limit of a call that begins now.
  ///
  /// - Throws: `deadlineExceeded` if nothing is left of it.
  private func timeLimit(_ timeout: Duration?, until deadline: ContinuousClock.Instant?) throws(StatusError) -> Duration
  {
    let limit = timeout ?? configuration.callTimeout
    guard let deadline else { return limit }
    let rest = ContinuousClock.now.duration(to: deadline)
    guard rest > .zero else {
      throw StatusError(
        code: .deadlineExceeded, message: "The deadline has passed before \(configuration.endpoint) was asked.")
    }
    return min(limit, rest)
  }

  func decoded<Answer>(_ body: () throws -> Answer) throws(StatusError) -> Answer {
    do {
      return try body()
    } catch {
      throw StatusError(error, endpoint: configuration.endpoint, stage: .connected)
    }
  }

  func callOptions(timeout: Duration?) -> CallOptions {
    var options = CallOptions.defaults
    options.timeout = timeout
    // Fail at the first refusal instead of waiting in gRPC's queue.
    options.waitForReady = false
    options.maxRequestMessageBytes = configuration.maxMessageBytes
    options.maxResponseMessageBytes = configuration.maxMessageBytes
    return options
  }
}
