internal import HearthModel

/// An operation that a caller requests in a database.
enum Access: Sendable {
  /// To read documents by name.
  case get(ArraySlice<DocumentKey>)
  /// To read the result of a query, or its plan.
  case list(Query)
  /// To add up the result of a query.
  case aggregate(Query)
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
  var contents: (keys: [DocumentKey], query: Query?) {
    switch self {
    case .get(let keys): (Array(keys), nil)
    case .list(let query), .aggregate(let query): ([], query)
    case .listChildren, .partition, .write, .beginTransaction, .clear, .watch: ([], nil)
    }
  }
}

/// Decides what callers may do.
protocol AccessGuard: Sendable {
  /// Called before anything is done, and before a transaction locks what it reads. Not called for the end of a transaction without a commit.
  ///
  /// - Throws: PERMISSION_DENIED for what the caller may not do.
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError)
}

/// Allows everything to everyone.
struct OpenAccess: AccessGuard {
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) {}
}

/// Allows everything to the owner and nothing to anybody else.
struct OwnerAccess: AccessGuard {
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) {
    guard case .owner = caller else { throw .insufficientPermissions }
  }
}

extension StatusError {
  /// The words of Cloud Firestore.
  static let insufficientPermissions = StatusError(
    code: .permissionDenied, message: "Missing or insufficient permissions.")
}
