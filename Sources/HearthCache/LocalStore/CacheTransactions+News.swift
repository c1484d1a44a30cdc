internal import HearthModel
internal import HearthStore

/// Reading the changes of other clients.
///
/// Each outermost transaction begins with it. So everything that a transaction reads and returns is one state of the file, consistent with
/// the gathered news. The news waits in memory until ``ClientSharing/takeNews()``.
extension CacheTransactions {
  func gatherNews() throws {
    guard let member = sharing.membership else { return }
    let last = try tables.notices.lastNumber()
    guard last > member.seen else { return }
    var news = member.news
    if member.sharing.trimmedThrough > member.seen { news.noteGap() }
    let gathered = try gather(after: member, into: &news)
    if gathered.concernsBatches { try tables.database.part("Lookup mutation documents") {} }
    if gathered.concernsTargets { try tables.database.part("Get new document changes") {} }
    let documents = try tables.localDocuments.localView(of: gathered.keys, user: try user.row())
    if news.changes.isEmpty { news.changes = documents } else { news.changes.merge(documents) { _, new in new } }
    for target in news.targetStates.keys {
      let agreement = try tables.clients.agreement(of: target)
      news.targetStates[target] = agreement
      // The documents beyond a limit are not known, so it matters which documents the limit was counted with. Users see different ones.
      let needsKeys = targets[target]?.data.target.limit != nil || sharing.hasOtherUsers
      news.confirmedKeys[target] = try agreement != .open && needsKeys ? tables.targets.keys(of: target) : nil
    }
    // One may have been released since that was gathered.
    for target in news.resetTargets { try targets.readAgain(target) }
    sharing.noteNews(news, through: last)
  }

  private struct Gathered {
    /// In the order in which they were changed first.
    var keys: [DocumentKey] = []
    var concernsBatches = false
    var concernsTargets = false
  }

  private func gather(after member: ClientSharing.Membership, into news: inout News) throws -> Gathered {
    var gathered = Gathered()
    // A former holder of the lease that has not found out yet reads all documents again when it does.
    let ignoresDocuments = member.leaseNumber != nil && !member.holdsLease
    let user = try user.row()
    let scopes = targets.scopes
    var known: Set<DocumentKey> = []
    try tables.notices.forEach(after: member.seen, exceptFrom: member.client) { notice in
      switch notice {
      case .document(let key, let owner):
        guard !ignoresDocuments, owner == nil || owner == user, scopes.contain(key) else { return }
        if known.insert(key).inserted { gathered.keys.append(key) }
      case .batchQueued(_, let owner):
        if owner == user {
          gathered.concernsBatches = true
          news.hasNewBatches = true
        }
      case .batchAnswered(let batchID, let identity, let owner, let error):
        gathered.concernsBatches = true
        news.answers.append(
          News.Answer(batchID: batchID, identity: identity, isActiveUsers: owner == user, error: error))
      case .targetState(let target):
        news.isFromPrimary = true
        guard !ignoresDocuments else { return }
        gathered.concernsTargets = true
        if targets[target] != nil { news.targetStates[target] = .open }
      case .targetRejected(let target, let error):
        news.isFromPrimary = true
        if targets[target] != nil { news.rejectedTargets.append((target, error)) }
      case .targetReset(let target):
        if targets[target] != nil { news.resetTargets.insert(target) }
      case .clients: news.concernsClients = true
      case .lease: (news.concernsLease, news.isFromPrimary) = (true, true)
      case .signOfLife: news.isFromPrimary = true
      case .question: news.isQuestion = true
      case .indexes: news.concernsIndexes = true
      case .outbox: news.concernsOutbox = true
      case .retryNow: news.asksForRetry = true
      case .end: news.mustEnd = true
      case .repaired:
        if !targets.isEmpty { health.noteRepair("another process has repaired the cache") }
        // Batches may have another owner, or none, and overlays are rebuilt.
        news.noteGap()
      // For any notice of a newer release, everything that is shown is read again.
      case nil: news.noteGap()
      }
    }
    return gathered
  }
}
