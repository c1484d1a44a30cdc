internal import HearthModel

/// The result of a query, piece by piece, all of one version. The next piece is read on request.
struct ResultPages: Sendable {
  private let plan: ReadPlan
  private let database: Session
  /// The next queries whose results follow each other; nil before the first piece.
  private var sources: [Query]?
  /// The collection behind which further ones are looked for; nil if there are none.
  private var lastCollection: String?
  private let query: Query
  private let isShallow: Bool
  private var cursor: QueryCursor?
  private var version: SnapshotVersion?
  /// The number of further documents that the limit allows.
  private var remaining: Int?
  /// The number of documents that are read beyond the limit that rules decide on.
  private let extra: Int
  private let offset: Int
  /// True if the result of one collection after the other is that of all of them, which is so in the order of keys.
  private var isConcatenated: Bool { isShallow && query.isOrderedByKeyOnly }

  /// - Parameters:
  ///   - isShallow: True for the collections right below the path of a query for all collections. If it is ordered by more
  ///     than the key, each of them has its own result, up to the limit.
  ///   - offset: The number of first documents that the caller skips. The pages have them.
  ///   - extra: The number of documents that are read to see whether there are others.
  init(
    of query: Query, skipping offset: Int = 0, isShallow: Bool, plan: ReadPlan, in database: Session, extra: Int = 0
  ) {
    self.query = query.widened(by: offset + extra)
    self.offset = offset
    self.extra = offset + extra
    self.isShallow = isShallow
    self.plan = plan
    self.database = database
    remaining = self.query.limit
  }

  struct Page: Sendable {
    var answer: QueryAnswer
    var isLast: Bool

    /// The first documents, and the others.
    var halves: (Page, Page) {
      var (begin, rest) = (self, self)
      let count = answer.documents.count / 2
      begin.answer.documents = Array(answer.documents[..<count])
      begin.isLast = false
      rest.answer.documents = Array(answer.documents[count...])
      return (begin, rest)
    }
  }

  /// - Returns: Nil behind the last piece; there is at least one, maybe an empty one.
  mutating func next() async throws -> Page? {
    var rest = try await nextSources()
    guard var source = rest.first else { return nil }
    if isShallow, source.limit != 0 { source.limit = isConcatenated ? remaining : query.limit }
    let (wanted, start, database, offset) = (source, cursor, database, offset)
    let kept = extra > 0 ? source.limit.map { max(0, $0 - extra) } : nil
    let page = try await plan.reading(laterAt: version) { version throws(StatusError) in
      try await database.page(of: wanted, keeping: kept, skipping: offset, after: start, at: version)
    }
    version = page.answer.readVersion
    remaining = remaining.map { max(0, $0 - page.answer.documents.count) }
    cursor = page.next
    if page.next == nil { rest.removeFirst() }
    if isConcatenated, remaining == 0 { (rest, lastCollection) = ([], nil) }
    sources = rest
    if rest.isEmpty { rest = try await nextSources() }
    return Page(answer: page.answer, isLast: rest.isEmpty)
  }

  /// The next piece, and the pages behind it.
  func advanced() async throws -> (pages: ResultPages, page: Page?) {
    var pages = self
    let page = try await pages.next()
    return (pages, page)
  }

  /// The query to read now, and some that follow it.
  private mutating func nextSources() async throws -> [Query] {
    if let sources, !sources.isEmpty || lastCollection == nil { return sources }
    let more = isShallow ? try await moreCollections() : [query]
    sources = more
    return more
  }

  /// The collections one after the other, which is their order by name.
  private mutating func moreCollections() async throws -> [Query] {
    let (database, parent, last) = (database, query.path, lastCollection)
    let present = try await database.currentVersion()
    let ids = try await plan.reading(laterAt: version) { version throws(StatusError) in
      try await database.collectionIDs(
        under: parent, after: last, limit: Self.collectionsPerRead, at: version ?? present)
    }
    if plan.version == nil, version == nil { version = present }
    lastCollection = ids.count == Self.collectionsPerRead ? ids.last : nil
    let queries = ids.map { id in
      var query = Query(
        path: parent.appending(id), filters: self.query.filters, explicitOrders: self.query.explicitOrders)
      (query.startAt, query.endAt) = (self.query.startAt, self.query.endAt)
      return query
    }
    // One that is empty, for a piece that says at what version there is nothing.
    return queries.isEmpty && last == nil ? [Query(path: parent.appending("_"), limit: 0)] : queries
  }

  private static let collectionsPerRead = 100

  /// The whole result at once, for what is not passed on document by document.
  mutating func all(_ use: (QueryAnswer) throws -> Void) async throws {
    while let page = try await next() { try use(page.answer) }
  }
}
