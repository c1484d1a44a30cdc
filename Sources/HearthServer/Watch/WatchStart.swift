internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// The first messages of a target: all documents, or the changes since the version from which the client resumes.
struct WatchStart {
  /// The first piece of the documents.
  var delta = WatchDelta()
  /// Where the other documents begin; nil if there are none.
  var next: QueryCursor?
  /// True if the client asked to resume, but has to discard its documents instead.
  var isReset = false
  var window: LimitWindow?
  /// The number of documents of the target, for clients that sent the number they expect.
  var existenceFilterCount: Int?

  private init() {}

  /// Reads the first messages of a target.
  ///
  /// - Parameters:
  ///   - message: The request, for its resume token, read time and expected count.
  ///   - version: The version that the stream stands at.
  /// - Throws: An error when the target cannot be read. A token that is broken, foreign, too old or of the future
  ///   is not an error: the client gets all documents again.
  static func read(
    _ target: WatchedTarget, resumingFrom message: Google_Firestore_V1_Target, in database: HostedDatabase,
    at version: SnapshotVersion
  ) async throws(StatusError) -> WatchStart {
    var start = WatchStart()
    if let resumeVersion = resumeVersion(of: message, database: database, version: version),
      let transitions = try await database.storage.changes(in: target.scope, after: resumeVersion, through: version)
    {
      try await start.resume(target, transitions, from: resumeVersion, to: version, in: database)
      if message.hasExpectedCount {
        start.existenceFilterCount = try await count(of: target, at: version, in: database)
      }
      return start
    }
    start.isReset = message.resumeType != nil
    if case .query(let query) = target.source, query.limit == nil {
      start.next = try await start.delta.add(query, after: nil, to: target.id, at: version, in: database)
      return start
    }
    let documents = try await result(of: target, at: version, in: database)
    for document in documents {
      if document.isFound {
        start.delta.update(document, in: target.id)
      } else {
        start.delta.remove(document, from: target.id, isContentNew: true)
      }
    }
    if target.limitQuery != nil { start.window = LimitWindow(documents) }
    return start
  }

  private mutating func resume(
    _ target: WatchedTarget, _ transitions: [DocumentTransition], from start: SnapshotVersion, to end: SnapshotVersion,
    in database: HostedDatabase
  ) async throws(StatusError) {
    guard let query = target.limitQuery else {
      delta.collect(transitions, of: target)
      return
    }
    let documents = try await database.watchedResult(of: query, at: end)
    let before = transitions.isEmpty ? documents : try await database.watchedResult(of: query, at: start)
    delta.move(target.id, from: LimitWindow(before), to: documents, transitions: transitions)
    window = LimitWindow(documents)
  }

  /// The version from which the client resumes; nil when it has to start from the beginning.
  private static func resumeVersion(
    of message: Google_Firestore_V1_Target, database: HostedDatabase, version: SnapshotVersion
  ) -> SnapshotVersion? {
    let start: SnapshotVersion
    switch message.resumeType {
    case .resumeToken(let bytes):
      guard let token = ResumeToken(bytes: [UInt8](bytes)), token.incarnation == database.storage.incarnation else {
        return nil
      }
      start = token.version
    case .readTime(let time):
      guard let timestamp = try? database.translator.decode(time, at: "read_time") else { return nil }
      start = SnapshotVersion(timestamp)
    case nil:
      return nil
    }
    return start <= version ? start : nil
  }

  /// All documents of a target; those of a documents target also if they are missing.
  static func result(
    of target: WatchedTarget, at version: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) -> [Document] {
    switch target.source {
    case .query(let query): try await database.watchedResult(of: query, at: version)
    case .documents(let keys): try await database.storage.documents(for: keys, at: version).documents
    }
  }
}

extension WatchStart {
  /// The number of existing documents of a target. Those of a query without limit are counted where they lie.
  private static func count(
    of target: WatchedTarget, at version: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) -> Int {
    guard case .query(let query) = target.source, query.limit == nil else {
      return try await result(of: target, at: version, in: database).count(where: \.isFound)
    }
    do {
      let count = Aggregation(alias: "count", operation: .count(upTo: nil))
      return try await database.storage.aggregate([count], over: query, skipping: 0, at: version).totals.documentCount
    } catch {
      throw HostedDatabase.watchFailure(error)
    }
  }
}

extension HostedDatabase {
  /// A piece of a result at a version, for a stream.
  ///
  /// - Throws: As ``watchedResult(of:at:)``.
  func watchedPage(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion
  ) async throws(StatusError) -> QueryPage {
    do {
      return try await storage.page(of: query, after: cursor, at: version)
    } catch {
      throw Self.watchFailure(error)
    }
  }

  /// The result of a query at a version, for a stream.
  ///
  /// - Throws: UNAVAILABLE when the stream is so slow that the version is no longer kept: the client reconnects and starts
  ///   from the beginning.
  func watchedResult(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> [Document] {
    do {
      return try await storage.run(query, at: version).documents
    } catch {
      throw Self.watchFailure(error)
    }
  }

  fileprivate static func watchFailure(_ error: StatusError) -> StatusError {
    guard error.code == .failedPrecondition else { return error }
    return StatusError(
      code: .unavailable, message: "The stream has fallen behind what the server remembers; listen again.")
  }
}

extension WatchDelta {
  /// Adds a piece of the result of a query.
  ///
  /// - Returns: Where the next piece begins; nil if this was the last.
  mutating func add(
    _ query: Query, after cursor: QueryCursor?, to target: TargetID, at version: SnapshotVersion,
    in database: HostedDatabase
  ) async throws(StatusError) -> QueryCursor? {
    let page = try await database.watchedPage(of: query, after: cursor, at: version)
    for document in page.answer.documents { update(document, in: target) }
    return page.next
  }
}
