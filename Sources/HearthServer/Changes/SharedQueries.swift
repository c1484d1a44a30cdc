internal import HearthModel

/// The distinct queries of a database's listen streams, and the effects of the latest commits on them.
///
/// A commit is matched once against each distinct query that it may affect (``QueryIndex``). The effects are kept until all streams have
/// taken them, or until the memory for them is used up. Streams whose targets a commit changes are marked and woken.
///
/// The result of a query with a limit depends on documents that a commit does not show. Its window is kept in memory. If the window does
/// not determine the result, streams with this query stop at the version before, until one of them has read the result again.
struct SharedQueries {
  typealias SubscriberID = Int
  typealias QueryID = Int

  private struct Subscriber {
    var wake: @Sendable () -> Void
    var queries: Set<QueryID> = []
    /// Targets with effects that were not taken.
    var news: Set<QueryID> = []
    /// True from the moment at which the subscriber is woken until it has taken everything. Effects that come in between need no further
    /// wake. A subscriber that sleeps has no news.
    var isAwake = false
    /// While it is awake: it has taken the effects up to this version.
    var position: SnapshotVersion
  }

  /// A commit whose effects are kept.
  private struct Held {
    var version: SnapshotVersion
    var bytes: Int
    var queries: [QueryID]
  }

  /// Everything up to this version is matched.
  private(set) var version: SnapshotVersion
  private var queries: [QueryID: SharedQuery] = [:]
  private var numbers: [WatchSource: QueryID] = [:]
  private var index = QueryIndex()
  private var subscribers: [SubscriberID: Subscriber] = [:]
  private var wakers: [@Sendable () -> Void] = []
  private var held: [Held] = []
  /// The memory of the effects that are kept.
  private(set) var heldBytes = 0
  private var awakeCount = 0
  /// The commits since it was last looked up what all streams have taken.
  private var unsweptCount = 0
  private var lastID = 0
  /// Queries that are being read, with the streams that wait for that.
  private var refills: [QueryID: [CheckedContinuation<Void, Never>]] = [:]
  private let maximumCommits: Int
  private let maximumBytes: Int
  private var effort: MatchingEffort

  /// - Parameter maximumEffort: The number of conditions that one round of matching evaluates. Others wait for the round.
  init(version: SnapshotVersion, maximumCommits: Int, maximumBytes: Int, maximumEffort: Int = 500_000) {
    self.version = version
    effort = MatchingEffort(maximum: maximumEffort)
    self.maximumCommits = maximumCommits
    self.maximumBytes = maximumBytes
  }

  /// The memory that a commit takes for each query that it concerns, and for each of its changes there, in addition to its documents.
  /// Measured: 158 bytes for one change.
  static let bytesPerQuery = 64
  static let bytesPerChange = 96
  private static let commitsPerSweep = 64

  /// The commits whose effects are kept.
  var heldCount: Int { held.count }

  /// Returns true if nothing is listened to.
  var isEmpty: Bool { queries.isEmpty }

  /// The functions that wake streams with news. The caller calls them.
  mutating func takeWakers() -> [@Sendable () -> Void] {
    defer { wakers = [] }
    return wakers
  }

  // MARK: - Commits

  /// Begins a round of matching. Without it, each commit is a round of its own.
  mutating func beginRound(commits: Int) { effort.beginRound(commits: commits) }

  /// Matches a commit. Queries that cost more than what is left take the change from the log, the dearest ones first.
  mutating func match(_ commit: CommittedChange) {
    assert(commit.version > version, "commit \(commit.version) is matched after \(version)")
    let before = version
    version = commit.version
    guard commit.isComplete else { return forgetAll(after: before) }
    var documents: [SharedDocument?] = Array(repeating: nil, count: commit.transitions.count)
    var concerned: [QueryID] = []
    var bytes = commit.sizeBytes
    for (id, indices) in affordable(candidates(for: commit.transitions), after: before) {
      guard let source = queries[id]?.source else { continue }
      let transitions = indices.compactMap { index -> SharedTransition? in
        let transition = commit.transitions[index]
        let (isBefore, isAfter) = (source.matches(transition.before), source.matches(transition.after))
        guard isBefore || isAfter else { return nil }
        let document = documents[index] ?? SharedDocument(transition.after)
        documents[index] = document
        return SharedTransition(
          oldVersion: isBefore ? transition.before.version : nil, after: document, isMatchAfter: isAfter)
      }
      guard queries[id]?.apply(transitions, at: commit.version) == true else { continue }
      concerned.append(id)
      bytes += Self.bytesPerQuery + transitions.count * Self.bytesPerChange
      tellSubscribers(of: id, after: before)
    }
    guard !concerned.isEmpty else { return }
    hold(Held(version: commit.version, bytes: bytes, queries: concerned))
  }

