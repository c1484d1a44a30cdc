internal import HearthModel
internal import HearthStore

/// Reading what other clients have changed.
///
/// Each outermost transaction begins with it, so everything that a transaction reads and returns is one state of the file together
/// with the news that was gathered. What was gathered waits in memory until ``takeNews()``.
extension LocalStore {
  /// The numbers of notices that are kept; smaller in tests.
  package struct NoticeLimits: Sendable {
    /// After this many read notices a client's row is brought up to date, so that they can be removed.
    package var betweenMarks: Int64
    /// This many may wait for a client that does not read them. It then has to read everything anew.
    package var waiting: Int64
    /// Answers to batches among them are kept for this many. Behind it that client has to look its batches up, too.
    package var waitingAnswers: Int64

    package init(betweenMarks: Int64 = 256, waiting: Int64 = 50_000, waitingAnswers: Int64 = 200_000) {
      self.betweenMarks = betweenMarks
      self.waiting = waiting
      self.waitingAnswers = waitingAnswers
    }
  }

  /// Gathers what other clients have changed, and makes notices removable.
  package func catchUp() throws {
    guard state.membership != nil else { return }
    try read("Read notices") { [self] in
      if let failure = state.membership?.failure {
        state.membership?.failure = nil
        throw failure
      }
    }
    guard let member = state.membership, member.seen - member.storedSeen >= noticeLimits.betweenMarks else { return }
    try transaction("Note read notices") {
      guard let member = state.membership else { return }
      try clients.update(member.client, seen: member.seen)
      state.membership?.storedSeen = member.seen
      let last = try notices.lastNumber()
      let lowest = try clients.lowestSeen() ?? last
      try notices.remove(upTo: lowest, keepingAnswers: false)
      let overdue = last - noticeLimits.waiting
      guard overdue > lowest else { return }
      // Callers of writes wait for the answers; for all else reading anew is as good. Up to the last mark only answers are left.
      try notices.remove(after: member.sharing.trimmedThrough, upTo: overdue, keepingAnswers: true)
      try notices.remove(upTo: last - noticeLimits.waitingAnswers, keepingAnswers: false)
      try clients.setTrimmed(through: overdue)
    }
  }

  /// Returns what was gathered since the last call.
  package func takeNews() -> News {
    guard let news = state.membership?.news, !news.isEmpty else { return News() }
    state.membership?.news = News()
    return news
  }

  /// Changes when another client was found to have changed the file.
  package var fileVersion: Int64 { state.membership?.dataVersion ?? 0 }

  /// True if something was gathered that was not taken yet.
  package var hasNews: Bool { state.membership.map { !$0.news.isEmpty } ?? false }

  /// True if it was gathered, and not taken, that clients came or went or want other targets.
  var hasNewsOfClients: Bool { state.membership?.news.concernsClients ?? false }

  /// True if other clients may have put batches into the outbox of which ``takeNews()`` has not told.
  package var mayMissBatches: Bool {
    state.membership.map { $0.failure != nil || $0.news.hasNewBatches } ?? false
  }

  // MARK: - In transactions

  /// Part of the begin of each outermost transaction.
  ///
  /// - Parameter isRepair: True for the transaction that repairs what cannot be read here.
  /// - Throws: `CacheError.leaseLost` if the transaction needs the lease and another client has it, `StoreError` `newerSchema` if a newer
  ///   release has migrated the file.
  func beginShared(needsLease: Bool, isRepair: Bool = false) throws {
    guard let member = state.membership else { return }
    let version = try database.dataVersion
    if version != member.dataVersion {
      try checkSchema()
      state.membership?.dataVersion = version
      // The other client may have repaired the users.
      state.userRow = nil
      do {
        try refreshSharing()
      } catch {
        guard isRepair else { throw error }
      }
      state.membership?.failure = nil
      do {
        try gatherNews()
      } catch {
        // The transaction itself goes on. The next one looks again.
        state.membership?.failure = error
        state.membership?.dataVersion = -1
      }
    }
    if needsLease, let member = state.membership, !member.holdsLease {
      throw CacheError.leaseLost(held: member.leaseNumber, current: member.sharing.leaseNumber)
    }
  }

  func refreshSharing() throws {
    guard let client = state.membership?.client else { return }
    state.membership?.sharing = try clients.sharing(except: client)
  }

