internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

// MARK: - Reading documents by name

extension FirestoreService {
  func getDocument(
    _ message: Google_Firestore_V1_GetDocumentRequest, _ call: ServerCall
  ) async throws -> [UInt8] {
    let (id, key) = try ResourceName.document(message.name, at: "name")
    let database = try await sessions.open(id, for: call)
    let projection = try projection(message.hasMask ? message.mask : nil, database)
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, for: .get([key]), in: database)
    let documents = try await plan.reading { version throws(StatusError) in
      try await database.documents(for: [key], at: version).documents
    }
    guard let document = documents.first, document.isFound else {
      throw StatusError(code: .notFound, message: "Document \"\(message.name)\" not found.")
    }
    return [UInt8](database.translator.encodeDocument(try projection.applied(to: document)))
  }

  func batchGetDocuments(
    _ message: Google_Firestore_V1_BatchGetDocumentsRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_BatchGetDocumentsResponse>
  ) async throws {
    let database = try await sessions.open(ResourceName.database(message.database, at: "database"), for: call)
    let projection = try projection(message.hasMask ? message.mask : nil, database)
    var seen: Set<DocumentKey> = []
    var keys: [DocumentKey] = []
    for (index, name) in message.documents.enumerated() {
      if index > 0, index.isMultiple(of: Self.namesPerTurn) { await Task.yield() }
      let (id, key) = try ResourceName.document(name, at: "documents")
      guard id == database.id else {
        throw StatusError.invalid("documents: \"\(name)\" is not in the database \"\(message.database)\"")
      }
      if seen.insert(key).inserted { keys.append(key) }
    }
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, for: .get(keys[...]), in: database)
    var isAnnounced = false
    do {
      try await sendDocuments(keys, projection, plan, in: database, to: writer) { isAnnounced = true }
    } catch {
      if !isAnnounced { await plan.abandon(in: database) }
      throw error
    }
  }

  /// - Parameter announced: Called when the client was sent the id of the transaction that the call has opened.
  private func sendDocuments(
    _ keys: [DocumentKey], _ projection: Projection, _ plan: ReadPlan, in database: Session,
    to writer: ResponseWriter<Google_Firestore_V1_BatchGetDocumentsResponse>, announced: () -> Void
  ) async throws {
    var opened = plan.newTransaction.map { transaction in
      var message = Google_Firestore_V1_BatchGetDocumentsResponse()
      message.transaction = Data(transaction)
      return message
    }
    func announce() async throws {
      guard let message = opened else { return }
      try await writer.write(message)
      opened = nil
      announced()
    }
    // Found ones first, as production does it, each when the client has taken those before. They are read a piece at a time, all of one
    // version.
    var missing: [Google_Firestore_V1_BatchGetDocumentsResponse] = []
    var version: SnapshotVersion?
    var rest = keys[...]
    while !rest.isEmpty {
      let wanted = rest
      let answer = try await plan.reading(laterAt: version) { version throws(StatusError) in
        try await database.firstDocuments(of: wanted, at: version)
      }
      version = answer.readVersion
      rest = rest.dropFirst(answer.documents.count)
      writer.holds(answer.documents.heldBytes)
      try await announce()
      for document in answer.documents {
        let response = database.translator.encodeBatchGetResponse(
          try projection.applied(to: document), readTime: answer.readVersion)
        if document.isFound { try await writer.write(response) } else { missing.append(response) }
      }
      // The next piece may take long to read.
      if !rest.isEmpty { writer.flush() }
    }
    try await announce()
    if !missing.isEmpty { try await writer.write(contentsOf: missing) }
  }

  /// After so many names other calls have their turn: they share a thread for each core.
  private static let namesPerTurn = 512

  /// The fields that a mask selects.
  func projection(_ mask: Google_Firestore_V1_DocumentMask?, _ database: Session) throws -> Projection {
    guard let mask else { return .all }
    let paths = try database.translator.decode(mask, at: "mask").paths
    for path in paths { try QueryChecks.check(path) }
    return Projection(paths: paths)
  }
}

// MARK: - Writing one document

extension FirestoreService {
  func createDocument(
    _ message: Google_Firestore_V1_CreateDocumentRequest, _ call: ServerCall
  ) async throws -> [UInt8] {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    guard !message.collectionID.isEmpty, !message.collectionID.utf8.contains(UInt8(ascii: "/")) else {
      throw StatusError.invalid(
        "collection_id is \"\(message.collectionID)\", but must be the id of one collection")
    }
    var generator = SystemRandomNumberGenerator()
    let documentID = message.documentID.isEmpty ? AutomaticID.make(using: &generator) : message.documentID
    guard !documentID.utf8.contains(UInt8(ascii: "/")) else {
      throw StatusError.invalid("document_id \"\(documentID)\" must not contain a slash")
    }
    let database = try await sessions.open(parent.database, for: call)
    let key = try DocumentKey(parent.path.appending(message.collectionID).appending(documentID))
    let content = try EncodedDocument(parsing: [UInt8](message.document))
    guard content.name.isEmpty else { throw StatusError.invalid("document.name must not be set") }
    let mutation = Mutation(key: key, operation: .set(content.fields), precondition: .exists(false))
    return try await write(mutation, mask: message.hasMask ? message.mask : nil, in: database)
  }

  func updateDocument(
    _ message: Google_Firestore_V1_UpdateDocumentRequest, _ call: ServerCall
  ) async throws -> [UInt8] {
    let content = try EncodedDocument(parsing: [UInt8](message.document))
    let (id, _) = try ResourceName.document(content.name, at: "document.name")
    let database = try await sessions.open(id, for: call)
    var write = Google_Firestore_V1_Write()
    write.update = message.document
    if message.hasUpdateMask { write.updateMask = message.updateMask }
    if message.hasCurrentDocument { write.currentDocument = message.currentDocument }
    let mutation = try database.translator.decode(write: write)
    return try await self.write(mutation, mask: message.hasMask ? message.mask : nil, in: database)
  }

  func deleteDocument(
    _ message: Google_Firestore_V1_DeleteDocumentRequest, _ call: ServerCall
  ) async throws -> Google_Protobuf_Empty {
    let (id, _) = try ResourceName.document(message.name, at: "name")
    let database = try await sessions.open(id, for: call)
    var write = Google_Firestore_V1_Write()
    write.delete = message.name
    if message.hasCurrentDocument { write.currentDocument = message.currentDocument }
    let mutation = try database.checkedMutation(of: write)
    _ = try await database.commit(CommitRequest(mutations: [mutation]))
    return Google_Protobuf_Empty()
  }

  /// Commits one write and answers with the document as this commit left it. It is not read back: later commits may have cut the history
  /// behind this one by then, and the write would be answered with a failure.
  private func write(
    _ mutation: Mutation, mask: Google_Firestore_V1_DocumentMask?, in database: Session
  ) async throws -> [UInt8] {
    let projection = try projection(mask, database)
    let checked = try WriteLimits.checked(mutation, database: database.id)
    let outcome = try await database.commit(CommitRequest(mutations: [checked], returnsDocument: true))
    guard let document = outcome.document else {
      throw StatusError(
        code: .internal, message: "The commit of \"\(database.id.name(of: mutation.key))\" has no document.")
    }
    return [UInt8](database.translator.encodeDocument(try projection.applied(to: document)))
  }
}
