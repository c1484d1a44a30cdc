internal import Foundation
internal import HearthModel
internal import HearthWire

/// A database as one caller sees it. Calls can reach nothing else. Each access asks an ``AccessGuard`` first.
///
/// No other code of a call names the database, its storage or its transactions; `scripts/structure --check` ensures that.
struct Session: Sendable {
  private let named: Caller
  /// When the credentials of the caller expire; nil for those that do not.
  private let expiry: ContinuousClock.Instant?
  private let database: HostedDatabase
  private let accessGuard: any AccessGuard
  private let seal: CallerSeal
  /// The release of the rules when the call began.
  private let openedRelease: Int
  /// The effort of the rules for ``firstDocuments(of:at:)`` and its sibling, whose pieces belong to one call. Streams do not call them.
  private let effort = RuleEffort()

  init(
    _ database: HostedDatabase, of caller: Caller, expiry: ContinuousClock.Instant? = nil,
    accessGuard: any AccessGuard, seal: CallerSeal
  ) {
    self.database = database
    named = caller
    self.expiry = expiry
    self.accessGuard = accessGuard
    self.seal = seal
    openedRelease = accessGuard.release
  }

  /// The caller as the guard knows it now: a stream may be older than the first rules.
  var caller: Caller { accessGuard.tellsCallersApart(in: database.id) ? named : .owner }

  private var storage: any ServerStorage { database.storage }

  /// - Returns: The rules that decide on the access; nil if it is allowed.
  private func check(_ access: Access) throws(StatusError) -> RuleCheck? {
    try accessGuard.check(access, by: caller, in: database.id)
  }

  /// Checks an access on which no rules decide.
  private func checkWithoutRules(_ access: Access) throws(StatusError) {
    guard try check(access) == nil else { throw .insufficientPermissions }
  }

  /// Reads the documents that rules look up.
  ///
  /// - Parameter version: Nil for the present.
  private func reading(at version: SnapshotVersion?) -> RuleCheck.Reading {
    { [storage] keys throws(StatusError) in try await storage.firstDocuments(of: keys, at: version).documents }
  }

  /// Reads documents on which rules decide.
  private func decided(
    by rules: RuleCheck?, _ read: () async throws(StatusError) -> QueryAnswer
  ) async throws(StatusError) -> QueryAnswer {
    guard let rules else { return try await read() }
    let turn = rules.turn()
    let answer = try await turn.reading(read) { $0.documents }
    try await rules.get(answer.documents, in: turn, reading(at: answer.readVersion))
    return answer
  }
}

// MARK: - The same for every caller

extension Session {
  var id: DatabaseID { database.id }
  var translator: WireTranslator { database.translator }
  var limits: DatabaseLimits { database.limits }
  /// Nil if the program has no metrics backend.
  var metrics: ServerMetrics? { database.metrics }

  /// As ``ServerStorage/currentVersion()``.
  func currentVersion() async throws(StatusError) -> SnapshotVersion {
    try await storage.currentVersion()
  }

  /// As ``ServerStorage/snapshot(at:)``, for those who may choose a time: rules that were replaced, and rights that have ended, do not hold there.
  func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
    try checkWithoutRules(.readPast)
    return try await storage.snapshot(at: readTime)
  }
}

// MARK: - What a caller gets and returns

extension Session {
  /// The text of a page token, which only this caller can use.
  func text(of token: PageToken) -> String {
    Data(seal.seal(token.bytes, .page, for: caller)).base64EncodedString()
  }

  /// - Returns: Nil for the empty text, which asks for the first page.
  /// - Throws: INVALID_ARGUMENT for text that is not a token of this list, or another caller's.
  func pageToken(_ text: String, kind: PageToken.Kind, of list: String) throws(StatusError) -> PageToken? {
    if text.isEmpty { return nil }
    guard let sealed = Data(base64Encoded: text), let bytes = seal.open([UInt8](sealed), .page, for: caller) else {
      throw .invalid("invalid page token")
    }
    return try PageToken(parsing: bytes, kind: kind, of: list)
  }
}

// MARK: - Reads

extension Session {
  /// As ``ServerStorage/documents(for:at:)``.
  func documents(for keys: [DocumentKey], at version: SnapshotVersion?) async throws(StatusError) -> QueryAnswer {
    try await decided(by: check(.get(keys[...]))) { () throws(StatusError) in
      try await storage.documents(for: keys, at: version)
    }
  }

