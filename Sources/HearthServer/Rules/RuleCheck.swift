internal import HearthModel
internal import HearthRules
internal import Synchronization

/// Decides by rules on what one caller does in one database.
struct RuleCheck: Sendable {
  let rules: RuleSet
  /// `request.auth` of the caller.
  let auth: RuleValue
  let database: DatabaseID
  /// `request.time` of a request that is no commit.
  let time: Timestamp
  /// True if the caller is told which rule has refused: in development, because it tells what the rules are.
  let explains: Bool
  /// Counts the values of expressions for reports of coverage; nil outside development.
  let counter: CoverageCounter?
  /// The effort of the request to which the decisions belong; nil if each is a request of its own.
  private(set) var sharedEffort: RuleEffort?
  /// Nil if decisions need not wait for their turn.
  var turns: RuleTurns?
  /// The check by the rules of now, for a commit that has waited; nil if they are the same.
  var renewed: (@Sendable () throws(StatusError) -> RuleCheck?)?

  /// The documents that rules may look up for a request of several documents. Each alone may look up ``RuleLimits/documents``.
  private static let documentsOfRequest = 20

  /// Reads the first of some documents, found or missing: as many as make a piece.
  typealias Reading = @Sendable (ArraySlice<DocumentKey>) async throws(StatusError) -> [Document]

  init(
    rules: RuleSet, auth: RuleValue, database: DatabaseID, time: Timestamp, explains: Bool, counter: CoverageCounter?
  ) {
    (self.rules, self.auth, self.database) = (rules, auth, database)
    (self.time, self.explains, self.counter) = (time, explains, counter)
  }

  /// The same for one of several decisions on a request.
  func sharing(_ effort: RuleEffort?) -> RuleCheck {
    var check = self
    check.sharedEffort = effort
    return check
  }

  private var effort: RuleEffort { sharedEffort ?? RuleEffort() }

  /// The turn of the decisions on a request of the current call.
  func turn() -> RuleTurn { RuleTurn(turns, of: CallSender.current) }

  // MARK: - Reads

  /// Decides whether the caller may get documents.
  ///
  /// - Parameters:
  ///   - documents: As they are stored, found or missing.
  ///   - turn: The turn of the request.
  ///   - read: Reads further ones as they are at the same version.
  /// - Returns: The documents and the time on which the answer depends, without those that were asked for.
  /// - Throws: PERMISSION_DENIED; what `read` throws.
  @discardableResult
  func get(
    _ documents: [Document], in turn: RuleTurn? = nil, _ read: Reading
  ) async throws(StatusError) -> RuleBasis {
    var known = KnownDocuments(database, effort)
    try await get(documents, &known, turn ?? self.turn(), read)
    return known.basis
  }

  /// Decides whether the caller may get documents, which are read piece by piece and not kept.
  @discardableResult
  func get(_ keys: [DocumentKey], _ read: Reading) async throws(StatusError) -> RuleBasis {
    var known = KnownDocuments(database, effort)
    let turn = turn()
    var rest = keys[...]
    while !rest.isEmpty {
      let documents = try await turn.reading({ () throws(StatusError) in try await read(rest) }) { $0 }
      guard !documents.isEmpty else { break }
      rest = rest.dropFirst(documents.count)
      try await get(documents, &known, turn, read)
    }
    return known.basis
  }

  private func get(
    _ documents: [Document], _ known: inout KnownDocuments, _ turn: RuleTurn, _ read: Reading
  ) async throws(StatusError) {
    for document in documents {
      if document.fields.bytes.count > RuleTurns.largeBytes { try await turn.begin() }
      let fields = StoredFields(of: document)
      let request = RuleRequest(
        .get, document.key, in: database, auth: auth, time: RuleTimestamp(time), stored: fields)
      try await decide(.get, &known, turn, read, on: document.key) { lookUp throws(StatusError) in
        try fields.checked(rules.evaluate(request, isTraced: counter != nil, lookUp: lookUp))
      }
    }
  }

  /// Decides whether the caller may read the result of a query, whatever is in it.
  ///
  /// - Parameters:
  ///   - query: The query with the limit that its caller wants.
  ///   - offset: The number of first documents that its caller does not want.
  ///   - read: As for ``get(_:_:)``.
  /// - Returns: The documents and the time on which the answer depends, without those that were asked for.
  @discardableResult
  func list(_ query: Query, skipping offset: Int = 0, _ read: Reading) async throws(StatusError) -> RuleBasis {
    // A query that names a document is a get with conditions.
    if let key = query.documentAtPath { return try await get([key], read) }
    guard let ruleQuery = RuleQuery(query, skipping: offset, in: database) else { throw .insufficientPermissions }
    var known = KnownDocuments(database, effort)
    try await decide(.list, &known, turn(), read, on: nil) {
      rules.evaluate(ruleQuery, auth: auth, time: RuleTimestamp(time), isTraced: counter != nil, lookUp: $0)
    }
    return known.basis
  }

