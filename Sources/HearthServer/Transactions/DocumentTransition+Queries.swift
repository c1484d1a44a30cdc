internal import HearthModel

extension DocumentTransition {
  /// Returns true if the document is or was in a queried range.
  func concerns(_ query: Query) -> Bool {
    query.matches(before) || query.matches(after)
  }
}

extension DocumentKey {
  /// The values of ``HearthModel/Query/changingCollectionID`` of the queries that the document may match.
  var queriedCollectionIDs: [String] { [collectionGroup, ""] }
}

extension Query {
  /// The id of the collections whose changes may change the result; "" for a query of all collections.
  var changingCollectionID: String {
    if let group = collectionGroup { return group }
    return documentKey?.collectionGroup ?? path.last ?? ""
  }
}
