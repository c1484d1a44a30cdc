internal import HearthModel

/// An operation that a caller requests in a database.
enum Access: Sendable {
  /// To read documents by name.
  case get(ArraySlice<DocumentKey>)
  /// To read the result of a query, without some first documents.
  case list(Query, skipping: Int = 0)
  /// To choose a time in the past to read at.
  case readPast
  /// To learn how a query runs, and what it costs.
  case explain(Query)
  /// To add up the result of a query as the caller has sent it, without some first documents.
  case aggregate([Aggregation], over: Query, skipping: Int = 0)
  /// To learn the ids of the collections below a document, or those of the documents below a collection that have something below them.
  case listChildren(of: ResourcePath)
  /// To learn keys that divide the result of a query.
  case partition(Query)
  case write([Mutation])
  case beginTransaction
  /// To delete everything below a place.
  case clear(ResourcePath)
  /// To follow a target of a Listen stream.
  case watch(WatchSource)

  /// The documents and the query that a transaction locks, or records, when it reads so. The calls for all else have no transaction.
  ///
  /// Documents that a query skips belong to it: if one goes, another one follows behind those that were read.
  var contents: (keys: [DocumentKey], query: Query?) {
    switch self {
    case .get(let keys): (Array(keys), nil)
    case .list(let query, let offset): ([], query.widened(by: offset))
    case .aggregate(let aggregations, let query, let offset):
      ([], Aggregation.query(query, for: aggregations).widened(by: offset))
    case .readPast, .explain, .listChildren, .partition, .write, .beginTransaction, .clear, .watch: ([], nil)
    }
  }
}

/// Decides what callers may do.
protocol AccessGuard: Sendable {
  /// Called before anything is done, and before a transaction locks what it reads. Not called for the end of a transaction without a commit.
  ///
  /// - Returns: The rules that decide on the access; nil if it is allowed.
  /// - Throws: PERMISSION_DENIED for what the caller may not do.
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck?

  /// Called before a database is opened.
  ///
  /// - Throws: PERMISSION_DENIED for a caller that may do nothing there.
  func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError)

  /// Called before databases are listed. A caller who may list some is told of those only.
  ///
  /// - Throws: PERMISSION_DENIED for a caller that may list none, whatever databases there are.
  func checkListing(by caller: Caller) throws(StatusError)

  /// False if every caller is taken for the owner.
  func tellsCallersApart(in database: DatabaseID) -> Bool

  /// Changes when the rules do, after which what was allowed to a listener is decided again.
  var release: Int { get }
}

extension StatusError {
  /// The words of Cloud Firestore.
  static let insufficientPermissions = StatusError(
    code: .permissionDenied, message: "Missing or insufficient permissions.")
}
