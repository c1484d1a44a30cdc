internal import HearthModel

/// A distinct query that streams listen to, and the effects of the latest commits on its result.
struct SharedQuery {
  /// The effect of one commit. A window that was read again has one for several commits.
  struct Step {
    var version: SnapshotVersion
    /// The version before the first of several commits.
    var base: SnapshotVersion?
    var changes: [WatchChange]
  }

  /// Changes that could not be applied to a window yet.
  struct Pending {
    var version: SnapshotVersion
    var transitions: [SharedTransition]
  }

  enum Window {
    /// No result at `since` or later was handed over.
    case unknown(since: SnapshotVersion, pending: [Pending])
    case known(LimitWindow)
    /// Known up to the first of the pending changes, which needs the query to be run. There is at least one.
    case stale(LimitWindow, pending: [Pending])
  }

  let source: WatchSource
  /// The conditions that are evaluated for each document.
  let effort: Int
  /// The number of targets of each subscriber.
  var subscribers: [SharedQueries.SubscriberID: Int] = [:]
  /// Ascending by version.
  private var steps: [Step] = []
  /// The last commit with effects missing in `steps`: commits up to this one may be incomplete there.
  private(set) var forgottenThrough: SnapshotVersion = .none
  /// Nil for a query without limit.
  private var window: Window?

  init(_ source: WatchSource, at version: SnapshotVersion) {
    self.source = source
    effort = source.effort
    window = source.limitQuery == nil ? nil : .unknown(since: version, pending: [])
  }

  /// The version up to which the effects are known; nil if that is the present one.
  var knownThrough: SnapshotVersion? {
    guard case .stale(_, let pending) = window, let first = pending.first else { return nil }
    return SnapshotVersion(microseconds: first.version.microseconds - 1)
  }

  // MARK: - Commits

  /// Applies a commit.
  ///
  /// - Returns: True if it concerns the result.
  mutating func apply(_ transitions: [SharedTransition], at version: SnapshotVersion) -> Bool {
    guard !transitions.isEmpty else { return false }
    switch window {
    case nil:
      steps.append(
        Step(
          version: version,
          changes: transitions.map {
            WatchChange(
              document: $0.after, oldVersion: $0.oldVersion, isIn: $0.isMatchAfter, isContentNew: true)
          }))
      return true
    case .known(let known):
      window = nil
      return apply(Pending(version: version, transitions: transitions), to: known)
    case .unknown(let since, var pending):
      window = .unknown(since: since, pending: [])
      pending.append(Pending(version: version, transitions: transitions))
      window = .unknown(since: since, pending: pending)
      return true
    case .stale(let known, var pending):
      window = .unknown(since: version, pending: [])
      pending.append(Pending(version: version, transitions: transitions))
      window = .stale(known, pending: pending)
      return true
    }
  }

  private mutating func apply(_ change: Pending, to known: LimitWindow) -> Bool {
    var known = known
    switch known.apply(change.transitions) {
    case .changed(let changes):
      window = .known(known)
      guard !changes.isEmpty else { return false }
      steps.append(Step(version: change.version, changes: changes))
    case .unknown:
      window = .stale(known, pending: [change])
    case .lost:
      window = .unknown(since: change.version, pending: [change])
    }
    return true
  }

  // MARK: - Windows

  /// Takes over the window of a result, and applies what came after it.
  ///
  /// - Returns: True if the effects of commits have become known.
  mutating func install(_ new: LimitWindow, at version: SnapshotVersion) -> Bool {
    guard case .unknown(let since, let pending) = window, version >= since else { return false }
    let count = pending.partitionIndex { $0.version > version }
    if count > 0 { forget(through: pending[count - 1].version) }
    window = .known(new)
    return count > 0 && count == pending.count || apply(pending[count...])
  }

  /// Takes over a window that was read again, and applies what came after it.
  ///
  /// - Returns: True if the effects of commits have become known.
  mutating func refill(with new: RefilledWindow, at version: SnapshotVersion) -> Bool {
    guard case .stale(var known, let pending) = window else { return false }
    let count = pending.partitionIndex { $0.version > version }
    guard count > 0 else { return false }
    let base = SnapshotVersion(microseconds: pending[0].version.microseconds - 1)
    let changes = known.replace(by: new, after: pending[..<count].flatMap(\.transitions))
    steps.append(Step(version: pending[count - 1].version, base: base, changes: changes))
    window = .known(known)
    return count == pending.count || apply(pending[count...])
  }

