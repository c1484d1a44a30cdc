internal import HearthModel
internal import HearthRPC
internal import NIOCore

/// Brings one target of a listen stream to a version, piece by piece. Each piece is read when the client has taken the one before, and
/// released when it is sent. So a client that does not read holds one piece, whether of a result or of its changes.
struct TargetTransfer {
  private let target: WatchedTarget
  private let version: SnapshotVersion
  private let database: Session
  private let decisions: StreamDecisions
  private let output: ListenOutput
  private let freeChanges: Int
  /// Goes out with the next messages.
  private var held: [ListenMessage] = []
  /// Messages about documents that are not sent yet.
  private var frames = ByteBuffer()
  private let updates: DocumentFrames
  private let removals: DocumentFrames
  /// True if the client was sent something.
  private(set) var hasSent = false

  /// The number of changes in the log beyond which the cost of a difference is compared with that of the result.
  static let freeChanges = 10_000

  /// The difference of a target between two versions.
  struct Difference {
    /// The number of documents that have come in, less that of those that have left.
    var growth: Int
    /// The window of a query with a limit.
    var window: WindowDraft?
  }

  init(
    to target: WatchedTarget, at version: SnapshotVersion, of database: Session, _ decisions: StreamDecisions,
    output: ListenOutput, freeChanges: Int
  ) {
    (self.target, self.version, self.database, self.output) = (target, version, database, output)
    (self.decisions, self.freeChanges) = (decisions, freeChanges)
    updates = SharedDocument.frames(to: target.id, in: database.id)
    removals = SharedDocument.frames(removedFrom: target.id, in: database.id)
  }

  // MARK: - Messages

  /// Keeps a message until the next ones are sent.
  mutating func hold(_ message: ListenMessage) { held.append(message) }

  /// Sends messages, behind all that came before.
  mutating func send(_ messages: [ListenMessage]) async throws {
    try await flush(with: messages)
  }

  private mutating func flush(with messages: [ListenMessage] = []) async throws {
    var all = held
    if frames.readableBytes > 0 { all.append(.frames(frames)) }
    all += messages
    guard !all.isEmpty else { return }
    (held, frames, hasSent) = ([], ByteBuffer(), true)
    try await output.send(all)
  }

  private mutating func flushIfFull() async throws {
    if frames.readableBytes >= ListenMessage.bytesPerPiece { try await flush() }
  }

  private mutating func update(_ document: Document) async throws {
    if document.isFound { updates.write(document, to: &frames) } else { delete(document) }
    try await flushIfFull()
  }

  /// - Parameter isContentNew: False if the document was only pushed out of a limit. Then only its name is sent, as where rules do not allow more.
  private mutating func remove(_ document: Document, isContentNew: Bool = true) async throws {
    var isContentNew = isContentNew
    if isContentNew, target.grant != nil, document.isFound {
      isContentNew = await decisions.mayGet(document, at: version, of: database)
    }
    if !isContentNew {
      let message = SharedDocument(document).message(
        updated: [], removed: [target.id], isContentNew: false, in: database.id)
      MessageAssembler.write(message, to: &frames)
    } else if document.isFound {
      removals.write(document, to: &frames)
    } else {
      delete(document)
    }
    try await flushIfFull()
  }

  private mutating func delete(_ document: Document) {
    let missing = Document.missing(document.key, version: version)
    let message = SharedDocument.message(ofMissing: missing, to: target.id, in: database.id)
    MessageAssembler.write(message, to: &frames)
  }

  // MARK: - Results

  /// Sends the whole result.
  ///
  /// - Returns: The window of a query with a limit.
  mutating func sendResult() async throws -> WindowDraft? {
    switch target.source {
    case .documents:
      var documents = DocumentPieces(target.source.keys, at: version, in: database)
      while let piece = try await documents.next() {
        for document in piece { try await update(document) }
        try await flush()
      }
      return nil
    case .query(let query):
      var window = query.limit.map { _ in WindowDraft(query, in: database.feed.windowMemory) }
      try await sendResult(of: query, &window)
      return window
    }
  }

  /// The next piece is read while one is sent, unless much of that waits for the client: a client that does not read holds one.
  private mutating func sendResult(of query: Query, _ window: inout WindowDraft?) async throws {
    let (database, version) = (database, version)
    var (documents, next) = try await database.watchedPage(of: query, after: nil, at: version).parts
    while let cursor = next {
      Self.note(documents, in: &window)
      let half = documents.count / 2
      try await update(documents.prefix(half))
      documents.removeFirst(half)
      if output.isBehind() {
        try await update(documents[...])
        documents = []
        (documents, next) = try await database.watchedPage(of: query, after: cursor, at: version).parts
      } else {
        async let page = database.watchedPage(of: query, after: cursor, at: version)
        try await update(documents[...])
        (documents, next) = try await page.parts
      }
    }
    Self.note(documents, in: &window)
    try await update(documents[...])
  }

  private static func note(_ documents: [Document], in window: inout WindowDraft?) {
    guard window != nil else { return }
    for document in documents { window?.add(document) }
  }

  private mutating func update(_ documents: ArraySlice<Document>) async throws {
    for document in documents { try await update(document) }
    try await flush()
  }

  // MARK: - Differences

