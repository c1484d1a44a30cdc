internal import HearthCache
internal import HearthModel

/// Conflicts between pending writes and the writes of others, where the application has set rules.
///
/// A batch with such documents is sent with its base versions as preconditions. When the backend refuses it, its documents are read, and
/// each that has changed is resolved by its rule, perhaps by the application. The result replaces the batch and is sent with the new
/// versions. Until then no later batch is sent.
///
/// | event | none open | reading | pausing | asking | failed |
/// |---|---|---|---|---|---|
/// | a batch has to be compared | reading | reading again | - | - | - |
/// | documents were read: rules decide | - | stored | - | - | - |
/// | documents were read: the application decides | - | asking | - | - | - |
/// | documents could not be read, or may not be, for the first time | - | pausing | - | - | - |
/// | documents may not be read, again | - | reading fewer, or stored | - | - | - |
/// | the last answer of the application | - | - | - | stored | - |
/// | an answer that cannot be used | - | - | - | failed | - |
/// | the pause ends | - | - | none | - | - |
/// | another attempt is wanted | - | - | none | - | none |
/// | another client sends the outbox | - | none | none | parked | none |
/// | the batch has left the outbox, or the user changes | - | none | none | none | none |
///
/// A parked conflict keeps its questions open (``ParkedConflict``). It continues when the same conflict is found again.
struct Conflicts {
  enum Action {
    case emit(SyncAction)
    /// An observer of the outbox may see a change.
    case outboxChanges
    /// The conflict ends: the outcome must be stored (``Conflicts/store(_:at:in:)``).
    case store(SettledConflict)
    /// The batch was compared with the backend's documents: what is sent from now on is another attempt.
    case settle(BatchID)
    /// Nothing of the batch is left to be sent: the calls that wait for it end, with an error if there is one.
    case complete(SettledConflict)
    /// Show these documents, as the local view now has them; `isReversal` if a write has gone from them without an effect.
    case show(DocumentMap, isReversal: Bool)
    /// The outcome could not be stored: the outbox rests until the storage works.
    case rest(after: any Error)
    /// Batches may be sent again.
    case sendOn
    /// This client may send its outbox, in a turn with the lease.
    case forgetFutileTurns
  }

  private let rules: ConflictRules
  private let databaseID: DatabaseID
  private let jitter: @Sendable () -> Double
  /// The one whose resolution the outbox waits for. One at a time: batches are sent in order.
  private(set) var open: OpenConflict?
  /// The one whose questions are open while another client has the lease.
  private var parked: ParkedConflict?
  /// The batch that the backend has refused because of its base versions.
  private var refused: (batchID: BatchID, error: StatusError)?
  /// The number of times that a batch was refused although its documents have their base versions.
  private var unexplained: (batchID: BatchID, count: Int) = (unknownBatchID, 0)
  /// The number of times in succession that the backend did not let the documents of a batch be read.
  private var denials: (batchID: BatchID, count: Int) = (unknownBatchID, 0)
  private var pauses: ExponentialBackoff
  private var lastID = 0

  init(configuration: SyncConfiguration, databaseID: DatabaseID) {
    rules = configuration.conflictRules
    self.databaseID = databaseID
    jitter = configuration.jitter
    pauses = ExponentialBackoff(parameters: configuration.backoff, now: .zero)
  }

  /// True if nothing of the outbox can be sent before the application resolves a conflict.
  var waitForApplication: Bool {
    switch open?.stage {
    case .asking, .failed: true
    case nil, .reading, .pausing: false
    }
  }

  /// The conflict that the outbox waits for, as it is shown.
  var state: OutboxConflict? { (open ?? parked?.conflict)?.state }

  /// True if the backend has refused the batch because of its base versions, and it was not compared since.
  func isRefused(_ batchID: BatchID) -> Bool { refused?.batchID == batchID }

  func assertInvariants() {
    if case .asking(let questions)? = open?.stage {
      assert(!questions.isEmpty, "A conflict waits for the application, which is asked nothing.")
      assert(
        questions.values.allSatisfy { open?.remote[$0] != nil }, "The application is asked for a document not read.")
    }
  }