  /// As ``ServerStorage/firstDocuments(of:at:)``.
  func firstDocuments(
    of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    try await decided(by: check(.get(keys))?.sharing(effort)) { () throws(StatusError) in
      try await storage.firstDocuments(of: keys, at: version)
    }
  }

  /// As ``ServerStorage/page(of:after:at:)``. The guard is asked for the first piece, and for the others once its rules
  /// were replaced.
  ///
  /// - Parameters:
  ///   - kept: The number of documents that the caller gets, if the query reads more: some first ones that are skipped, or one to see whether
  ///     there are others. The rules decide on these.
  ///   - offset: The number of first documents that are skipped.
  func page(
    of query: Query, keeping kept: Int? = nil, skipping offset: Int = 0, after cursor: QueryCursor?,
    at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage {
    guard cursor == nil || accessGuard.release != openedRelease, let rules = try check(.list(query)) else {
      return try await storage.page(of: query, after: cursor, at: version)
    }
    let wanted = kept.map { query.with(limit: $0) } ?? query
    return try await decided(by: rules, on: wanted, skipping: offset, at: version) { version throws(StatusError) in
      try await storage.page(of: query, after: cursor, at: version)
    }
  }

  /// As ``ServerStorage/firstDocuments(of:at:)``, of documents that belong to the result of a query. The rules decide on the query, as for all
  /// other documents of its result.
  ///
  /// - Parameter query: The query with the limit that the caller wants.
  func firstDocuments(
    of keys: ArraySlice<DocumentKey>, inResultOf query: Query, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    guard let rules = try check(.list(query)) else { return try await storage.firstDocuments(of: keys, at: version) }
    return try await decided(by: rules.sharing(effort), on: query, skipping: 0, at: version) {
      version throws(StatusError) in
      try await storage.firstDocuments(of: keys, at: version)
    }
  }

  /// Reads the result of a query at the version at which rules decide on it.
  ///
  /// - Parameter version: Nil for the present.
  private func decided<Answer: Sendable>(
    by rules: RuleCheck, on query: Query, skipping offset: Int, at version: SnapshotVersion?,
    _ read: (SnapshotVersion) async throws(StatusError) -> Answer
  ) async throws(StatusError) -> Answer {
    if let version {
      try await rules.list(query, skipping: offset, reading(at: version))
      return try await read(version)
    }
    let present = try await storage.currentVersion()
    do {
      try await rules.list(query, skipping: offset, reading(at: present))
      return try await read(present)
    } catch {
      // The history was cut in between; nobody has chosen this version.
      guard error.code == .failedPrecondition else { throw error }
      throw StatusError(code: .unavailable, message: "The version that was read is no longer kept; try again.")
    }
  }

  /// Checks that production has the indexes of a query, unless queries may be without. Which indexes there are is for those who may list its
  /// result.
  ///
  /// - Throws: FAILED_PRECONDITION with the definition of an index that lacks; PERMISSION_DENIED.
  func requireIndexes(
    _ needs: [IndexNeed], for query: Query, skipping offset: Int = 0
  ) async throws(StatusError) {
    do throws(StatusError) {
      try database.indexRules?.check(needs, in: database.id)
    } catch {
      try await check(.list(query, skipping: offset))?.list(query, skipping: offset, reading(at: nil))
      throw error
    }
  }

  /// As ``ServerStorage/plan(of:)``.
  func plan(of query: Query) async throws(StatusError) -> QueryAnswer {
    try checkWithoutRules(.explain(query))
    return try await storage.plan(of: query)
  }

  /// - Throws: PERMISSION_DENIED for a caller that may not learn how a query runs.
  func checkExplaining(_ query: Query) throws(StatusError) {
    try checkWithoutRules(.explain(query))
  }

  /// As ``ServerStorage/aggregate(_:over:skipping:at:)``.
  ///
  /// - Parameter query: The query as the caller has sent it, on which the rules decide. It is read in the order of the sums.
  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer {
    let ordered = Aggregation.query(query, for: aggregations)
    guard let rules = try check(.aggregate(aggregations, over: query, skipping: offset)) else {
      return try await storage.aggregate(aggregations, over: ordered, skipping: offset, at: version)
    }
    return try await decided(by: rules, on: query, skipping: offset, at: version) { version throws(StatusError) in
      try await storage.aggregate(aggregations, over: ordered, skipping: offset, at: version)
    }
  }

  /// - Throws: PERMISSION_DENIED for a caller that may not learn what lies below a document or a collection.
  func checkListingChildren(of parent: ResourcePath) throws(StatusError) {
    try checkWithoutRules(.listChildren(of: parent))
  }

  /// As ``ServerStorage/collectionIDs(under:after:limit:at:)``.
  func collectionIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> [String] {
    try checkWithoutRules(.listChildren(of: parent))
    return try await storage.collectionIDs(under: parent, after: last, limit: limit, at: version)
  }

  /// As ``ServerStorage/partitionPoints(of:count:minimumSize:at:)``.
  func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> PartitionAnswer {
    try checkWithoutRules(.partition(query))
    return try await storage.partitionPoints(of: query, count: count, minimumSize: minimumSize, at: version)
  }
}

// MARK: - Transactions

extension Session {
  /// As ``Transactions/begin(_:repeating:at:)``.
  func beginTransaction(
    _ isolation: TransactionIsolation, repeating repeated: [UInt8] = [], at version: SnapshotVersion? = nil
  ) async throws(StatusError) -> [UInt8] {
    try checkWithoutRules(.beginTransaction)
    // One that is not the caller's counts as not known.
    let repeated = seal.open(repeated, .transaction, for: caller) ?? []
    return seal.seal(
      try await database.transactions.begin(isolation, repeating: repeated, at: version), .transaction, for: caller)
  }

