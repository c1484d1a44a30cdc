internal import HearthCache
internal import HearthModel

/// The state of the client's targets while one message is handled.
protocol WatchTargetSource {
  /// The target as the client listens to it, `nil` if it does not.
  func listenedTarget(_ targetID: TargetID) -> TargetData?
  func isListened(_ targetID: TargetID) -> Bool
  /// The documents that the backend had confirmed for the target up to the last snapshot.
  func confirmedKeys(of targetID: TargetID) -> Set<DocumentKey>
  /// The target whose state the target of a read continues from; nil for all other targets.
  func continuedTarget(of targetID: TargetID) -> TargetID?
  /// The full resource name of a document, as the backend writes it.
  func name(of key: DocumentKey) -> String
}

/// Gathers the messages of one watch stream until the backend declares a consistent snapshot.
///
/// Every request for a target is answered once. Messages that arrive while answers for their target are outstanding belong to an earlier
/// listen and are ignored, as are those for targets that the client does not listen to. So a target's messages count from the last
/// outstanding answer on.
///
/// An aggregator lives as long as its stream.
struct WatchChangeAggregator {
  private enum DocumentChange {
    case added, modified, removed
  }

  /// The changes of one target since the last snapshot.
  private struct Gathered {
    var outstandingAnswers = 0
    /// True if one of them may never come, see ``WatchChangeAggregator/refusedUnwatched(_:)``.
    var isUncertain = false
    var documents: [DocumentKey: DocumentChange] = [:]
    var resumeToken: [UInt8] = []
    var isCurrent = false
    /// True if the backend sends everything again.
    var isReset = false
    /// True until the target is current, if the backend sends everything that it has: nothing is resumed, or it was reset.
    var isWhole = false
    /// Documents that must come, see ``WatchChangeAggregator/requestSent(_:isWhole:expecting:)``.
    var expected: [DocumentKey: SnapshotVersion] = [:]
    /// Initially true, so that the next snapshot reports a new target as not yet current.
    var hasChanges = true

    mutating func take(resumeToken token: [UInt8]) {
      guard !token.isEmpty else { return }
      resumeToken = token
      hasChanges = true
    }

    mutating func note(_ change: DocumentChange?, of key: DocumentKey) {
      documents[key] = change
      if !expected.isEmpty { expected[key] = nil }
      hasChanges = true
    }

    mutating func forgetChanges() {
      documents = [:]
      hasChanges = false
    }

    /// All that was gathered is in the snapshot.
    mutating func cutSnapshot() {
      forgetChanges()
      if isCurrent { isWhole = false }
    }

    /// The target's part of the next snapshot.
    func targetChange() -> TargetChange {
      var change = TargetChange(resumeToken: resumeToken, isCurrent: isCurrent)
      change.isReset = isReset
      change.isWhole = isWhole
      for (key, kind) in documents {
        switch kind {
        case .added: change.added.insert(key)
        case .modified: change.modified.insert(key)
        case .removed: change.removed.insert(key)
        }
      }
      return change
    }

    func count(of kind: DocumentChange) -> Int {
      documents.values.count { $0 == kind }
    }
  }

  /// The changes of one document since the last snapshot.
  private struct News {
    /// The latest state that the backend sent; nil while it has only said that the document left a target.
    var state: Document?
    /// The version that a whole result has stated.
    var wholeVersion: SnapshotVersion?
    /// All targets that the document entered, changed in or left.
    var concernedTargets = FewTargets()
    /// The targets into which the backend put the document.
    var deliveringTargets = FewTargets()
  }

  /// A set of targets, hardly ever more than one.
  private struct FewTargets {
    private var first: TargetID?
    private var others: [TargetID] = []

    mutating func insert(_ id: TargetID) {
      if first == nil { first = id } else if !contains(id) { others.append(id) }
    }

    func contains(_ id: TargetID) -> Bool { first == id || others.contains(id) }

    func allSatisfy(_ predicate: (TargetID) -> Bool) -> Bool {
      first.map(predicate) ?? true && others.allSatisfy(predicate)
    }
  }