  // MARK: - Beginnings

  /// Takes a refusal of the backend that may come from the preconditions of a batch.
  ///
  /// - Returns: False if it cannot.
  mutating func takeRefusal(of batch: MutationBatch, _ error: StatusError) -> Bool {
    guard batch.guards?.isEmpty == false, [.failedPrecondition, .alreadyExists, .notFound].contains(error.code) else {
      return false
    }
    refused = (batch.batchID, error)
    return true
  }

  /// Reads the documents of a batch that cannot be sent before they were compared.
  mutating func compare(_ conflict: OpenConflict, now: Duration) -> [Action] {
    close() + read(conflict, now: now)
  }

  private mutating func read(_ conflict: OpenConflict, now: Duration) -> [Action] {
    var conflict = conflict
    let id = LookUpID(rawValue: nextID())
    conflict.stage = .reading(id)
    open = conflict
    pauses.attemptBegins(now: now)
    return [.outboxChanges, .emit(.lookUp(id, conflict.keysToRead))]
  }

  private mutating func nextID() -> Int {
    lastID += 1
    return lastID
  }

  // MARK: - Comparing

  mutating func lookedUp(_ id: LookUpID, _ outcome: LookUpOutcome, now: Duration) -> [Action] {
    guard var open, case .reading(id) = open.stage else { return [] }
    switch outcome {
    case .unreadable(let error): return endOfReading(open, error, now: now)
    case .failure(let error) where error.code == .permissionDenied: return readingDenied(open, error, now: now)
    case .failure(let error) where error.code == .invalidArgument: return rejectUnread(open, error)
    case .failure(let error):
      denials = (unknownBatchID, 0)
      return pause(open, error, now: now)
    case .success(let documents):
      denials = (unknownBatchID, 0)
      pauses.reset()
      for document in documents { open.remote[document.key] = document }
      return resolve(open)
    }
  }

  /// The documents are read again after a pause.
  private mutating func pause(_ conflict: OpenConflict, _ error: StatusError, now: Duration) -> [Action] {
    open = conflict
    open?.stage = .pausing
    let pause = pauses.nextDelay(now: now, jitter: jitter())
    let message = "The documents of write \(conflict.batch.batchID) could not be read from the backend: \(error)"
    return [.emit(.log(.debug, message)), .emit(.startTimer(.conflictRetry, after: pause))]
  }

  /// The backend does not let the documents of a batch be read. One denial may come from something that passes, such as a proxy, rules
  /// that are being replaced, or a token that is about to be renewed. So only another one in succession counts: the write would be lost.
  private mutating func readingDenied(_ conflict: OpenConflict, _ error: StatusError, now: Duration) -> [Action] {
    if denials.batchID != conflict.batch.batchID { denials = (conflict.batch.batchID, 0) }
    denials.count += 1
    return denials.count < 2 ? pause(conflict, error, now: now) : endOfReading(conflict, error, now: now)
  }

  /// Not all documents of a batch can be read, now or later.
  private mutating func endOfReading(_ conflict: OpenConflict, _ error: StatusError, now: Duration) -> [Action] {
    guard conflict.keysToRead.count > conflict.bases.bases.count else { return rejectUnread(conflict, error) }
    // Perhaps only those that no rule contains, so that a lost answer cannot be told.
    var conflict = conflict
    conflict.mayBeCommitted = false
    return read(conflict, now: now)
  }

  /// The documents cannot be read, so the write cannot be sent with its base versions.
  private mutating func rejectUnread(_ conflict: OpenConflict, _ error: StatusError) -> [Action] {
    let refusal = isRefused(conflict.batch.batchID) ? refused?.error : nil
    return reject(conflict, refusal ?? error)
  }