  /// Records a read of a transaction, whose documents it then reads as any other. The guard is asked before anything is locked.
  ///
  /// - Parameter access: The kind of the read: documents, the result of a query, or a sum over it.
  /// - Returns: As ``Transactions/read(_:keys:query:)``.
  func read(_ access: Access, in transaction: [UInt8]) async throws(StatusError) -> SnapshotVersion? {
    let (keys, query) = access.contents
    if let rules = try check(access) {
      // Nobody locks what it may not read.
      switch access {
      case .list(let query, let offset), .aggregate(_, let query, let offset):
        try await rules.list(query, skipping: offset, reading(at: nil))
      default: try await rules.get(keys, reading(at: nil))
      }
    }
    return try await database.transactions.read(openedTransaction(transaction), keys: keys, query: query)
  }

  /// Ends a transaction without a commit.
  ///
  /// The guard is not asked: nothing is read or changed, and a caller whose rights have ended must not keep its locks.
  func rollback(_ transaction: [UInt8]) async throws(StatusError) {
    try await database.transactions.rollback(openedTransaction(transaction))
  }

  /// The id by which the database knows a transaction of this caller.
  ///
  /// - Throws: INVALID_ARGUMENT for the id of another caller's transaction.
  private func openedTransaction(_ transaction: [UInt8]) throws(StatusError) -> [UInt8] {
    guard let id = seal.open(transaction, .transaction, for: caller) else { throw .invalid("Invalid transaction.") }
    return id
  }
}

// MARK: - Writes

extension Session {
  /// The check of a commit. Each attempt has one by the rules of its time.
  private func writeCheck(_ mutations: [Mutation]) throws(StatusError) -> RuleCheck? {
    let release = accessGuard.release
    var rules = try check(.write(mutations))
    rules?.renewed = { [self] () throws(StatusError) in
      if let expiry, .now >= expiry {
        throw StatusError(code: .unauthenticated, message: "The token of the call has expired.")
      }
      return accessGuard.release == release ? nil : try check(.write(mutations))
    }
    return rules
  }

  /// As ``ServerStorage/commit(_:)``. A label is the caller's own: another caller's request with the same one is another request.
  ///
  /// - Parameter batch: The BatchWrite to which the commit belongs; nil if it is a request of its own.
  func commit(
    _ request: CommitRequest, in batch: BatchEffort? = nil
  ) async throws(StatusError) -> CommitOutcome {
    var request = request
    let rules = try writeCheck(request.mutations)?.of(batch)
    request.commitGuard = rules
    request.sender = CallSender.current
    request.label = request.label?.bound(to: caller.boundTo, ofMany: caller.standsForMany)
    var outcome = try await storage.commit(request)
    guard let rules else { return outcome }
    // The time of the newest commit is for those who may write something.
    if request.mutations.isEmpty { outcome.version = SnapshotVersion(rules.time.truncatedToMicroseconds()) }
    guard outcome.document != nil || outcome.tellsFormerContents(of: request.mutations) else { return outcome }
    // Not on the event loop of a brief call: rules may take long.
    let (known, mutations) = (outcome, request.mutations)
    return await withTaskExecutorPreference(globalConcurrentExecutor) {
      var outcome = known
      let effort = batch?.effortOfWrite() ?? RuleEffort()
      // Who may write a document may not be allowed to read it.
      if let document = known.document, await !mayGet(document, at: known.version, sharing: effort) {
        outcome.document = .found(document.key, version: known.version, fields: EncodedFields([:]))
      }
      return await hidingResults(outcome, of: mutations, effort)
    }
  }

