internal import GRPCCore
internal import GRPCProtobuf
package import HearthModel
internal import HearthWire
internal import Synchronization

extension FirestoreTransport {
  /// Reads the state of `keys`: one document for each distinct key, in the order of `keys`, found or missing.
  ///
  /// An answer that takes longer than a call may, or breaks off, is continued by another call at the same version, as long as each call
  /// brings at least one more document.
  ///
  /// - Parameters:
  ///   - version: A version that an earlier answer named; nil for the present state.
  ///   - deadline: The time by which the whole answer must be there; nil for none.
  package func batchGetDocuments(
    _ keys: [DocumentKey], at version: SnapshotVersion? = nil, until deadline: ContinuousClock.Instant? = nil
  ) async throws(StatusError) -> [Document] {
    let answer = PartialAnswer(keys, at: version)
    if let failure = try await read(answer, until: deadline) { throw failure }
    return try answer.documents(from: configuration.endpoint)
  }

  /// As ``batchGetDocuments(_:at:until:)``, but distinguishes failures that remain if the call is repeated.
  ///
  /// - Returns: A failure if the backend has sent a document that cannot be understood.
  /// - Throws: The backend's refusal. An error that comes before the backend was asked says nothing about the documents, whatever its code.
  ///   It is thrown as `unavailable`.
  package func readableDocuments(
    _ keys: [DocumentKey]
  ) async throws(StatusError) -> Result<[Document], StatusError> {
    let answer = PartialAnswer(keys, at: nil)
    do throws(StatusError) {
      if let failure = try await read(answer, until: nil) { return .failure(failure) }
    } catch {
      throw answer.wasAskedFor ? error : StatusError(code: .unavailable, message: error.message)
    }
    return .success(try answer.documents(from: configuration.endpoint))
  }

  /// Asks for the documents of an answer until all have come.
  ///
  /// - Returns: The error of a document that cannot be understood.
  private func read(
    _ answer: PartialAnswer, until deadline: ContinuousClock.Instant?
  ) async throws(StatusError) -> StatusError? {
    var reason: StatusError?
    while !answer.rest.keys.isEmpty {
      do throws(StatusError) {
        let failure = try await readOn(answer, until: deadline)
        return failure.map { StatusError($0, endpoint: configuration.endpoint, stage: .connected) }
      } catch {
        let isOver = deadline.map { $0 <= ContinuousClock.now } ?? false
        guard [.deadlineExceeded, .unavailable].contains(error.code), !isOver, answer.hasGrown() else {
          // What stops the rest, such as a version that has become too old, need not stop another attempt.
          throw reason ?? error
        }
        reason = error
      }
    }
    return nil
  }

  /// Asks for the documents that an answer does not have.
  ///
  /// - Returns: The reason for which one of them cannot be understood.
  private func readOn(
    _ answer: PartialAnswer, until deadline: ContinuousClock.Instant?
  ) async throws(StatusError) -> WireError? {
    let (keys, version) = answer.rest
    let request = translator.encodeBatchGet(keys, at: version)
    let translator = translator
    return try await call(until: deadline) { client, metadata, options in
      answer.noteAsked()
      return try await client.serverStreaming(
        request: ClientRequest(message: request, metadata: metadata),
        descriptor: Google_Firestore_V1_Firestore.Method.BatchGetDocuments.descriptor,
        serializer: ProtobufSerializer<Google_Firestore_V1_BatchGetDocumentsRequest>(),
        deserializer: IncomingMessageDeserializer<Google_Firestore_V1_BatchGetDocumentsResponse>(),
        options: options
      ) { response in
        for try await message in response.messages {
          do throws(WireError) {
            if let document = try translator.decode(message) { answer.add(document) }
          } catch {
            return error
          }
        }
        return nil
      }
    }
  }
}

/// The documents of a batch read that have come by now.
private final class PartialAnswer: Sendable {
  private struct State {
    /// The latest one at which a document was read. Up to it the documents that came before are unchanged.
    var readTime: SnapshotVersion?
    var documents: [DocumentKey: Document] = [:]
    var wasAskedFor = false
    /// The number of documents at the last look.
    var seenCount = 0
  }

  private let keys: [DocumentKey]
  private let wanted: Set<DocumentKey>
  /// The version to read at, if the caller has named one.
  private let version: SnapshotVersion?
  private let state: Mutex<State>

  init(_ keys: [DocumentKey], at version: SnapshotVersion?) {
    var seen: Set<DocumentKey> = []
    self.keys = keys.filter { seen.insert($0).inserted }
    wanted = seen
    self.version = version
    state = Mutex(State())
  }

  /// The documents that have not come, and the version to read them at.
  var rest: (keys: [DocumentKey], version: SnapshotVersion?) {
    state.withLock { state in (keys.filter { state.documents[$0] == nil }, version ?? state.readTime) }
  }

  /// True if the backend was asked, so that an error may be its answer.
  var wasAskedFor: Bool { state.withLock { $0.wasAskedFor } }

  func noteAsked() {
    state.withLock { $0.wasAskedFor = true }
  }

  /// Ignores a document that was not asked for.
  func add(_ document: Document) {
    guard wanted.contains(document.key) else { return }
    state.withLock { state in
      state.documents[document.key] = document
      if document.readTime > state.readTime ?? SnapshotVersion.none { state.readTime = document.readTime }
    }
  }

  /// Returns true if there are more documents than the last time.
  func hasGrown() -> Bool {
    state.withLock { state in
      defer { state.seenCount = state.documents.count }
      return state.documents.count > state.seenCount
    }
  }

  /// - Throws: INTERNAL if one is missing.
  func documents(from endpoint: String) throws(StatusError) -> [Document] {
    let found = state.withLock { $0.documents }
    var ordered: [Document] = []
    for key in keys {
      guard let document = found[key] else {
        throw StatusError(
          code: .internal,
          message: "The answer of \(endpoint) lacks document \"\(key.canonicalString)\", which was asked for.")
      }
      ordered.append(document)
    }
    return ordered
  }
}