  /// The numbers of documents of a read's target that the backend has stated since the last snapshot.
  private struct ReadFilter {
    var filter: WatchExistenceFilter
    /// The number of documents that the target has more at the backend than here.
    var missingCount: Int
  }

  private var targets: [TargetID: Gathered] = [:]
  private var mismatches: [TargetID: TargetPurpose] = [:]
  private var news: [DocumentKey: News] = [:]
  /// The filters of targets of reads, until they can be compared with the targets that these continue from.
  private var readFilters: [TargetID: ReadFilter] = [:]

  // MARK: - Events

  /// The client asked the backend to add or remove the target.
  ///
  /// - Parameters:
  ///   - isWhole: True if it is asked for everything that the target has, and not for the changes since an earlier state.
  ///   - expected: The documents of the target that the client knows at later versions than that of the earlier state. They have changed
  ///     since, so an answer without one of them is of a history that lacks those versions.
  mutating func requestSent(
    _ targetID: TargetID, isWhole: Bool = false, expecting expected: [DocumentKey: SnapshotVersion] = [:]
  ) {
    var target = targets[targetID] ?? Gathered()
    target.outstandingAnswers += 1
    target.isWhole = isWhole
    target.expected = expected
    targets[targetID] = target
  }

  /// The client stopped listening because the backend refused the target.
  mutating func remove(_ targetID: TargetID) {
    targets[targetID] = nil
  }

  /// The backend refuses a target that is not wanted any more. Some backends do not answer the request to remove it then, and the answer to a
  /// later request for it would be taken for that one.
  mutating func refusedUnwatched(_ targetID: TargetID) {
    if awaitsAnswer(targetID) { targets[targetID]?.isUncertain = true }
  }

  /// True if it is not known which request for the target the next answer is for.
  func isUncertain(_ targetID: TargetID) -> Bool { targets[targetID]?.isUncertain == true }

  mutating func handle(_ change: WatchTargetChange, source: some WatchTargetSource) {
    // Without ids the message is for every target whose answers have all come.
    let ids = change.targetIDs.isEmpty ? targets.keys.filter { isActive($0, source) } : change.targetIDs
    for id in ids {
      switch change.state {
      case .added, .removed:
        answered(id, with: change)
      case .noChange:
        guard isActive(id, source) else { continue }
        targets[id]?.take(resumeToken: change.resumeToken)
      case .current:
        guard isActive(id, source) else { continue }
        targets[id]?.isCurrent = true
        targets[id]?.hasChanges = true
        targets[id]?.take(resumeToken: change.resumeToken)
      case .reset:
        guard isActive(id, source) else { continue }
        reset(id, source)
        targets[id]?.take(resumeToken: change.resumeToken)
      }
    }
  }

  mutating func handle(_ change: WatchDocumentChange, source: some WatchTargetSource) {
    for id in change.updatedTargetIDs {
      if let document = change.document, document.isFound {
        add(document, to: id, source)
      } else {
        remove(change.key, from: id, state: change.document, source)
      }
    }
    for id in change.removedTargetIDs {
      remove(change.key, from: id, state: change.document, source)
    }
  }

  /// Compares the backend's count of a target's documents with the client's; a difference takes effect with the next
  /// snapshot.
  mutating func handle(_ filter: WatchExistenceFilter, source: some WatchTargetSource) {
    let id = filter.targetID
    guard isActive(id, source), let target = source.listenedTarget(id)?.target else { return }
    if let key = target.documentKey {
      // The document does not exist. (A count of one only confirms what the document's own message says.)
      if filter.count == 0 { remove(key, from: id, state: .missing(key, version: .none), source) }
      return
    }
    compare(filter, expecting: filter.count, with: id, source)
    guard source.continuedTarget(of: id) != nil else { return }
    readFilters[id] = ReadFilter(filter: filter, missingCount: filter.count - countOfDocuments(in: id, source))
  }

  private mutating func compare(
    _ filter: WatchExistenceFilter, expecting expected: Int, with id: TargetID, _ source: some WatchTargetSource
  ) {
    let count = countOfDocuments(in: id, source)
    guard expected != count else { return }
    guard let names = filter.unchangedNames.flatMap(BloomFilter.init) else {
      reset(id, source)
      mismatches[id] = .existenceFilterMismatch
      return
    }
    guard expected != count - removeDocuments(notIn: names, from: id, source) else { return }
    // Some that are gone seem to be in the filter, which can happen.
    reset(id, source)
    mismatches[id] = .existenceFilterMismatchBloom
  }

