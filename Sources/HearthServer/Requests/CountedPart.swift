internal import HearthModel
internal import HearthRPC

/// The parts of requests whose number is limited. They are counted in the bytes of a request, before it is decoded into a message.
enum CountedPart: Int, CaseIterable, Sendable {
  case writes
  case documents
  case maskFields
  case transforms
  /// Filters of fields, and orders.
  case components
  /// Filters of fields, and the filters that combine them.
  case filters
  case cursorValues
  /// The values of a list that a field is compared with.
  case listValues
  case collections
  case aggregations
  case labels

  /// As many labels as a resource of Google Cloud may have (https://cloud.google.com/compute/docs/labeling-resources#restrictions).
  private static let maximumLabels = 64

  /// The largest number in one request; of transforms, in one write.
  func limit(in limits: DatabaseLimits) -> Int {
    switch self {
    case .writes: limits.writesPerRequest
    case .documents: limits.documentsPerRequest
    case .maskFields: limits.fieldsPerMask
    case .transforms: WriteLimits.maximumTransformsPerDocument
    case .components: limits.queryComponents
    // Each field's filter may be below some that combine it with others, or with nothing.
    case .filters: 10 * limits.queryComponents
    // Two cursors, neither with more values than the query has orders.
    case .cursorValues: 2 * limits.queryComponents
    case .listValues: QueryLimits.maximumValueBytes
    case .collections: 1
    case .aggregations: Aggregation.maximumCount
    case .labels: Self.maximumLabels
    }
  }

  /// The limit of the server that is exceeded; nil for limits of the protocol.
  var exceededLimit: ServerLimit? {
    switch self {
    case .writes: .writesPerRequest
    case .documents: .documentsPerRequest
    case .maskFields: .fieldsPerMask
    case .components, .filters, .cursorValues: .queryComponents
    case .transforms, .listValues, .collections, .aggregations, .labels: nil
    }
  }

  /// - Parameter field: The field that has too many entries, such as `CommitRequest.writes`.
  func message(field: String, limit: Int) -> String {
    let rule: String
    switch self {
    case .components:
      return "The query has more than \(limit) filters and orders; at most \(limit) are allowed together "
        + "(hearth serve --max-query-components)."
    case .collections: return "StructuredQuery.from cannot have more than one collection selector."
    case .aggregations:
      return "The maximum number of aggregations allowed in an aggregation query is \(limit). Received more."
    case .writes: rule = "the most that one request may write (hearth serve --max-writes-per-request)"
    case .documents: rule = "the most that one request may name (hearth serve --max-documents-per-request)"
    case .maskFields: rule = "the most that a mask or a projection may name (hearth serve --max-fields-per-mask)"
    case .transforms: rule = "the most field transforms that one document may have in a commit"
    case .filters:
      rule = "ten times the number of filters of fields that is allowed (hearth serve --max-query-components)"
    case .cursorValues: rule = "twice the number of orders that is allowed (hearth serve --max-query-components)"
    case .listValues: rule = "which is too large to be used in a query"
    case .labels: rule = "the most that are allowed"
    }
    return "\(field) has more than \(limit) entries, \(rule)."
  }
}
