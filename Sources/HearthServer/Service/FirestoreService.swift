internal import GRPCCore
internal import HearthModel
internal import HearthWire
internal import Logging
internal import SwiftProtobuf

/// The gRPC service `google.firestore.v1.Firestore`: decodes requests, calls the storage, encodes answers.
struct FirestoreService: Google_Firestore_V1_Firestore.ServiceProtocol {
  let backend: EmbeddedBackend
  let logger: Logger
  /// The interval at which an idle listen stream gets a fresh resume token, if there were commits.
  let tokenRefreshInterval: Duration

  /// Runs the body of a unary call and gives its errors the form of gRPC.
  func unary<Output: Sendable>(
    _ context: ServerContext, _ body: () async throws -> Output
  ) async throws -> ServerResponse<Output> {
    do {
      return ServerResponse(message: try await body())
    } catch {
      throw failure(error, in: context)
    }
  }

  /// Runs the body of a call that answers with a stream.
  func streaming<Output: Sendable>(
    _ context: ServerContext, _ body: @escaping @Sendable (RPCWriter<Output>) async throws -> Void
  ) -> StreamingServerResponse<Output> {
    StreamingServerResponse { writer in
      do {
        try await body(writer)
        return [:]
      } catch {
        throw failure(error, in: context)
      }
    }
  }

  func failure(_ error: any Error, in context: ServerContext) -> RPCError {
    let rpcError = RPCError(error)
    // An answer to a client that has disconnected fails too; that is not a defect of the server.
    let clientIsGone = context.cancellation.isCancelled
    let isServerFault = rpcError.code == .dataLoss || rpcError.code == .internalError && !clientIsGone
    let level: Logger.Level = isServerFault ? .error : .debug
    logger.log(
      level: level, "call failed",
      metadata: [
        "method": .escaped(context.descriptor.method), "code": "\(rpcError.code)",
        "message": .escaped(rpcError.message),
      ])
    return rpcError
  }

  func unimplemented(_ context: ServerContext) -> RPCError {
    RPCError(
      code: .unimplemented,
      message: "\(context.descriptor.service.fullyQualifiedService).\(context.descriptor.method) is not served.")
  }

  // MARK: - Not served yet

  func executePipeline(
    request: ServerRequest<Google_Firestore_V1_ExecutePipelineRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_ExecutePipelineResponse> {
    throw unimplemented(context)
  }

  func partitionQuery(
    request: ServerRequest<Google_Firestore_V1_PartitionQueryRequest>, context: ServerContext
  ) async throws -> ServerResponse<Google_Firestore_V1_PartitionQueryResponse> {
    throw unimplemented(context)
  }
}
