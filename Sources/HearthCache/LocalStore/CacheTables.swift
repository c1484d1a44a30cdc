internal import HearthModel
internal import HearthStore

/// The tables of a cache. They keep nothing in memory: the database is the truth.
struct CacheTables {
  let database: Database
  let databaseID: DatabaseID
  let documents: DocumentStore
  let globals: CacheGlobals
  let queue: MutationQueue
  let overlays: OverlayTable
  let targets: TargetTable
  let uses: DocumentUses
  let bundles: BundleTable
  let sentMarks: SentMarks
  let outcomes: OutcomeTable
  let rejected: RejectedBatchTable
  let bases: BaseDocumentTable
  let pins: PinTable
  /// Nobody may use it in a cache that is not shared, whose file has no such table.
  let clients: ClientTable
  /// As above.
  let notices: NoticeTable

  /// - Parameter documents: The documents of the same database.
  init(database: Database, databaseID: DatabaseID, documents: DocumentStore) {
    self.database = database
    self.databaseID = databaseID
    self.documents = documents
    globals = CacheGlobals(database: database)
    queue = MutationQueue(database: database, databaseID: databaseID, globals: globals)
    overlays = OverlayTable(database: database, databaseID: databaseID)
    targets = TargetTable(database: database, databaseID: databaseID, globals: globals)
    uses = DocumentUses(database: database)
    bundles = BundleTable(database: database, databaseID: databaseID)
    sentMarks = SentMarks(database: database)
    outcomes = OutcomeTable(database: database, databaseID: databaseID)
    rejected = RejectedBatchTable(database: database, databaseID: databaseID)
    bases = BaseDocumentTable(database: database)
    pins = PinTable(database: database, databaseID: databaseID)
    clients = ClientTable(database: database)
    notices = NoticeTable(database: database)
  }

  /// Most caches have no such table: it reads as an empty one.
  var resolved: ResolvedConflictTable { ResolvedConflictTable(database: database, databaseID: databaseID) }

  /// The local view, which these tables make together.
  var localDocuments: LocalDocuments { LocalDocuments(documents: documents, queue: queue, overlays: overlays) }
}
