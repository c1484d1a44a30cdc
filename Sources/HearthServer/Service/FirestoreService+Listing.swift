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
    guard !(message.showMissing && message.collectionID.isEmpty) else {
      throw StatusError.invalid("collection id must be set when show_missing is true")
    }
    let query = try listQuery(message, under: parent.path, in: database)
    let selector = ReadPlan.Selector(message.consistencySelector)
    // A missing document is listed because of what is below it.
    let locked = message.showMissing ? Query(path: parent.path, collectionGroup: "") : query
    let plan = try await ReadPlan.prepare(selector, in: database, query: locked)
    let list = DocumentList(
      query: query, showsMissing: message.showMissing, database: database, plan: plan,
      pageSize: message.pageSize == 0 ? PageToken.defaultPageSize : Int(message.pageSize))
    let projection = try projection(message.hasMask ? message.mask : nil, database)
    let page = try await list.page(after: message.pageToken)
    var response = Google_Firestore_V1_ListDocumentsResponse()
    response.documents = try page.documents.map {
      database.translator.encodeDocument(try projection.applied(to: $0))
    }
    response.nextPageToken = page.nextToken
    return response
  }

  /// The query for all pages of a list; without collection id one for all collections.
  private func listQuery(
    _ message: Google_Firestore_V1_ListDocumentsRequest, under parent: ResourcePath, in database: HostedDatabase
  ) throws -> Query {
    let id = message.collectionID
    guard !id.utf8.contains(UInt8(ascii: "/")) else {
      throw StatusError.invalid("Collection id \"\(id)\" is invalid because it contains \"/\".")
    }
    let orders = try ListOrder.parse(message.orderBy, atMost: database.limits.queryComponents)
    let query =
      id.isEmpty
      ? Query(path: parent, collectionGroup: "", explicitOrders: orders)
      : Query(path: parent.appending(id), explicitOrders: orders)
    try QueryRules.check(DecodedQuery(query: query))
    try database.indexRules?.check(query.indexNeeds(), in: database.id)
    return query
  }
}

/// The documents of a collection, or of all collections right below a parent, listed a page at a time.
private struct DocumentList {
  let query: Query
  let showsMissing: Bool
  let database: HostedDatabase
  let plan: ReadPlan
  let pageSize: Int

  /// True for all collections right below the path of the query, which are listed one after the other.
  private var isShallow: Bool { query.collectionGroup != nil }

  /// Identifies the list, so that a page token of another list is refused.
  private var identity: String {
    let order = query.explicitOrders.map { "\($0.path) \($0.direction)" }.joined(separator: ",")
    return "\(database.id)\n\(query.path)\n\(isShallow)\n\(order)\n\(showsMissing)"
  }

  /// The bytes of fields that a page holds at most, unless its only document has more, however many documents were asked for. A response is
  /// one message, and gRPC's clients take 4 MiB in one by default.
  private static let bytesPerPage = 3 << 20

  func page(after token: String) async throws -> (documents: [Document], nextToken: String) {
    var query = query
    let parent = query.path
    let last = try PageToken(parsing: token, kind: .documents, of: identity)
      .map { try DocumentKey(parent.appending(ResourcePath(canonical: $0.lastID))) }
    if let last { query.startAt = try await bound(after: last) }
    // One more than the page, to know whether there is another.
    query.limit = pageSize == Int.max ? nil : pageSize + 1
    var (documents, isCut) = try await documents(of: query)
    if showsMissing {
      let end = isCut || documents.count > pageSize ? documents.last?.key : nil
      documents = try await merged(documents, after: last, through: end)
    }
    guard isCut || documents.count > pageSize, let end = documents.prefix(pageSize).last else { return (documents, "") }
    let lastID = ResourcePath(Array(end.key.path.segments[query.path.count...])).canonicalString
    let next = PageToken(lastID: lastID, kind: .documents, of: identity).text
    return (Array(documents.prefix(pageSize)), next)
  }

  /// The first documents of a query.
  ///
  /// - Returns: Also whether further ones were left out because these have so many bytes.
  private func documents(of query: Query) async throws -> (documents: [Document], isCut: Bool) {
    var pages = ResultPages(of: query, isShallow: isShallow, plan: plan, in: database)
    var documents: [Document] = []
    var byteCount = 0
    while let page = try await pages.next() {
      for document in page.answer.documents {
        byteCount += document.fields.bytes.count
        guard byteCount <= Self.bytesPerPage || documents.isEmpty else { return (documents, true) }
        documents.append(document)
      }
    }
    return (documents, false)
  }

  /// The position after the last document of the previous page.
  ///
  /// - Throws: INVALID_ARGUMENT if the list has an order and that document was deleted, because its position is lost.
  private func bound(after key: DocumentKey) async throws -> Bound {
    let reference = Value.reference(ReferenceValue(database: database.id, key: key))
    if query.isOrderedByKeyOnly { return Bound(position: [reference], isInclusive: false) }
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
  ///
  /// - Parameter end: The last of `documents` if there are further ones.
  private func merged(
    _ documents: [Document], after last: DocumentKey?, through end: DocumentKey?
  ) async throws -> [Document] {
    let collection = query.path
    let ids = try await plan.reading { version throws(StatusError) in
      try await database.storage.collectionIDs(under: collection, at: version)
    }
    // Those that exist stand in the page already, as far as it reaches.
    let existing = Set(documents.map(\.key))
    let missing = try ids.map { try DocumentKey(collection.appending($0)) }
      .filter { key in last.map { $0 < key } ?? true && end.map { key < $0 } ?? true && !existing.contains(key) }
      .map { Document.missing($0, version: .none) }
    return Array((documents + missing).sorted { $0.key < $1.key }.prefix(pageSize == .max ? .max : pageSize + 1))
  }
}
