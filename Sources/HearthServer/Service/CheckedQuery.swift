internal import HearthModel
internal import HearthWire

/// A query of a request that has passed the checks of form and limits.
struct CheckedQuery {
  /// The query that is carried out. For sums it has orders that the caller has not sent.
  let query: Query
  /// The query as its caller has sent it, which rules see.
  let asked: Query
  /// True if the query, which is for all collections, means only those directly below its path.
  let isShallow: Bool
  /// The number of results to skip.
  let offset: Int
  /// The fields that the answer contains.
  let projection: Projection
  /// The search that chooses among the documents of the query.
  let search: VectorSearch?
  /// The indexes by which production answers the query.
  let indexNeeds: [IndexNeed]

  /// - Parameter aggregations: the aggregations of the result; none for the documents themselves.
  /// - Throws: `WireError` for what is malformed, `StatusError` for what is not allowed.
  init(
    parent: String, query message: Google_Firestore_V1_StructuredQuery, for aggregations: [Aggregation] = [],
    in database: Session
  ) throws {
    let decoded = try database.translator.decode(parent: parent, query: message)
    try QueryChecks.check(decoded)
    try QueryLimits.check(decoded.query, limits: database.limits, metrics: database.metrics)
    try Aggregation.check(aggregations, over: decoded)
    search = try decoded.findNearest.map { try VectorSearch($0, database.translator) }
    if search != nil {
      guard decoded.query.limit == nil else {
        throw StatusError.invalid("A query limit cannot be used with FindNearest")
      }
      guard decoded.offset == 0 else { throw StatusError.invalid("A query offset cannot be used with FindNearest") }
      guard decoded.query.startAt == nil, decoded.query.endAt == nil else {
        throw StatusError.invalid("A cursor cannot be used with FindNearest")
      }
    }
    asked = decoded.query
    query =
      search == nil && !aggregations.isEmpty ? Aggregation.query(decoded.query, for: aggregations) : decoded.query
    indexNeeds = query.indexNeeds(comparing: search?.index)
    isShallow = decoded.isShallow
    offset = decoded.offset
    projection = Projection(paths: decoded.projection)
  }
}

extension Session {
  /// As ``requireIndexes(_:for:skipping:)``.
  func requireIndexes(for checked: CheckedQuery) async throws(StatusError) {
    try await requireIndexes(checked.indexNeeds, for: checked.asked, skipping: checked.offset)
  }
}