  private func gatherNews() throws {
    guard let member = state.membership else { return }
    let last = try notices.lastNumber()
    guard last > member.seen else { return }
    var news = member.news
    if member.sharing.trimmedThrough > member.seen { news.noteGap() }
    let gathered = try gather(after: member, into: &news)
    if gathered.concernsBatches { try database.part("Lookup mutation documents") {} }
    if gathered.concernsTargets { try database.part("Get new document changes") {} }
    let documents = try localDocuments.localView(of: gathered.keys, user: try userRow())
    if news.changes.isEmpty { news.changes = documents } else { news.changes.merge(documents) { _, new in new } }
    for target in news.targetStates.keys {
      let agreement = try clients.agreement(of: target)
      news.targetStates[target] = agreement
      // What a limit leaves out is not known, so it matters which documents it was counted with.
      let isLimited = state.targets[target]?.data.target.limit != nil
      news.confirmedKeys[target] = try agreement != .open && isLimited ? targets.keys(of: target) : nil
    }
    for target in news.resetTargets {
      // It may have been released since that was gathered.
      guard state.targets[target] != nil, let data = try rowOfActiveTarget(target) else { continue }
      state.targets[target] = ActiveTarget(data: data, persisted: data)
    }
    state.membership?.news = news
    state.membership?.seen = last
  }

  private struct Gathered {
    /// In the order in which they were changed first.
    var keys: [DocumentKey] = []
    var concernsBatches = false
    var concernsTargets = false
  }

  private func gather(after member: Membership, into news: inout News) throws -> Gathered {
    var gathered = Gathered()
    // A former holder of the lease that has not found out yet reads all documents anew when it does.
    let ignoresDocuments = member.leaseNumber != nil && !member.holdsLease
    let user = try userRow()
    let scopes = TargetScopes(state.targets.values.lazy.map(\.data.target))
    var known: Set<DocumentKey> = []
    try notices.forEach(after: member.seen, exceptFrom: member.client) { notice in
      switch notice {
      case .document(let key, let owner):
        guard !ignoresDocuments, owner == nil || owner == user, scopes.contain(key) else { return }
        if known.insert(key).inserted { gathered.keys.append(key) }
      case .batchQueued(_, let owner):
        if owner == user {
          gathered.concernsBatches = true
          news.hasNewBatches = true
        }
      case .batchAnswered(let batchID, let owner, let error):
        gathered.concernsBatches = true
        news.answers.append(News.Answer(batchID: batchID, isActiveUsers: owner == user, error: error))
      case .targetState(let target):
        news.isFromPrimary = true
        guard !ignoresDocuments else { return }
        gathered.concernsTargets = true
        if state.targets[target] != nil { news.targetStates[target] = .open }
      case .targetRejected(let target, let error):
        news.isFromPrimary = true
        if state.targets[target] != nil { news.rejectedTargets.append((target, error)) }
      case .targetReset(let target):
        if state.targets[target] != nil { news.resetTargets.insert(target) }
      case .clients: news.concernsClients = true
      case .lease: (news.concernsLease, news.isFromPrimary) = (true, true)
      case .signOfLife: news.isFromPrimary = true
      case .question: news.isQuestion = true
      case .indexes: news.concernsIndexes = true
      case .outbox: news.concernsOutbox = true
      case .retryNow: news.asksForRetry = true
      case .end: news.mustEnd = true
      case .repaired:
        noteRepairByOther()
        // Batches may have another owner, or none, and overlays are made anew.
        news.noteGap()
      // Whatever a newer release tells: everything that is shown is read anew.
      case nil: news.noteGap()
      }
    }
    return gathered
  }
}

/// The collections, groups and paths in which the documents of some targets may lie.
private struct TargetScopes {
  private var collections: Set<ResourcePath> = []
  private var groups: Set<String> = []
  private var documents: Set<ResourcePath> = []

  init(_ targets: some Sequence<Target>) {
    for target in targets {
      if let group = target.collectionGroup {
        groups.insert(group)
      } else if target.path.count.isMultiple(of: 2) {
        documents.insert(target.path)
      } else {
        collections.insert(target.path)
      }
    }
  }

  func contain(_ key: DocumentKey) -> Bool {
    collections.contains(key.collectionPath) || groups.contains(key.collectionGroup) || documents.contains(key.path)
  }
}