  /// Commits the writes of a request, which may end a transaction.
  ///
  /// - Parameter transaction: empty if there is none.
  func commit(
    _ mutations: [Mutation], endingTransaction transaction: [UInt8]
  ) async throws(StatusError) -> CommitOutcome {
    var request = CommitRequest(mutations: mutations)
    guard !transaction.isEmpty else { return try await commit(request) }
    request.commitGuard = try writeCheck(mutations)
    request.sender = CallSender.current
    let ending = request
    let transaction = try openedTransaction(transaction)
    // Not on the event loop of a brief call: the locks of the transaction are given to those that wait for them.
    let outcome = try await withTaskExecutorPreference(globalConcurrentExecutor) {
      () async throws(StatusError) -> CommitOutcome in
      try await database.transactions.commit(ending, ending: transaction)
    }
    return ending.commitGuard == nil ? outcome : await hidingResults(outcome, of: mutations, RuleEffort())
  }

  /// Hides what tells of the former contents of documents from callers who may not get them both before and after all of the writes: the
  /// results of transforms of numbers are then those for a document without the field, and an update time from before, which says that
  /// nothing has changed, is that of the commit.
  ///
  /// Both states count, because a later write of the same request may let the caller get the document, or take that from her.
  private func hidingResults(
    _ outcome: CommitOutcome, of mutations: [Mutation], _ effort: RuleEffort
  ) async -> CommitOutcome {
    var outcome = outcome
    var mayGet: [DocumentKey: Bool] = [:]
    for (index, mutation) in mutations.enumerated() where outcome.tellsFormerContents(of: mutation, at: index) {
      let isUnchanged = outcome.isUnchanged(at: index)
      let key = mutation.key
      if mayGet[key] == nil {
        // A commit that changes nothing has one state.
        mayGet[key] =
          isUnchanged && mutations.count == 1
          ? await self.mayGet(key, at: outcome.version, effort)
          : await mayGetBeforeAndAfter(outcome.version, key, effort)
      }
      guard mayGet[key] != true else { continue }
      if isUnchanged { outcome.results[index].version = outcome.version }
      for (place, transform) in mutation.transforms.enumerated() {
        guard let operand = transform.operation.resultWithoutFormerValue,
          outcome.results[index].transformResults.indices.contains(place)
        else { continue }
        outcome.results[index].transformResults[place] = operand
      }
    }
    return outcome
  }

  /// As ``ServerStorage/clear(_:)``, and aborts all open transactions of the database.
  func clear(_ place: ResourcePath) async throws(StatusError) {
    try checkWithoutRules(.clear(place))
    try await database.transactions.abortAll()
    try await storage.clear(place)
  }
}

extension CommitOutcome {
  /// True if the result of a write is that nothing has changed.
  fileprivate func isUnchanged(at index: Int) -> Bool {
    results[index].version != .none && results[index].version != version
  }

  /// True if the result of a write depends on what the document was before.
  fileprivate func tellsFormerContents(of mutation: Mutation, at index: Int) -> Bool {
    results.indices.contains(index)
      && (isUnchanged(at: index)
        || mutation.transforms.contains { $0.operation.resultWithoutFormerValue != nil })
  }

  fileprivate func tellsFormerContents(of mutations: [Mutation]) -> Bool {
    mutations.enumerated().contains { tellsFormerContents(of: $1, at: $0) }
  }
}

// MARK: - Watching

extension Session {
  /// The commits, for streams, which ask for a grant for each of their targets.
  var feed: ChangeFeed { storage.feed }

  /// As ``ChangeSource/catchUpFeed(seen:)``.
  func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) {
    try await storage.catchUpFeed(seen: seen)
  }

  /// As ``ChangeSource/epochs``.
  var epochs: Epochs { storage.epochs }