  /// The queries that a commit may concern, with the documents that each has to look at, and the sum of their weights.
  private func candidates(for transitions: [DocumentTransition]) -> [QueryID: (indices: [Int], weight: Int)] {
    let weights = transitions.map(MatchingEffort.weight)
    let all = weights.reduce(0, +)
    return index.candidates(for: transitions).mapValues { indices in
      // Most look at all documents of a commit.
      (indices, indices.count == weights.count ? all : indices.reduce(0) { $0 + weights[$1] })
    }
  }

  /// The queries that can be matched with the effort that is left. The others skip the commit.
  ///
  /// - Parameter start: The version before the commit.
  private mutating func affordable(
    _ candidates: [QueryID: (indices: [Int], weight: Int)], after start: SnapshotVersion
  ) -> [(id: QueryID, indices: [Int])] {
    effort.beginCommit()
    let costs = candidates.map { id, candidate in
      (id: id, indices: candidate.indices, cost: (queries[id]?.effort ?? 0) * candidate.weight)
    }
    if effort.take(costs.reduce(0) { $0 + $1.cost }) { return costs.map { ($0.id, $0.indices) } }
    var affordable: [(id: QueryID, indices: [Int])] = []
    for (id, indices, cost) in costs.sorted(by: { $0.cost < $1.cost }) {
      if effort.take(cost) {
        affordable.append((id, indices))
      } else {
        queries[id]?.skip(to: version)
        tellSubscribers(of: id, after: start)
      }
    }
    return affordable
  }

  /// Leaves the commits up to now, whose effects are not all known, to the change log.
  ///
  /// - Parameter start: The version before the latest of them.
  private mutating func forgetAll(after start: SnapshotVersion) {
    (held, heldBytes) = ([], 0)
    for id in Array(queries.keys) {
      queries[id]?.skip(to: version)
      tellSubscribers(of: id, after: start)
    }
  }

  /// Everything up to this version is matched: nothing that anybody listens to was changed in between.
  mutating func advance(to latest: SnapshotVersion) {
    version = max(version, latest)
  }

  /// - Parameter start: The version up to which there was nothing for a subscriber that sleeps.
  private mutating func tellSubscribers(of id: QueryID, after start: SnapshotVersion? = nil) {
    guard let query = queries[id] else { return }
    for subscriber in query.subscribers.keys {
      guard let isAwake = subscribers[subscriber]?.isAwake else { continue }
      subscribers[subscriber]?.news.insert(id)
      guard !isAwake, let wake = subscribers[subscriber]?.wake else { continue }
      subscribers[subscriber]?.isAwake = true
      awakeCount += 1
      if let start { subscribers[subscriber]?.position = start }
      wakers.append(wake)
    }
  }

  private mutating func hold(_ commit: Held) {
    held.append(commit)
    heldBytes += commit.bytes
    unsweptCount += 1
    // A look at all subscribers costs each of these commits a look at 16 of them.
    if unsweptCount >= max(Self.commitsPerSweep, subscribers.count / 16) { dropTaken() }
    guard held.count > maximumCommits || heldBytes > maximumBytes else { return }
    // Drop down to three quarters of the limits, so that the array is moved rarely.
    var (count, left) = (0, heldBytes)
    while count < held.count, held.count - count > maximumCommits * 3 / 4 || left > maximumBytes * 3 / 4 {
      left -= held[count].bytes
      count += 1
    }
    drop(count)
  }

  /// Drops what all subscribers have taken.
  private mutating func dropTaken() {
    unsweptCount = 0
    var oldest = version
    for subscriber in subscribers.values where subscriber.isAwake { oldest = min(oldest, subscriber.position) }
    drop(held.partitionIndex { $0.version > oldest })
  }

  /// Drops the effects of the oldest commits.
  private mutating func drop(_ count: Int) {
    guard count > 0 else { return }
    for commit in held[..<count] {
      heldBytes -= commit.bytes
      for id in commit.queries { queries[id]?.forget(through: commit.version, present: version) }
    }
    held.removeFirst(count)
  }

  // MARK: - Subscribers

  mutating func subscribe(wake: @escaping @Sendable () -> Void) -> SubscriberID {
    lastID += 1
    subscribers[lastID] = Subscriber(wake: wake, position: version)
    return lastID
  }

  mutating func unsubscribe(_ id: SubscriberID) {
    guard let subscriber = subscribers.removeValue(forKey: id) else { return }
    if subscriber.isAwake { awakeCount -= 1 }
    for number in subscriber.queries {
      queries[number]?.subscribers[id] = nil
      removeIfUnused(number)
    }
  }

  mutating func join(_ source: WatchSource, by subscriber: SubscriberID) -> QueryID {
    let id: QueryID
    if let known = numbers[source] {
      id = known
    } else {
      lastID += 1
      id = lastID
      numbers[source] = id
      queries[id] = SharedQuery(source, at: version)
      index.insert(id, source)
    }
    queries[id]?.subscribers[subscriber, default: 0] += 1
    subscribers[subscriber]?.queries.insert(id)
    return id
  }

