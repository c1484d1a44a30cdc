internal import HearthModel

/// The collections directly below a document, or below the root, listed a page at a time.
struct CollectionList {
  let parent: ResourcePath
  let database: Session
  let plan: ReadPlan

  /// The bytes of ids that a page holds at most, however many were asked for: a response is one message.
  private static let bytesPerPage = 3 << 20
  private static let idsPerRead = 1_000

  /// The ids behind one, all of one version.
  ///
  /// - Returns: Also whether no further ones follow.
  func page(after last: String?, size: Int) async throws -> (ids: [String], isLast: Bool) {
    let (database, parent) = (database, parent)
    let present = try await database.currentVersion()
    var ids: [String] = []
    var bytes = 0
    while true {
      // One more than the page, to know whether there is another.
      let (start, limit) = (ids.last ?? last, min(Self.idsPerRead, size + 1 - ids.count))
      let more = try await plan.reading { version throws(StatusError) in
        try await database.collectionIDs(under: parent, after: start, limit: limit, at: version ?? present)
      }
      for id in more {
        bytes += id.utf8.count + 8
        guard ids.count < size, bytes <= Self.bytesPerPage else { return (ids, false) }
        ids.append(id)
      }
      guard more.count == limit else { return (ids, true) }
    }
  }
}
