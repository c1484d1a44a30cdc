internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// The first messages of a target: all documents, or the changes since the version from which the client resumes.
struct WatchStart {
  /// The first piece of the documents of a target that does not resume.
  var documents: [Document] = []
  /// Where the other documents begin; nil if there are none.
  var next: QueryCursor?
  /// The changes, for a target that resumes.
  var delta = WatchDelta()
  /// True if the client asked to resume, but has to discard its documents instead.
  var isReset = false
  /// The result of a query with a limit.
  var window: [Document]?
  /// The number of documents of the target, for clients that sent the number they expect.
  var existenceFilterCount: Int?
  /// The names of these documents, for a client whose own number will be another one.
  var unchangedNames: BloomFilterData?

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
      let difference = try await start.delta.addDifference(
        of: target, after: resumeVersion, through: version, in: database)
    {
      if target.source.limitQuery != nil { start.window = difference.window }
      if message.hasExpectedCount {
        try await start.count(
          target, expecting: Int(message.expectedCount.value) + difference.growth, at: version, in: database)
      }
      return start
    }
    start.isReset = message.resumeType != nil
    if case .query(let query) = target.source, query.limit == nil {
      let page = try await database.watchedPage(of: query, after: nil, at: version)
      (start.documents, start.next) = (page.answer.documents, page.next)
      return start
    }
    start.documents = try await result(of: target, at: version, in: database)
    if target.source.limitQuery != nil { start.window = start.documents }
    return start
  }

  /// The version from which the client resumes; nil when it has to start from the beginning.
  private static func resumeVersion(
    of message: Google_Firestore_V1_Target, database: HostedDatabase, version: SnapshotVersion
  ) -> SnapshotVersion? {
    let start: SnapshotVersion
    switch message.resumeType {
    case .resumeToken(let bytes):
      guard let token = ResumeToken(bytes: [UInt8](bytes)), database.storage.epochs.contains(token) else { return nil }
      start = token.version
    case .readTime(let time):
      guard let timestamp = try? database.translator.decode(time, at: "read_time") else { return nil }
      start = SnapshotVersion(timestamp)
      guard database.storage.epochs.contains(start) else { return nil }
    case nil:
      return nil
    }
    return start <= version ? start : nil
  }

  /// All documents of a target; those of a documents target also if they are missing.
  static func result(
    of target: WatchedTarget, at version: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) -> [Document] {
    do {
      switch target.source {
      case .query(let query): return try await database.storage.run(query, at: version).documents
      case .documents(let keys): return try await database.storage.documents(for: keys, at: version).documents
      }
    } catch {
      throw HostedDatabase.watchFailure(error)
    }
  }
}

extension WatchStart {
  /// Counts the documents of a target, and lists their names if the client will have another number.
  private mutating func count(
    _ target: WatchedTarget, expecting expected: Int, at version: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) {
    do {
      let known: [Document]
      switch target.source {
      case .documents(let keys):
        known = try await database.storage.documents(for: keys, at: version).documents.filter(\.isFound)
      case .query(let query):
        guard let window else {
          let count = try await database.storage.count(of: query, at: version)
          existenceFilterCount = count
          guard count != expected, count <= NameFilter.maximumCount else { return }
          unchangedNames = try await Self.names(of: query, count: count, at: version, in: database)
          return
        }
        known = window
      }
      existenceFilterCount = known.count
      guard known.count != expected else { return }
      var filter = NameFilter(count: known.count)
      for document in known { filter.insert(database.id.name(of: document.key)) }
      unchangedNames = filter.data
    } catch {
      throw HostedDatabase.watchFailure(error)
    }
  }

  private static func names(
    of query: Query, count: Int, at version: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) -> BloomFilterData {
    var filter = NameFilter(count: count)
    var cursor: QueryCursor?
    repeat {
      let page = try await database.storage.page(of: query, after: cursor, at: version)
      for document in page.answer.documents { filter.insert(database.id.name(of: document.key)) }
      cursor = page.next
    } while cursor != nil
    return filter.data
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

  static func watchFailure(_ error: StatusError) -> StatusError {
    guard error.code == .failedPrecondition else { return error }
    return StatusError(
      code: .unavailable, message: "The stream has fallen behind what the server remembers; listen again.")
  }
}

/// What a target has become between two versions.
struct WatchDifference {
  /// The result at the end of a query with a limit, otherwise nothing.
  var window: [Document] = []
  /// The number of documents that have come in, less that of those that have left.
  var growth: Int
}

extension WatchDelta {
  /// Adds what has happened to a target between two versions, from the change log.
  ///
  /// - Returns: Nil if the log does not reach back to the start.
  mutating func addDifference(
    of target: WatchedTarget, after start: SnapshotVersion, through end: SnapshotVersion, in database: HostedDatabase
  ) async throws(StatusError) -> WatchDifference? {
    guard let difference = try await database.storage.changes(of: target.source, after: start, through: end) else {
      return nil
    }
    let transitions = difference.transitions
    guard let query = target.source.limitQuery, let limit = query.limit else {
      collect(difference, of: target, at: end)
      let growth = transitions.reduce(0) { sum, transition in
        sum + (target.source.matches(transition.after) ? 1 : 0) - (target.source.matches(transition.before) ? 1 : 0)
      }
      return WatchDifference(growth: growth)
    }
    // The old result is the new one without the documents that changed, plus those that matched before. As many documents as have
    // come in may have pushed others behind the limit.
    let newcomers = transitions.count { query.matches($0.after) }
    let documents = try await database.watchedResult(of: query.widened(by: newcomers), at: end)
    let changed = Set(transitions.map(\.key))
    var before = documents.filter { !changed.contains($0.key) }
    before += transitions.lazy.map(\.before).filter { query.matches($0) }
    before.sort { query.compare($0, $1) == .ascending }
    let window = Array(documents.prefix(limit))
    move(target.id, from: Array(before.prefix(limit)), to: window, difference, at: end)
    return WatchDifference(window: window, growth: window.count - min(before.count, limit))
  }
}
