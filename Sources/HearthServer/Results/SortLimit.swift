internal import HearthModel
internal import HearthStore

extension SortBudget {
  /// A budget of its own for each database, for one without a server.
  convenience init() {
    self.init(maximumBytes: DatabaseLimits().sortBytes)
  }
}

extension StatusError {
  /// The status of a query whose result no index gives in its order, and whose sort keys are too large.
  ///
  /// - Parameter missing: The indexes that would give the order.
  init(tooMuchToSort query: Query, _ error: SortBudgetExceeded, missing: [IndexDefinition]) {
    var message =
      "The result has to be sorted, and its sort keys take more than \(error.heldBytes) bytes. All results together have "
      + "\(error.maximumBytes) bytes for them (--max-sort-bytes), and one of them, or all of one caller, at most half of "
      + "what the others leave free."
    if missing.isEmpty {
      message += " Ask for fewer documents, or for documents in the order of __name__."
    } else {
      let scope: QueryIndexDefinition.Scope = query.collectionGroup == nil ? .collection : .collectionGroup
      let indexes = missing.map { index in
        QueryIndexDefinition(
          collectionGroup: index.collectionGroup, scope: scope, fields: index.fields, keyDirection: index.keyDirection)
      }
      message +=
        " The query requires an index. For hearth serve, try again when the server has made it, or declare it in the file of "
        + "--indexes, in addition to those that are there: \(QueryIndexDefinition.file(declaring: indexes))"
    }
    self.init(code: .resourceExhausted, message: message)
  }
}