  /// Compares the filters of targets of reads with the targets that these continue from: what a read shows are the documents of those.
  ///
  /// Only in a snapshot both are at one version. In between a backend may have sent the one target what it has not sent the other one yet. One
  /// that is not current lacks more anyway, and its view says so.
  private mutating func compareContinuedTargets(_ source: some WatchTargetSource) {
    for (id, read) in readFilters.sorted(by: { $0.key < $1.key }) where isActive(id, source) {
      guard let other = source.continuedTarget(of: id), isActive(other, source), targets[other]?.isCurrent == true
      else { continue }
      let expected = countOfDocuments(in: id, source) + read.missingCount
      compare(read.filter, expecting: expected, with: other, source)
    }
    readFilters = [:]
  }

  /// Finds the targets whose answers lack documents that they must have, and lets them be asked for anew, without their token.
  ///
  /// A backend that was restored from a copy resumes a target from a token of before the copy, and does not know that the client has later
  /// documents from elsewhere: of another target, or by its own writes.
  private mutating func findLostHistory(at version: SnapshotVersion, _ source: some WatchTargetSource) {
    let lacking = targets.filter {
      !$1.expected.isEmpty && $1.isCurrent && $1.expected.values.contains { $0 <= version }
    }
    for id in lacking.keys where isActive(id, source) {
      reset(id, source)
      mismatches[id] = mismatches[id] ?? .listen
    }
  }

  /// Cuts the snapshot: everything gathered so far becomes one event, and gathering starts again.
  mutating func makeRemoteEvent(at version: SnapshotVersion, source: some WatchTargetSource) -> RemoteEvent {
    compareContinuedTargets(source)
    findLostHistory(at: version, source)
    var event = RemoteEvent(snapshotVersion: version, targetMismatches: mismatches)
    for id in targets.keys.sorted() where isActive(id, source) {
      // Adds to what was gathered, so it comes before the target's part is taken.
      proveAbsence(in: id, at: version, source)
      guard let gathered = targets[id] else { continue }
      guard gathered.hasChanges else {
        if gathered.isCurrent { event.unchangedTargets.insert(id) }
        continue
      }
      event.targetChanges[id] = gathered.targetChange()
      targets[id]?.cutSnapshot()
    }
    // The cache marks documents that only lookups concern as recently used: no other target does so.
    var isForLimbo: [TargetID: Bool] = [:]
    for id in targets.keys {
      isForLimbo[id] = !isActive(id, source) || source.listenedTarget(id)?.purpose == .limboResolution
    }
    event.documentUpdates.reserveCapacity(news.count)
    for (key, item) in news {
      guard var document = item.state else { continue }
      document.readTime = version
      event.documentUpdates[key] = document
      // A target that is gone by now wants nothing.
      if item.concernedTargets.allSatisfy({ isForLimbo[$0] ?? true }) { event.limboDocumentChanges.insert(key) }
    }
    mismatches = [:]
    // As many are likely to come again, unless it was an exceptional number.
    news.removeAll(keepingCapacity: news.count <= 1_000)
    return event
  }

  /// True if what comes for the target belongs to an earlier listen, because answers to requests are outstanding.
  func awaitsAnswer(_ id: TargetID) -> Bool {
    (targets[id]?.outstandingAnswers ?? 0) > 0
  }

  /// True if the target's result was complete in the last snapshot, and nothing has come for it since.
  func isInSync(_ id: TargetID) -> Bool {
    guard let target = targets[id] else { return false }
    return target.outstandingAnswers == 0 && target.isCurrent && !target.hasChanges
  }

  // MARK: - Parts

  private func isActive(_ id: TargetID, _ source: some WatchTargetSource) -> Bool {
    targets[id]?.outstandingAnswers == 0 && source.isListened(id)
  }