  /// Evaluates until everything is read that rules look up.
  private func decide(
    _ method: RuleMethod, _ known: inout KnownDocuments, _ turn: RuleTurn, _ read: Reading, on key: DocumentKey?,
    _ evaluate: (@escaping (LookedUpDocument) -> DocumentLookup) throws(StatusError) -> RuleDecision
  ) async throws(StatusError) {
    while true {
      let snapshot = known
      let decision = try evaluate { snapshot[$0] }
      try spend(RuleEffort.of(decision), known)
      if known.takeTurn() { await Task.yield() }
      switch decision.answer {
      case .allowed:
        count(decision)
        guard known.note(decision) <= Self.documentsOfRequest else { throw .insufficientPermissions }
        return
      case .denied:
        count(decision)
        throw refusal(decision, method, key)
      case .needsDocuments(let wanted):
        let unread = known.unread(among: wanted)
        // Each round makes all of them known.
        guard !unread.isEmpty else { throw .insufficientPermissions }
        try await add(unread, to: &known, turn, read)
      }
    }
  }

  /// Reads documents piece by piece, as far as the request may make the effort.
  private func add(
    _ unread: [(name: LookedUpDocument, key: DocumentKey)], to known: inout KnownDocuments, _ turn: RuleTurn,
    _ read: Reading
  ) async throws(StatusError) {
    let names = Dictionary(grouping: unread, by: \.key)
    var rest = Array(names.keys)[...]
    while !rest.isEmpty {
      if known.bytes > RuleTurns.largeBytes { try await turn.begin() }
      let documents = try await turn.reading({ () throws(StatusError) in try await read(rest) }) { $0 }
      let count = max(documents.count, 1)
      let byKey = Dictionary(documents.map { ($0.key, $0) }) { $1 }
      for key in rest.prefix(count) {
        for (name, _) in names[key] ?? [] {
          try spend(known.add(byKey[key] ?? .missing(key, version: .none), for: name), known)
        }
      }
      rest = rest.dropFirst(count)
    }
  }

  /// - Throws: PERMISSION_DENIED if the decisions on the request take too long together.
  private func spend(_ effort: Int, _ known: KnownDocuments) throws(StatusError) {
    guard !known.spend(effort) else { return }
    guard explains else { throw .insufficientPermissions }
    throw StatusError(
      code: .permissionDenied,
      message:
        "\(StatusError.insufficientPermissions.message) (the rules take more than \(RuleEffort.maximum) units of work "
        + "for all documents of the request; \(RuleEffort.ofExpression) are an expression)")
  }

  private func count(_ decision: RuleDecision) {
    if let counter, let trace = decision.trace { counter.add(trace) }
  }

  /// In development with the reasons in the form of Google's emulator, such as `false for 'get' @ L5`.
  private func refusal(_ decision: RuleDecision, _ method: RuleMethod, _ key: DocumentKey?) -> StatusError {
    guard explains else { return .insufficientPermissions }
    let reasons = decision.refusals.map { refusal in
      "\(refusal.failure.map { $0.description } ?? "false") for '\(method.rawValue)' @ L\(refusal.line)"
    }
    let what = key.map { "\($0.canonicalString): " } ?? ""
    let reason = reasons.isEmpty ? "No matching allow statements" : reasons.joined(separator: ", ")
    return StatusError(
      code: .permissionDenied, message: "\(StatusError.insufficientPermissions.message) (\(what)\(reason))")
  }
}

// MARK: - Writes

extension RuleCheck: CommitGuard {
  /// All questions of an attempt share one effort. The next attempt has another one: the request is not to blame for the locks of others. It has
  /// the rules of its time, too, and fails if its caller's credentials have expired in the meantime.
  func inOneAttempt() throws(StatusError) -> RuleCheck {
    guard let renewed, let check = try renewed() else { return sharing(effort) }
    return check.sharing(effort)
  }

  /// The documents that rules look up are read from the storage, or from the request for the state after it.
  func check(
    _ writes: [GuardedWrite], at time: Timestamp, stored: (DocumentKey) throws -> Document
  ) throws {
    // Rules seldom look at further documents.
    lazy var after = Dictionary(writes.map { ($0.transition.key, $0.transition.after) }) { $1 }
    var known = KnownDocuments(database, effort)
    for write in writes {
      let (key, before) = (write.transition.key, write.transition.before)
      try spend(write.transition.after.fields.bytes.count, known)
      let fields = StoredFields(of: before)
      let request = RuleRequest(
        write.method, key, in: database, auth: auth, time: RuleTimestamp(time.cutToMilliseconds),
        changed: try RuleMap.fields(of: write.transition.after), inTransaction: true, stored: fields)
      while true {
        let snapshot = known
        let decision = try fields.checked(rules.evaluate(request, isTraced: counter != nil) { snapshot[$0] })
        try spend(RuleEffort.of(decision), known)
        if case .needsDocuments(let wanted) = decision.answer {
          let unread = known.unread(among: wanted)
          guard !unread.isEmpty else { throw StatusError.insufficientPermissions }
          for (name, key) in unread {
            let written = name.isAfterwards ? after[key] : nil
            try spend(known.add(written ?? stored(key), for: name, isWritten: written != nil), known)
          }
          continue
        }
        count(decision)
        guard decision.isAllowed else { throw refusal(decision, write.method, key) }
        guard known.note(decision) <= Self.documentsOfRequest else { throw StatusError.insufficientPermissions }
        break
      }
    }
  }
}

