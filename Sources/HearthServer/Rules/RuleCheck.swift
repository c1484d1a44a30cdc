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
  /// The BatchWrite to which a commit belongs; nil if it is a request of its own.
  private var batch: BatchEffort?
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

  /// The same for a commit that belongs to a BatchWrite.
  func of(_ batch: BatchEffort?) -> RuleCheck {
    var check = self
    check.batch = batch
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
  private func spend(_ count: Int, _ known: KnownDocuments) throws(StatusError) { try spend(count, known.effort) }

  private func spend(_ count: Int, _ effort: RuleEffort) throws(StatusError) {
    guard !effort.spend(count) else { return }
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
    let effort = sharedEffort ?? batch?.effortOfWrite() ?? RuleEffort()
    guard let renewed, let check = try renewed() else { return sharing(effort) }
    return check.sharing(effort)
  }

  /// The documents that rules look up are read from the storage, or from the request for the state after it. The documents that are written are
  /// read when a rule looks at them.
  func check(
    _ writes: [any GuardedWrite], at time: Timestamp, stored: @escaping (DocumentKey) throws -> Document
  ) throws {
    // Rules seldom look at further documents.
    lazy var written = Dictionary(writes.map { ($0.key, $0) }) { $1 }
    let effort = effort
    var known = KnownDocuments(database, effort)
    for write in writes {
      // An effort that was used up by others of the request is no reason to read anything.
      try spend(0, known)
      do {
        try decide(write, at: time, &known, stored) { try written[$0]?.after() }
      } catch let denial as StatusError where denial.code == .permissionDenied {
        effort.note(isAllowed: false)
        throw denial
      }
    }
    effort.note(isAllowed: true)
  }

  /// - Parameter after: Returns a document that the request writes, as its writes leave it; nil for another one.
  private func decide(
    _ write: any GuardedWrite, at time: Timestamp, _ known: inout KnownDocuments,
    _ stored: (DocumentKey) throws -> Document, after: (DocumentKey) throws -> Document?
  ) throws {
    let (method, effort) = (try write.method, known.effort)
    let before = FieldsOnDemand { try write.before() }
    let changed = FieldsOnDemand {
      let document = try write.after()
      try spend(document.fields.bytes.count, effort)
      return document
    }
    let request = RuleRequest(
      method, path: write.key.ruleNames(in: database), auth: auth, time: RuleTimestamp(time.cutToMilliseconds),
      inTransaction: true, changed: { changed.decoded() }, document: { before.decoded() })
    while true {
      let snapshot = known
      let decision = rules.evaluate(request, isTraced: counter != nil) { snapshot[$0] }
      if let failure = before.failure ?? changed.failure { throw failure }
      try spend(RuleEffort.of(decision), effort)
      if case .needsDocuments(let wanted) = decision.answer {
        let unread = known.unread(among: wanted)
        guard !unread.isEmpty else { throw StatusError.insufficientPermissions }
        for (name, key) in unread {
          let written = name.isAfterwards ? try after(key) : nil
          try spend(known.add(written ?? stored(key), for: name, isWritten: written != nil), effort)
        }
        continue
      }
      count(decision)
      guard decision.isAllowed else { throw refusal(decision, method, write.key) }
      guard known.note(decision) <= Self.documentsOfRequest else { throw StatusError.insufficientPermissions }
      return
    }
  }
}

extension GuardedWrite {
  fileprivate var method: RuleMethod {
    get throws {
      if isOnlyVerified { return .get }
      guard try isFoundAfter() else { return .delete }
      return try isFoundBefore() ? .update : .create
    }
  }
}

/// The fields of a document that is read, and decoded, when rules look at it.
private final class FieldsOnDemand {
  private let read: () throws -> Document
  /// The reason why the fields could not be read. A decision that was made without them does not count.
  private(set) var failure: (any Error)?

  init(_ read: @escaping () throws -> Document) { self.read = read }

  /// Nil for a missing document, and if there is a failure.
  func decoded() -> RuleMap? {
    do {
      return try RuleMap.fields(of: read())
    } catch {
      failure = error
      return nil
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
    stored: StoredFields
  ) {
    let path = key.ruleNames(in: database)
    guard let decoding = stored.decoding else {
      self.init(method, path: path, auth: auth, time: time, document: nil)
      return
    }
    self.init(method, path: path, auth: auth, time: time) { decoding.decoded() }
  }
}