  private mutating func answered(_ id: TargetID, with change: WatchTargetChange) {
    // An answer without a request means nothing.
    guard var gathered = targets[id], gathered.outstandingAnswers > 0 else { return }
    gathered.outstandingAnswers -= 1
    readFilters[id] = nil
    if change.state == .added {
      // The target was freshly added: what was gathered for an earlier listen is void, and so is that it was current.
      if gathered.outstandingAnswers == 0 {
        gathered.forgetChanges()
        gathered.isCurrent = false
        gathered.hasChanges = true
      }
      gathered.take(resumeToken: change.resumeToken)
      targets[id] = gathered
    } else {
      targets[id] = gathered.outstandingAnswers == 0 ? nil : gathered
    }
  }

  private mutating func add(_ document: Document, to id: TargetID, _ source: some WatchTargetSource) {
    guard isActive(id, source) else { return }
    let isConfirmed = source.confirmedKeys(of: id).contains(document.key)
    targets[id]?.note(isConfirmed ? .modified : .added, of: document.key)
    var item = news[document.key] ?? News()
    let isWhole = targets[id]?.isWhole == true
    // What a whole result states is of the time of the snapshot. An older state for another target is on its way since before.
    if isWhole || item.wholeVersion.map({ document.version >= $0 }) ?? true { item.state = document }
    if isWhole { item.wholeVersion = document.version }
    item.deliveringTargets.insert(id)
    item.concernedTargets.insert(id)
    news[document.key] = item
  }

  /// - Parameter state: The document's new state if the backend sent it.
  private mutating func remove(
    _ key: DocumentKey, from id: TargetID, state: Document?, _ source: some WatchTargetSource
  ) {
    guard isActive(id, source) else { return }
    // A document that entered and left between two snapshots was never there.
    targets[id]?.note(source.confirmedKeys(of: id).contains(key) ? .removed : nil, of: key)
    var item = news[key] ?? News()
    item.concernedTargets.insert(id)
    if let state { item.state = state }
    news[key] = item
  }

  /// Everything known about the target is void: its documents count as removed unless the backend sends them again.
  private mutating func reset(_ id: TargetID, _ source: some WatchTargetSource) {
    targets[id] = Gathered(isReset: true, isWhole: true)
    // The documents that come from now on are the whole result.
    readFilters[id]?.missingCount = 0
    for key in source.confirmedKeys(of: id) { remove(key, from: id, state: nil, source) }
  }

  /// Takes those documents out of the target that the backend had confirmed up to the last snapshot and that no longer match
  /// for certain. Limbo resolution finds out their state.
  ///
  /// - Returns: Their number. One that has left since the last snapshot counts as well, as with the official SDKs; then the
  ///   count does not come out and the result is asked for again.
  private mutating func removeDocuments(
    notIn names: BloomFilter, from id: TargetID, _ source: some WatchTargetSource
  ) -> Int {
    let gone = source.confirmedKeys(of: id).filter { !names.mightContain(source.name(of: $0)) }
    for key in gone { remove(key, from: id, state: nil, source) }
    return gone.count
  }

  private func countOfDocuments(in id: TargetID, _ source: some WatchTargetSource) -> Int {
    let gathered = targets[id] ?? Gathered()
    return source.confirmedKeys(of: id).count + gathered.count(of: .added) - gathered.count(of: .removed)
  }

  /// A target of a single document that is complete without it proves that the document does not exist.
  ///
  /// Only what was delivered for this very target counts: another target may have brought an older state of the same
  /// document, even after this one reported that it is gone.
  private mutating func proveAbsence(in id: TargetID, at version: SnapshotVersion, _ source: some WatchTargetSource) {
    guard targets[id]?.isCurrent == true, let key = source.listenedTarget(id)?.target.documentKey else { return }
    if news[key]?.deliveringTargets.contains(id) == true { return }
    // One that was confirmed is still there, unless it was taken out since without a word of its state, as by a reset.
    let wasTakenOut = targets[id]?.documents[key] == .removed && news[key]?.state == nil
    if source.confirmedKeys(of: id).contains(key), !wasTakenOut { return }
    remove(key, from: id, state: .missing(key, version: version), source)
  }
}

extension WatchTargetSource {
  func isListened(_ targetID: TargetID) -> Bool { listenedTarget(targetID) != nil }
}