extension GuardedWrite {
  fileprivate var method: RuleMethod {
    if isOnlyVerified { return .get }
    switch (transition.before.isFound, transition.after.isFound) {
    case (true, true): return .update
    case (false, true): return .create
    case (_, false): return .delete
    }
  }
}

/// The fields of a document, decoded when rules look at them.
private struct StoredFields {
  /// Nil if the document is missing.
  fileprivate let decoding: Decoding?

  fileprivate final class Decoding: Sendable {
    private let document: Document
    let failure = Mutex<StatusError?>(nil)

    init(of document: Document) {
      self.document = document
    }

    /// Nil if the fields are damaged.
    func decoded() -> RuleMap? {
      do throws(StatusError) {
        return try RuleMap.fields(of: document)
      } catch {
        failure.withLock { $0 = error }
        return nil
      }
    }
  }

  init(of document: Document) {
    decoding = document.isFound ? Decoding(of: document) : nil
  }

  /// - Throws: INTERNAL if the decision was made on damaged fields.
  func checked(_ decision: RuleDecision) throws(StatusError) -> RuleDecision {
    if let failure = decoding?.failure.withLock({ $0 }) { throw failure }
    return decision
  }
}

extension RuleRequest {
  fileprivate init(
    _ method: RuleMethod, _ key: DocumentKey, in database: DatabaseID, auth: RuleValue, time: RuleTimestamp,
    changed: RuleMap? = nil, inTransaction: Bool = false, stored: StoredFields
  ) {
    let path = key.ruleNames(in: database)
    guard let decoding = stored.decoding else {
      self.init(
        method, path: path, auth: auth, time: time, document: nil, changed: changed, inTransaction: inTransaction)
      return
    }
    self.init(method, path: path, auth: auth, time: time, changed: changed, inTransaction: inTransaction) {
      decoding.decoded()
    }
  }
}

/// The documents that rules look up for one request.
private struct KnownDocuments {
  private let database: DatabaseID
  /// Compared by bytes, as names of documents are.
  private var states: [LookedUpDocument: DocumentLookup] = [:]
  private var used: Set<LookedUpDocument> = []
  /// Documents that the query names and on whose contents the answer depends.
  private var named: Set<LookedUpDocument> = []
  private var usesTime = false
  /// The bytes of the documents that were looked up.
  private(set) var bytes = 0
  private let effort: RuleEffort

  init(_ database: DatabaseID, _ effort: RuleEffort) {
    self.database = database
    self.effort = effort
  }

  /// One of another database is none.
  subscript(document: LookedUpDocument) -> DocumentLookup {
    if let state = states[document] { return state }
    return DocumentKey(document.path, in: database) == nil ? .missing : .notRead
  }

  func has(_ document: LookedUpDocument) -> Bool {
    if case .notRead = self[document] { false } else { true }
  }

  var basis: RuleBasis {
    RuleBasis(
      documents: Set(used.union(named).compactMap { DocumentKey($0.path, in: database) }), usesTime: usesTime)
  }

  /// The documents that are wanted and not known, each under the name by which it is wanted.
  func unread(among wanted: [LookedUpDocument]) -> [(name: LookedUpDocument, key: DocumentKey)] {
    wanted.filter { !has($0) }.compactMap { name in DocumentKey(name.path, in: database).map { (name, $0) } }
  }

  /// - Parameter isWritten: True for a document as the request leaves it.
  /// - Returns: The effort.
  mutating func add(
    _ document: Document, for name: LookedUpDocument, isWritten: Bool = false
  ) throws(StatusError) -> Int {
    let (map, effort) = try effort.fields(of: document)
    bytes += document.fields.bytes.count
    states[name] = map.map { .found($0) } ?? (isWritten ? .removed : .missing)
    return effort
  }

  /// Returns false if it is too much for the request.
  func spend(_ effort: Int) -> Bool { self.effort.spend(effort) }

  /// As ``RuleEffort/takeTurn()``.
  func takeTurn() -> Bool { effort.takeTurn() }

  /// - Returns: The number of documents that were looked up by now.
  mutating func note(_ decision: RuleDecision) -> Int {
    used.formUnion(decision.documents)
    named.formUnion(decision.named)
    usesTime = usesTime || decision.usesTime
    return used.count
  }
}
