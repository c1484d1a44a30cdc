internal import HearthModel

/// The one who makes a call. Calls cannot be told apart yet: each is the owner's.
enum Caller: Hashable, Sendable {
  case owner
}

/// Something that a caller wants to do in a database.
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
}

/// Decides what callers may do.
protocol AccessGuard: Sendable {
  /// Called before anything is done.
  ///
  /// - Throws: PERMISSION_DENIED for what the caller may not do.
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError)
}

/// Allows everything to everyone.
struct OpenAccess: AccessGuard {
  func check(_ access: Access, by caller: Caller, in database: DatabaseID) {}
}