  mutating func leave(_ id: QueryID, by subscriber: SubscriberID) {
    guard let count = queries[id]?.subscribers[subscriber] else {
      assertionFailure("subscriber \(subscriber) leaves query \(id), which it does not have")
      return
    }
    guard count == 1 else {
      queries[id]?.subscribers[subscriber] = count - 1
      return
    }
    queries[id]?.subscribers[subscriber] = nil
    subscribers[subscriber]?.news.remove(id)
    subscribers[subscriber]?.queries.remove(id)
    removeIfUnused(id)
  }

  private mutating func removeIfUnused(_ id: QueryID) {
    guard let query = queries[id], query.subscribers.isEmpty else { return }
    queries[id] = nil
    numbers[query.source] = nil
    index.remove(id, query.source)
  }
}

// MARK: - Taking

extension SharedQueries {
  /// The events of a subscriber's targets.
  struct Taken: Sendable {
    /// The version that the subscriber stands at with these changes.
    var through: SnapshotVersion
    /// One entry for each query that changed.
    var changes: [(query: QueryID, changes: [WatchChange])] = []
    /// Queries whose changes must be taken from the change log.
    var dropped: [QueryID] = []
    /// Queries that have to be read again before the subscriber can go on. Only if `through` is the version that it stands at.
    var blocking: [QueryID] = []
    /// True if nothing is left for the subscriber: it sleeps, and is woken by what comes later.
    var isLast = false
  }

  mutating func take(after start: SnapshotVersion, by subscriber: SubscriberID) -> Taken {
    var taken = Taken(through: version)
    guard let news = subscribers[subscriber]?.news, !news.isEmpty else {
      taken.isLast = settle(subscriber, at: taken.through)
      return taken
    }
    // All targets go to the same version: one at which each of them is known.
    var upper: SnapshotVersion
    repeat {
      upper = taken.through
      for id in news {
        if let known = queries[id]?.latestKnown(after: start, through: taken.through) { taken.through = known }
      }
    } while taken.through < upper
    if taken.through <= start {
      taken.through = start
      taken.blocking = news.filter { queries[$0]?.knownThrough != nil }
      if taken.blocking.isEmpty { taken.isLast = settle(subscriber, at: start) }
      return taken
    }
    for id in news {
      guard let query = queries[id] else { continue }
      if let changes = query.changes(after: start, through: taken.through) {
        if !changes.isEmpty { taken.changes.append((id, changes)) }
      } else {
        taken.dropped.append(id)
      }
    }
    taken.isLast = settle(subscriber, at: taken.through)
    return taken
  }

  /// Ends the turn of a subscriber that has not taken everything, so that others and its own requests get theirs: it is woken again unless
  /// nothing is left by now.
  mutating func rest(_ subscriber: SubscriberID, at version: SnapshotVersion) {
    guard !settle(subscriber, at: version), let wake = subscribers[subscriber]?.wake else { return }
    wakers.append(wake)
  }

  /// Keeps what a subscriber that stands at this version has not taken, and lets it sleep if that is nothing.
  private mutating func settle(_ id: SubscriberID, at version: SnapshotVersion) -> Bool {
    guard let subscriber = subscribers[id] else { return true }
    let left = subscriber.news.filter { queries[$0]?.isNews(after: version) == true }
    subscribers[id]?.news = left
    subscribers[id]?.position = version
    guard left.isEmpty else { return false }
    assert(
      subscriber.queries.allSatisfy { queries[$0]?.hasEffects(after: version) != true },
      "subscriber \(id) falls asleep at version \(version), but there is more for it")
    if subscriber.isAwake { awakeCount -= 1 }
    subscribers[id]?.isAwake = false
    // All streams sleep: they have taken everything.
    if awakeCount == 0 { drop(held.count) }
    return true
  }
}

// MARK: - Windows

extension SharedQueries {
  enum RefillTurn: Sendable {
    case notNeeded
    /// Another stream reads.
    case wait
    case read(Query, SnapshotVersion, known: LimitWindow)
  }

  mutating func install(_ window: LimitWindow, of id: QueryID, at version: SnapshotVersion) {
    if queries[id]?.install(window, at: version) == true { tellSubscribers(of: id) }
  }

  /// - Parameter window: Nil if it is too large to be kept.
  mutating func refill(_ id: QueryID, with window: RefilledWindow?, at version: SnapshotVersion) {
    if let window {
      if queries[id]?.refill(with: window, at: version) == true { tellSubscribers(of: id) }
    } else {
      queries[id]?.abandon(at: self.version)
    }
  }

  mutating func beginRefill(of id: QueryID) -> RefillTurn {
    guard let query = queries[id], let known = query.staleWindow, let limited = query.source.limitQuery else {
      return .notNeeded
    }
    guard refills[id] == nil else { return .wait }
    refills[id] = []
    return .read(limited, version, known: known)
  }

  /// - Returns: False if nobody reads any more.
  mutating func wait(for id: QueryID, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
    guard refills[id] != nil else { return false }
    refills[id]?.append(continuation)
    return true
  }

  mutating func endRefill(of id: QueryID) -> [CheckedContinuation<Void, Never>] {
    refills.removeValue(forKey: id) ?? []
  }
}