  /// Decides whether the caller may watch something.
  ///
  /// - Parameters:
  ///   - version: The version of the documents that the caller is about to get.
  ///   - effort: The effort of the decision.
  /// - Returns: The documents and the rules on which the decision depends; nil if it stands whatever happens.
  /// - Throws: PERMISSION_DENIED for what the caller may not watch.
  func grant(
    _ source: WatchSource, at version: SnapshotVersion, sharing effort: RuleEffort
  ) async throws(StatusError) -> WatchGrant? {
    let release = accessGuard.release
    guard let rules = try check(.watch(source))?.sharing(effort) else {
      if case .owner = named { return nil }
      // Rules may come.
      return WatchGrant(release: release)
    }
    let keys: [DocumentKey]
    var basis: RuleBasis
    do throws(StatusError) {
      switch source {
      case .query(let query):
        keys = query.documentAtPath.map { [$0] } ?? []
        basis = try await rules.list(query, reading(at: version))
      case .documents(let named):
        // All of them are decided again with each change of one.
        guard named.count <= Self.grantedDocuments else {
          throw StatusError.invalid(
            "a target of documents may name \(Self.grantedDocuments) of them under security rules; this one names \(named.count)"
          )
        }
        keys = named
        basis = try await rules.get(named, reading(at: version))
      }
    } catch {
      throw Self.watchFailure(error)
    }
    basis.documents.subtract(keys)
    return WatchGrant(release: release, basis: basis, dependsOnDocuments: !keys.isEmpty)
  }

  /// The documents that a target may name under rules. Clients name one.
  private static let grantedDocuments = 100

  /// Returns true if the caller may get a document as it is after a commit, and as it was before.
  private func mayGetBeforeAndAfter(
    _ version: SnapshotVersion, _ key: DocumentKey, _ effort: RuleEffort
  ) async -> Bool {
    guard await mayGet(key, at: version, effort) else { return false }
    return await mayGet(key, at: SnapshotVersion(microseconds: version.microseconds - 1), effort)
  }

  /// Returns true if the caller may get the document that a key names, as it is at a version. False also if that cannot be read any more.
  private func mayGet(_ key: DocumentKey, at version: SnapshotVersion, _ effort: RuleEffort) async -> Bool {
    guard let document = try? await storage.documents(for: [key], at: version).documents.first else { return false }
    return await mayGet(document, at: version, sharing: effort)
  }

  /// Returns true if the caller may get a document.
  ///
  /// - Parameters:
  ///   - document: As it is at the version.
  ///   - version: The version at which rules look up others.
  ///   - effort: The effort of the request to which the decision belongs; nil if it is one of its own.
  func mayGet(
    _ document: Document, at version: SnapshotVersion, sharing effort: RuleEffort? = nil
  ) async -> Bool {
    do {
      try await check(.get([document.key]))?.sharing(effort).get([document], reading(at: version))
      return true
    } catch {
      return false
    }
  }

  /// True if rules decide what the caller may do.
  var isUnderRules: Bool {
    if case .owner = caller { false } else { true }
  }

  /// The release of the rules by which a grant is decided now.
  var ruleRelease: Int { accessGuard.release }

  /// Reads of a target for which the caller has a grant. Its rules are not asked again.
  private func checkGranted(_ source: WatchSource) throws(StatusError) { _ = try check(.watch(source)) }

  /// As ``page(of:keeping:skipping:after:at:)``, of a target.
  func grantedPage(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion
  ) async throws(StatusError) -> QueryPage {
    if cursor == nil { try checkGranted(.query(query)) }
    return try await storage.page(of: query, after: cursor, at: version)
  }

  /// As ``firstDocuments(of:at:)``, of a target.
  func grantedDocuments(
    firstOf keys: ArraySlice<DocumentKey>, at version: SnapshotVersion
  ) async throws(StatusError) -> [Document] {
    try checkGranted(.documents(Array(keys)))
    return try await storage.firstDocuments(of: keys, at: version).documents
  }

  /// As ``ServerStorage/count(of:at:)``.
  func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
    try checkGranted(.query(query))
    return try await storage.count(of: query, at: version)
  }

  /// As ``ChangeSource/difference(of:after:through:from:edges:)``. The guard is asked for the first piece.
  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece? {
    if cursor == nil { try checkGranted(source) }
    return try await storage.difference(of: source, after: start, through: end, from: cursor, edges: edges)
  }

  /// As ``ChangeSource/changeCount(of:after:through:upTo:)``.
  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int? {
    try checkGranted(.query(query))
    return try await storage.changeCount(of: query, after: start, through: end, upTo: limit)
  }
}

extension TransformOperation {
  /// The result for a document without the field; nil if no result depends on the value before.
  fileprivate var resultWithoutFormerValue: Value? {
    switch self {
    case .increment(let operand), .maximum(let operand), .minimum(let operand): operand
    case .serverTimestamp, .arrayUnion, .arrayRemove: nil
    }
  }
}
