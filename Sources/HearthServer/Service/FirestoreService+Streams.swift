internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

// MARK: - Write

extension FirestoreService {
  func write(
    _ requests: RequestStream<Google_Firestore_V1_WriteRequest>, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_WriteResponse>
  ) async throws {
    guard let first = try await requests.next() else { return }
    let name = try databaseName(first.database, metadata: call.metadata, field: "WriteRequest.database")
    var session = WriteSession(database: try await sessions.open(name, for: call))
    try await writer.write(session.greeting(to: first))
    while let message = try await requests.next() {
      let (response, isLast) = try await session.answer(message)
      try await writer.write(response)
      if isLast { return }
    }
  }

  /// The database of a stream: the message names it, or the header that all SDKs send.
  func databaseName(
    _ name: String, metadata: CallMetadata, field: String
  ) throws(StatusError) -> DatabaseID {
    if name.isEmpty, let prefix = metadata["google-cloud-resource-prefix"].first {
      return try ResourceName.database(prefix, at: "google-cloud-resource-prefix")
    }
    return try ResourceName.database(name, at: field)
  }
}

// MARK: - Listen

extension FirestoreService {
  /// Handles requests, commits and refreshes one after the other until the client closes its side.
  func listen(
    _ requests: RequestStream<Google_Firestore_V1_ListenRequest>, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_ListenResponse>
  ) async throws {
    let stream = ListenStream(service: self, call: call, writer: writer)
    defer { stream.end() }
    while true {
      let input = try await call.nextInput()
      if case .end = input { return }
      async let step: Void = stream.handle(input)
      try await step
    }
  }
}