  /// Gives up a stale window that is too large to be read again. Streams that follow it compare results.
  ///
  /// - Parameter present: The version up to which commits are matched.
  mutating func abandon(at present: SnapshotVersion) {
    guard case .stale = window else { return }
    window = .unknown(since: present, pending: [])
    forget(through: present)
  }

  /// The window, if it must be read again.
  var staleWindow: LimitWindow? {
    guard case .stale(let known, _) = window else { return nil }
    return known
  }

  /// Applies pending changes to a known window.
  ///
  /// - Returns: True if they concern the result.
  private mutating func apply(_ pending: ArraySlice<Pending>) -> Bool {
    var later = pending
    var isNews = !later.isEmpty
    while case .known(let known) = window, let change = later.popFirst() {
      window = nil
      isNews = apply(change, to: known) || isNews
    }
    switch window {
    case .stale(let known, let first): window = .stale(known, pending: first + later)
    case .unknown(let since, let first): window = .unknown(since: since, pending: first + later)
    case nil, .known: break
    }
    return isNews
  }

  // MARK: - Memory

  /// Drops the effects of a commit and of those before it.
  ///
  /// - Parameter present: The version up to which commits are matched.
  mutating func forget(through version: SnapshotVersion, present: SnapshotVersion) {
    switch window {
    case .unknown(_, let pending), .stale(_, let pending):
      guard let first = pending.first, first.version <= version else { return forget(through: version) }
      // The remaining changes cannot be applied to anything.
      window = .unknown(since: present, pending: [])
      forget(through: present)
    case nil, .known: forget(through: version)
    }
  }

  /// Forgets the result as well: the effects of the commit at this version are not known.
  mutating func skip(to version: SnapshotVersion) {
    if window != nil { window = .unknown(since: version, pending: []) }
    forget(through: version)
  }

  private mutating func forget(through version: SnapshotVersion) {
    steps.removeFirst(steps.partitionIndex { $0.version > version })
    forgottenThrough = max(forgottenThrough, version)
  }

  // MARK: - Streams

  /// The effects after a version, one for each document; nil if they are not all here.
  func changes(after start: SnapshotVersion, through end: SnapshotVersion) -> [WatchChange]? {
    guard start >= forgottenThrough else { return nil }
    // The effects of commits on a window that nobody has handed over are not known.
    if case .unknown(_, let pending) = window, let last = pending.last, last.version > start { return nil }
    let first = steps.partitionIndex { $0.version > start }
    let last = steps.partitionIndex { $0.version > end }
    // A window that was read again behind `end` says nothing of the commits before it that it stands for.
    if last < steps.count, let base = steps[last].base, base < end { return nil }
    guard first < last else { return [] }
    let range = steps[first..<last]
    if range.contains(where: { $0.base.map { $0 < start } ?? false }) { return nil }
    if range.count == 1 { return range[first].changes.filter { !$0.isNothing(after: start) } }
    var order: [DocumentKey] = []
    var sums: [DocumentKey: WatchChange] = [:]
    for change in range.lazy.flatMap(\.changes) {
      if let known = sums[change.key] {
        sums[change.key] = known.followed(by: change)
      } else {
        sums[change.key] = change
        order.append(change.key)
      }
    }
    return order.compactMap { sums[$0] }.filter { !$0.isNothing(after: start) }
  }

  /// The latest version up to `end` at which the result is known to a stream that stands at `start`. It is not known between the commits
  /// after which a window was read again.
  func latestKnown(after start: SnapshotVersion, through end: SnapshotVersion) -> SnapshotVersion {
    let end = min(end, knownThrough ?? end)
    let next = steps.partitionIndex { $0.version > end }
    guard next < steps.count, let base = steps[next].base, base >= start, base < end else { return end }
    return base
  }

  /// Returns true if there is more to tell a stream that stands at this version.
  func isNews(after version: SnapshotVersion) -> Bool {
    forgottenThrough > version || knownThrough != nil || hasEffects(after: version)
  }

  /// Returns true if commits after this version are known to concern the result.
  func hasEffects(after version: SnapshotVersion) -> Bool {
    switch window {
    case .unknown(_, let pending), .stale(_, let pending):
      if let last = pending.last, last.version > version { return true }
    case nil, .known: break
    }
    return steps.last.map { $0.version > version } ?? false
  }
}
