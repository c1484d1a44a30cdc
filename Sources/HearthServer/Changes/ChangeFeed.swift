internal import Dispatch
internal import HearthModel
internal import Synchronization

/// Passes committed changes from the storage to the listen streams.
///
/// A commit is matched once against each distinct query that is listened to (``SharedQueries``), outside the storage's queue, and only
/// streams whose targets it changes are woken. The effects of the latest commits are kept in memory, once for all streams. A stream keeps
/// only the version up to which it has sent, and takes the later effects. So a slow stream, whose client does not read, blocks nothing and
/// costs no memory. If the feed has dropped effects before the stream took them, the stream gets the difference from the storage's change
/// log.
final class ChangeFeed: Sendable {
  typealias SubscriberID = SharedQueries.SubscriberID
  typealias QueryID = SharedQueries.QueryID

  /// The commits that the storage has published and that are not matched yet.
  private struct Inbox {
    var latest: SnapshotVersion
    var commits: [CommittedChange] = []
    var bytes = 0
    /// Nothing is kept while nobody listens.
    var hasListeners = false
    /// A round of matching is on the queue.
    var isScheduled = false
  }

  private let inbox: Mutex<Inbox>
  /// Locked before `inbox` where both are.
  private let shared: Mutex<SharedQueries>
  /// Where commits are matched and streams woken. Tests wait for it.
  let queue = DispatchQueue(label: "hearth.feed")
  private let maximumBytes: Int
  /// For the windows of queries with a limit.
  let windowMemory: WindowMemory

  /// - Parameters:
  ///   - version: The newest commit.
  ///   - maximumCommits: The maximum number of commits whose effects are kept.
  ///   - maximumBytes: The maximum size in bytes of these effects, with their documents.
  ///   - maximumEffort: The number of conditions that are evaluated at once. What costs more is taken from the change log.
  ///   - windowMemory: For the windows of queries with a limit. Streams whose window has no room compare results.
  init(
    version: SnapshotVersion, maximumCommits: Int = 4096, maximumBytes: Int = 32 * 1024 * 1024,
    maximumEffort: Int = 500_000,
    windowMemory: WindowMemory = WindowMemory(maximumBytes: DatabaseLimits().windowBytes)
  ) {
    self.windowMemory = windowMemory
    inbox = Mutex(Inbox(latest: version))
    shared = Mutex(
      SharedQueries(
        version: version, maximumCommits: maximumCommits, maximumBytes: maximumBytes, maximumEffort: maximumEffort))
    self.maximumBytes = maximumBytes
  }

  /// The newest commit that is durable.
  var latestVersion: SnapshotVersion { inbox.withLock { $0.latest } }

  /// True while a stream follows a target. A caller that finds it false may publish incomplete commits.
  var hasListeners: Bool { inbox.withLock { $0.hasListeners } }

  /// Adds a commit. Called in the order of versions, after the commit is durable.
  func publish(_ change: CommittedChange) {
    let (isToSchedule, isTooMuch) = inbox.withLock { inbox in
      assert(change.version > inbox.latest, "commit \(change.version) is published after \(inbox.latest)")
      inbox.latest = change.version
      guard inbox.hasListeners, change.documentCount > 0 else { return (false, false) }
      inbox.commits.append(change)
      inbox.bytes += change.sizeBytes
      defer { inbox.isScheduled = true }
      return (!inbox.isScheduled, inbox.bytes > maximumBytes)
    }
    // The storage waits when commits come faster than they can be matched.
    if isTooMuch { match() } else if isToSchedule { queue.async { self.match() } }
  }

  /// Matches what was published, and wakes the streams that it concerns.
  ///
  /// - Returns: The version up to which everything is matched.
  @discardableResult
  func match() -> SnapshotVersion {
    withShared { $0.version }
  }

  /// Runs `body` when everything that was published is matched.
  ///
  /// - Parameter isJoining: True if commits that are published from now on must be matched.
  private func withShared<Result: Sendable>(
    isJoining: Bool = false, _ body: (inout SharedQueries) -> Result
  ) -> Result {
    let (result, wakers) = shared.withLock { shared in
      drain(into: &shared, isJoining: isJoining)
      let result = body(&shared)
      inbox.withLock { $0.hasListeners = !shared.isEmpty }
      return (result, shared.takeWakers())
    }
    // Outside of the lock: a woken stream may ask the feed at once.
    for wake in wakers { wake() }
    return result
  }

  private func drain(into shared: inout SharedQueries, isJoining: Bool) {
    let (commits, latest) = inbox.withLock { inbox in
      if isJoining { inbox.hasListeners = true }
      defer {
        inbox.commits = []
        inbox.bytes = 0
        inbox.isScheduled = false
      }
      return (inbox.commits, inbox.latest)
    }
    shared.beginRound(commits: commits.count)
    for commit in commits { shared.match(commit) }
    shared.advance(to: latest)
  }
}

// MARK: - Streams

extension ChangeFeed {
  /// Registers a subscriber without targets.
  ///
  /// - Parameter wake: called after a commit that changes one of its targets: it must return at once.
  func subscribe(wake: @escaping @Sendable () -> Void) -> SubscriberID {
    withShared { $0.subscribe(wake: wake) }
  }

  /// Removes a subscriber with all its targets.
  func unsubscribe(_ id: SubscriberID) {
    withShared { $0.unsubscribe(id) }
  }

  /// Adds a target of a subscriber. The effects of all commits from now on are kept for it.
  func join(_ source: WatchSource, by subscriber: SubscriberID) -> QueryID {
    withShared(isJoining: true) { $0.join(source, by: subscriber) }
  }

  /// Removes a target that ``join(_:by:)`` has added.
  func leave(_ query: QueryID, by subscriber: SubscriberID) {
    withShared { $0.leave(query, by: subscriber) }
  }

  /// The effects of the commits after `version` on the subscriber's targets.
  func take(after version: SnapshotVersion, by subscriber: SubscriberID) -> SharedQueries.Taken {
    withShared { $0.take(after: version, by: subscriber) }
  }

  /// Ends the turn of a subscriber that stands at `version`: it is woken again if there is more for it.
  func rest(_ subscriber: SubscriberID, at version: SnapshotVersion) {
    withShared { $0.rest(subscriber, at: version) }
  }

  // MARK: - Windows

  /// Hands over the window of a query with a limit, which someone has read from the storage.
  func install(_ window: LimitWindow, of query: QueryID, at version: SnapshotVersion) {
    withShared { $0.install(window, of: query, at: version) }
  }

  /// Has the window of a query read again, once for all streams that wait for it.
  ///
  /// - Parameter read: Reads the window at a version, which takes the place of a known one; nil if it is too large to be kept. Only the
  ///   stream that reads gets its error.
  func refill(
    _ query: QueryID,
    _ read: (Query, SnapshotVersion, _ known: LimitWindow) async throws(StatusError) -> RefilledWindow?
  ) async throws(StatusError) {
    switch withShared({ $0.beginRefill(of: query) }) {
    case .notNeeded: return
    case .wait:
      await withCheckedContinuation { continuation in
        let isOver = withShared { !$0.wait(for: query, continuation) }
        if isOver { continuation.resume() }
      }
    case .read(let source, let version, let known):
      defer { for waiter in withShared({ $0.endRefill(of: query) }) { waiter.resume() } }
      let window = try await read(source, version, known)
      withShared { $0.refill(query, with: window, at: version) }
    }
  }
}
