internal import HearthModel
internal import HearthWire

/// Reads the target of a listen request and checks that it can be listened to.
struct WatchTargetDecoder {
  let database: Session

  /// - Throws: `WireError` for what is malformed, `StatusError` for a query that listeners cannot have.
  func decode(_ message: Google_Firestore_V1_Target, id: TargetID) throws -> WatchedTarget {
    switch message.targetType {
    case .documents(let documents):
      let keys = try database.translator.decode(documents)
      for key in keys {
        do { try key.validateServerLimits() } catch { throw StatusError.invalid(error.description) }
      }
      return WatchedTarget(id: id, source: .documents(keys), isOnce: message.once)
    case .query(let query):
      try check(query)
      let decoded = try database.translator.decode(query)
      guard decoded.offset == 0 else {
        throw StatusError(code: .invalidArgument, message: "'offset' is not supported by real-time queries.")
      }
      guard decoded.findNearest == nil else {
        throw StatusError(code: .invalidArgument, message: "'find_nearest' is not supported by real-time queries.")
      }
      try QueryChecks.check(decoded)
      try QueryLimits.check(decoded.query, limits: database.limits, metrics: database.metrics)
      return WatchedTarget(id: id, source: .query(decoded.query), isOnce: message.once)
    case nil:
      throw StatusError(code: .invalidArgument, message: "Target.target_type: neither query nor documents is set")
    }
  }

  private func check(_ query: Google_Firestore_V1_Target.QueryTarget) throws(StatusError) {
    guard let selector = query.structuredQuery.from.first, !selector.collectionID.isEmpty else {
      throw StatusError(
        code: .invalidArgument, message: "All-collection queries are not supported by real-time queries.")
    }
    if selector.allDescendants, query.parent != database.id.documentsName {
      throw StatusError(
        code: .invalidArgument,
        message: "'all_descendants' in CollectionSelector with document parent is not supported by real-time queries.")
    }
  }
}