  /// Sends what has become of the target since a version.
  ///
  /// - Returns: Nil if the log has forgotten that, or if the whole result costs less. The client has to discard what it has of the target
  ///   then, also what was sent by now.
  mutating func sendDifference(after start: SnapshotVersion) async throws -> Difference? {
    guard let changeCount = try await changeCount(after: start) else { return nil }
    guard let query = target.source.limitQuery else {
      guard let growth = try await sendChanges(after: start, edges: nil) else { return nil }
      return Difference(growth: growth)
    }
    // A document that has not changed has the same place in both results. So it was in the former one if its place is not behind the end of
    // that, and the one that has changed is in the log.
    var former: WindowDraft?
    if changeCount > 0 {
      guard let known = try await formerWindow(of: query, at: start) else { return nil }
      former = known
    }
    let window = try await sendNews(of: query, after: start, former)
    guard let former else { return Difference(growth: 0, window: window) }
    try await sendPushedOut(of: query, after: start, from: window, former)
    let edges = WindowEdges(query: query, before: former.edge, after: window.edge)
    guard try await sendChanges(after: start, edges: edges) != nil else { return nil }
    return Difference(growth: window.count - former.count, window: window)
  }

  /// The number of changes that the difference has to look at; nil if the log has forgotten them, or if they are so many that the result costs less.
  private func changeCount(after start: SnapshotVersion) async throws(StatusError) -> Int? {
    guard case .query(let query) = target.source, query.documentKey == nil else { return 1 }
    let some = try await database.changeCount(of: query, after: start, through: version, upTo: freeChanges + 1)
    guard let some, some > freeChanges else { return some }
    // Documents in the result are read one after the other and changes are looked up, so that one costs about twice the other.
    guard query.limit == nil else { return nil }
    let most = try await database.watchedCount(of: query, at: version) / 2
    guard most > freeChanges,
      let all = try await database.changeCount(of: query, after: start, through: version, upTo: most + 1), all <= most
    else { return nil }
    return all
  }

  /// Sends the documents that are in the log.
  ///
  /// - Returns: The growth of the result; nil if the log has forgotten a part by then.
  private mutating func sendChanges(after start: SnapshotVersion, edges: WindowEdges?) async throws -> Int? {
    var growth = 0
    var cursor: DifferenceCursor?
    repeat {
      let piece = try await database.difference(
        of: target.source, after: start, through: version, from: cursor, edges: edges)
      guard let piece else { return nil }
      for change in piece.changes {
        if change.isIn { try await update(change.document) } else { try await remove(change.document) }
      }
      try await flush()
      growth += piece.growth
      cursor = piece.next
    } while cursor != nil
    return growth
  }

  /// The end of a former result, and its number of documents; nil if the log has forgotten it.
  private func formerWindow(of query: Query, at start: SnapshotVersion) async throws(StatusError) -> WindowDraft? {
    var window = WindowDraft(query, in: nil)
    var cursor: QueryCursor?
    repeat {
      let page: QueryPage
      do {
        page = try await database.grantedPage(of: query, after: cursor, at: start)
      } catch {
        guard error.code == .failedPrecondition else { throw error }
        return nil
      }
      for document in page.answer.documents { window.add(document) }
      cursor = page.next
    } while cursor != nil
    return window
  }

  /// Sends the documents of the result that are new in it or have changed.
  ///
  /// - Parameter former: Nil if nothing has changed.
  private mutating func sendNews(
    of query: Query, after start: SnapshotVersion, _ former: WindowDraft?
  ) async throws -> WindowDraft {
    var window = WindowDraft(query, in: database.feed.windowMemory)
    var cursor: QueryCursor?
    repeat {
      let page = try await database.watchedPage(of: query, after: cursor, at: version)
      for document in page.answer.documents {
        window.add(document)
        guard let former else { continue }
        let wasIn = former.edge.map { query.compare(document, $0) != .descending } ?? true
        if document.version > start || !wasIn { try await update(document) }
      }
      try await flush()
      cursor = page.next
    } while cursor != nil
    return window
  }

  /// Removes the documents that others have pushed behind the end of the result: they lie between its end and that of the former one.
  private mutating func sendPushedOut(
    of query: Query, after start: SnapshotVersion, from window: WindowDraft, _ former: WindowDraft
  ) async throws {
    guard let edge = window.edge else { return }
    if let end = former.edge, query.compare(edge, end) != .ascending { return }
    var behind = query
    behind.limit = nil
    behind.startAt = try Bound(after: edge, of: query, in: database.id)
    var cursor: QueryCursor?
    repeat {
      let page = try await database.watchedPage(of: behind, after: cursor, at: version)
      for document in page.answer.documents {
        if let end = former.edge, query.compare(document, end) == .descending { return try await flush() }
        if document.version <= start { try await remove(document, isContentNew: false) }
      }
      try await flush()
      cursor = page.next
    } while cursor != nil
  }
}

extension QueryPage {
  fileprivate var parts: (documents: [Document], next: QueryCursor?) { (answer.documents, next) }
}

/// Reads the documents of a documents target piece by piece. The size of a piece is given in bytes, because each document may have a
/// megabyte.
struct DocumentPieces {
  private var rest: ArraySlice<DocumentKey>
  private let version: SnapshotVersion
  private let database: Session

  init(_ keys: [DocumentKey], at version: SnapshotVersion, in database: Session) {
    rest = keys[...]
    (self.version, self.database) = (version, database)
  }

  /// - Returns: The next documents, found or missing; nil at the end.
  mutating func next() async throws(StatusError) -> [Document]? {
    guard !rest.isEmpty else { return nil }
    let documents = try await database.watchedDocuments(firstOf: rest, at: version)
    rest = rest.dropFirst(documents.count)
    return documents
  }
}