  private mutating func resolve(_ conflict: OpenConflict) -> [Action] {
    var conflict = conflict
    var questions: [ConflictID: DocumentKey] = [:]
    var asked: [Action] = []
    var isContradicted = false
    do {
      if try conflict.isAtBackend {
        conflict.takeAll()
        return carryOut(conflict)
      }
      for (key, base) in conflict.bases.bases.sorted(by: { $0.key < $1.key }) {
        guard let remote = conflict.remote[key], !conflict.adopts(remote, for: key), base.isContradicted(by: remote),
          let policy = rules.policy(for: key)
        else { continue }
        isContradicted = true
        if let resolution = try conflict.resolution(for: key, by: policy, over: remote) {
          try conflict.take(resolution, for: key, over: remote, isMerge: policy.merges && remote.isFound)
        } else if case .ask(let resolver) = policy {
          let id = ConflictID(rawValue: nextID())
          questions[id] = key
          asked.append(
            .emit(
              .askResolver(
                id,
                DocumentConflict(
                  resolver: resolver, batchID: conflict.batch.batchID, base: conflict.shownBase(of: key),
                  local: try conflict.edit(of: key).document(at: conflict.batch.localWriteTime), remote: remote))))
        }
      }
    } catch {
      return reject(conflict, .storage("Write \(conflict.batch.batchID) cannot be compared", error))
    }
    if !isContradicted, let refused, refused.batchID == conflict.batch.batchID {
      return mayRepeat(refused.batchID) ? carryOut(conflict) : reject(conflict, refused.error)
    }
    guard !questions.isEmpty else { return carryOut(conflict) }
    let (isTakenUp, actions) = takeUpParked(for: conflict)
    if isTakenUp { return actions }
    conflict.stage = .asking(questions)
    open = conflict
    return actions + [.outboxChanges] + asked
  }

  /// A batch was refused, and the documents do not say why.
  ///
  /// - Returns: True to send it again: a document may have been different for a moment. After some attempts the reason must be another.
  private mutating func mayRepeat(_ batchID: BatchID) -> Bool {
    if unexplained.batchID != batchID { unexplained = (batchID, 0) }
    unexplained.count += 1
    return unexplained.count < 8
  }

  // MARK: - Pauses

  /// The timer between two attempts to read the documents has fired.
  mutating func timerFired() -> [Action] {
    endPause() ? [.outboxChanges, .sendOn] : []
  }

  /// Lets documents whose read failed be read again.
  ///
  /// - Returns: False if none wait for that.
  @discardableResult mutating func endPause() -> Bool {
    guard case .pausing? = open?.stage else { return false }
    open = nil
    return true
  }

  /// Lets an unresolved conflict be looked at again.
  mutating func tryAgain() -> [Action] {
    switch open?.stage {
    case .pausing, .failed: open = nil
    case nil, .reading, .asking: break
    }
    return [.outboxChanges]
  }

  // MARK: - Answers of the application

  mutating func answered(_ id: ConflictID, _ result: Result<ConflictAnswer, StatusError>) -> [Action] {
    // It comes while another client has the lease. After the last one this client asks for its turn.
    if parked?.questions.remove(id) != nil {
      parked?.answers.append((id, result))
      return parked?.questions.isEmpty == true ? [.forgetFutileTurns] : []
    }
    guard var open, case .asking(var questions) = open.stage, let key = questions.removeValue(forKey: id),
      let remote = open.remote[key]
    else { return [] }
    do {
      try open.take(result.get(), for: key, over: remote)
    } catch {
      return leaveUnresolved(open, key, StatusError.storage("It cannot be resolved", error))
    }
    if questions.isEmpty { return carryOut(open) }
    open.stage = .asking(questions)
    self.open = open
    return []
  }

  private mutating func leaveUnresolved(
    _ conflict: OpenConflict, _ key: DocumentKey, _ error: StatusError
  ) -> [Action] {
    let failure = StatusError(code: error.code, message: "The conflict at \"\(key)\" is not resolved: \(error.message)")
    let message = "\(failure.message) Write \(conflict.batch.batchID) and later writes wait."
    let cancelled = cancelQuestions()
    open = conflict
    open?.stage = .failed(failure)
    return [.emit(.log(.error, message))] + cancelled + [.outboxChanges]
  }

  // MARK: - Turns with the lease

  /// Another client sends the outbox. Questions to the application stay open.
  mutating func park() -> [Action] {
    defer { refused = nil }
    guard let open, let parking = ParkedConflict(open) else { return close() }
    let actions = dropParked()
    parked = parking
    self.open = nil
    return actions + [.outboxChanges]
  }

