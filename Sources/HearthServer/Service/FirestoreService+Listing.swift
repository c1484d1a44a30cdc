internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreService {
  /// - Returns: The response, encoded: the documents of the page are not kept as well while the client reads.
  func listDocuments(
    _ message: Google_Firestore_V1_ListDocumentsRequest, _ call: ServerCall
  ) async throws -> [UInt8] {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try await sessions.open(parent.database, for: call)
    guard message.pageSize >= 0 else { throw StatusError.invalid("Page size must be nonnegative.") }
    guard !(message.showMissing && !message.orderBy.isEmpty) else {
      throw StatusError.invalid("cannot specify an order when show_missing is true")
    }
    guard !(message.showMissing && message.collectionID.isEmpty) else {
      throw StatusError.invalid("collection id must be set when show_missing is true")
    }
    let query = try listQuery(message, under: parent.path, in: database)
    try await database.requireIndexes(query.indexNeeds(), for: query)
    let selector = ReadPlan.Selector(message.consistencySelector)
    // A missing document is listed because of what is below it.
    let locked = message.showMissing ? Query(path: parent.path, collectionGroup: "") : query
    let plan = try await ReadPlan.prepare(selector, for: .list(locked), in: database)
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
    return try response.serializedBytes()
  }

  /// The query for all pages of a list; without collection id one for all collections.
  private func listQuery(
    _ message: Google_Firestore_V1_ListDocumentsRequest, under parent: ResourcePath, in database: Session
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
    try QueryChecks.check(DecodedQuery(query: query))
    return query
  }
}
