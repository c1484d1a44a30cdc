internal import Foundation
internal import HearthModel
internal import HearthWire

extension FirestoreService {
  func listDocuments(
    _ message: Google_Firestore_V1_ListDocumentsRequest, _ call: ServerCall
  ) async throws -> Google_Firestore_V1_ListDocumentsResponse {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try backend.database(parent.database)
    guard message.pageSize >= 0 else { throw StatusError.invalid("Page size must be nonnegative.") }
    guard !(message.showMissing && !message.orderBy.isEmpty) else {
      throw StatusError.invalid("cannot specify an order when show_missing is true")
    }
    guard !message.collectionID.isEmpty else {
      throw StatusError(
        code: .unimplemented, message: "ListDocumentsRequest without collection_id (all collections) is not served.")
    }
    guard !message.collectionID.utf8.contains(UInt8(ascii: "/")) else {
      throw StatusError.invalid("collection_id \"\(message.collectionID)\" must not contain a slash")
    }
    let selector = ReadPlan.Selector(message.consistencySelector)
    let list = DocumentList(
      collection: parent.path.appending(message.collectionID), orders: try ListOrder.parse(message.orderBy),
      showsMissing: message.showMissing, database: database,
      pageSize: message.pageSize == 0 ? PageToken.defaultPageSize : Int(message.pageSize))
    let page = try await list.page(after: message.pageToken, selector: selector)
    let projection = try projection(message.hasMask ? message.mask : nil, database)
    var response = Google_Firestore_V1_ListDocumentsResponse()
    response.documents = try page.documents.map {
      database.translator.encodeDocument(try projection.applied(to: $0))
    }
    response.nextPageToken = page.nextToken
    return response
  }
}

/// A collection, listed a page at a time.
private struct DocumentList {
  let collection: ResourcePath
  let orders: [OrderBy]
  let showsMissing: Bool
  let database: HostedDatabase
  let pageSize: Int

  /// Identifies the list, so that a page token of another list is refused.
  private var identity: String {
    let order = orders.map { "\($0.path) \($0.direction)" }.joined(separator: ",")
    return "\(database.id)\n\(collection)\n\(order)\n\(showsMissing)"
  }

  func page(
    after token: String, selector: ReadPlan.Selector
  ) async throws -> (documents: [Document], nextToken: String) {
    let last = try PageToken(parsing: token, kind: .documents, of: identity)?.lastID
    var query = Query(path: collection, explicitOrders: orders)
    let plan = try await ReadPlan.prepare(selector, in: database, query: query)
    if let last { query.startAt = try await bound(after: last, of: query, in: plan) }
    // One more than the page, to know whether there is another.
    query.limit = pageSize == Int.max ? nil : pageSize + 1
    let wanted = query
    var documents = try await plan.reading { version throws(StatusError) in
      try await database.storage.run(wanted, at: version).documents
    }
    if showsMissing { documents = try await merged(documents, after: last) }
    guard documents.count > pageSize, let end = documents.prefix(pageSize).last else { return (documents, "") }
    let next = PageToken(lastID: end.key.id, kind: .documents, of: identity).text
    return (Array(documents.prefix(pageSize)), next)
  }

  /// The position after the last document of the previous page.
  ///
  /// - Throws: INVALID_ARGUMENT if the list has an order and that document was deleted, because its position is lost.
  private func bound(after id: String, of query: Query, in plan: ReadPlan) async throws -> Bound {
    let key = try DocumentKey(collection.appending(id))
    let reference = Value.reference(ReferenceValue(database: database.id, key: key))
    guard !orders.isEmpty else { return Bound(position: [reference], isInclusive: false) }
    let documents = try await plan.reading { version throws(StatusError) in
      try await database.storage.documents(for: [key], at: version).documents
    }
    guard let document = documents.first, document.isFound else { throw StatusError.invalid("invalid page token") }
    let position = try query.orders.map { order in
      order.path.isDocumentKey ? reference : try document.fields.value(at: order.path) ?? .null
    }
    return Bound(position: position, isInclusive: false)
  }

  /// Adds the documents that do not exist but have something below them.
  private func merged(_ documents: [Document], after last: String?) async throws -> [Document] {
    let lastKey = try last.map { try DocumentKey(collection.appending($0)) }
    let missing = try await database.storage.missingDocumentIDs(in: collection)
      .map { Document.missing(try DocumentKey(collection.appending($0)), version: .none) }
      .filter { document in lastKey.map { $0 < document.key } ?? true }
    return Array((documents + missing).sorted { $0.key < $1.key }.prefix(pageSize + 1))
  }
}