  /// Goes on with the questions that were asked before, if they are the same as those of a conflict that was found now.
  ///
  /// - Returns: False if the application must be asked.
  private mutating func takeUpParked(for conflict: OpenConflict) -> (Bool, [Action]) {
    guard let parked else { return (false, []) }
    guard parked.isAbout(conflict) else { return (false, dropParked()) }
    self.parked = nil
    open = parked.conflict
    // The state that was read now is stored with the answers: others may have written the document in between, and deleted it again. And
    // writes behind this one may have been made or cancelled.
    open?.remote = conflict.remote
    open?.bases = conflict.bases
    return (true, parked.answers.reduce([.outboxChanges]) { $0 + answered($1.id, $1.result) })
  }

  // MARK: - Ends

  private mutating func carryOut(_ conflict: OpenConflict) -> [Action] {
    let outcome = conflict.outcome
    if outcome.mutations != conflict.batch.mutations, let refusal = sizeRefusal(of: outcome.mutations) {
      return reject(conflict, refusal)
    }
    return settle(conflict, .resolved(outcome))
  }

  /// A resolution may write whole documents where the batch changed a field of each. The outbox would wait behind one that is too large to be
  /// sent.
  private func sizeRefusal(of mutations: [Mutation]) -> StatusError? {
    let bytes = mutations.reduce(0) { $0 + $1.encodedByteLimit(in: databaseID) }
    guard bytes > MutationBatch.maximumBytes else { return nil }
    return StatusError(
      code: .invalidArgument,
      message: "The write was not sent: with the documents that the rule for conflicts writes in full it has "
        + "\(bytes) bytes, and a batch may have \(MutationBatch.maximumBytes).")
  }

  private mutating func reject(_ conflict: OpenConflict, _ error: StatusError) -> [Action] {
    settle(conflict, .rejected(error))
  }

  private mutating func settle(_ conflict: OpenConflict, _ end: SettledConflict.End) -> [Action] {
    open = nil
    return dropParked() + [.store(SettledConflict(batch: conflict.batch, owner: conflict.owner, end: end))]
  }

  /// The end of the batch's conflict is stored.
  mutating func stored(_ batchID: BatchID) {
    if refused?.batchID == batchID { refused = nil }
  }

  /// A batch has left the outbox, so that nothing needs to wait for it.
  mutating func batchLeaves(_ batchID: BatchID) -> [Action] {
    var actions: [Action] = []
    if open?.batch.batchID == batchID { actions += close() }
    if parked?.conflict.batch.batchID == batchID { actions += dropParked() }
    if refused?.batchID == batchID { refused = nil }
    return actions
  }

  /// The outbox of this user is sent: a conflict of another user keeps nothing waiting. If it is still there, it is found again.
  mutating func serve(_ user: String?) -> [Action] {
    guard let open, !LocalStore.isSameUser(open.owner, user) else { return [] }
    return close()
  }

  /// Another user has signed in, whose outbox the cache shows. What is still open of the former one's must not be parked.
  mutating func userChanges() -> [Action] { close() + dropParked() }

  /// The client ends.
  mutating func stop() -> [Action] {
    close() + dropParked() + [.emit(.cancelTimer(.conflictRetry))]
  }

  private mutating func close() -> [Action] {
    guard open != nil else { return [] }
    let actions = cancelQuestions()
    open = nil
    return actions + [.outboxChanges]
  }

  private mutating func dropParked() -> [Action] {
    guard let parked else { return [] }
    self.parked = nil
    return Self.cancel(parked.questions) + [.outboxChanges]
  }

  private func cancelQuestions() -> [Action] {
    guard case .asking(let questions)? = open?.stage else { return [] }
    return Self.cancel(questions.keys)
  }

  /// Tells the application that nothing depends on its answers any more.
  private static func cancel(_ questions: some Collection<ConflictID>) -> [Action] {
    questions.sorted { $0.rawValue < $1.rawValue }.map { .emit(.cancelQuestion($0)) }
  }
}
