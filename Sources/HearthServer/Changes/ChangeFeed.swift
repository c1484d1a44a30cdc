internal import HearthModel
internal import Synchronization

/// Passes committed changes from the storage to the listen streams.
///
/// The feed keeps the latest commits in memory, once for all streams. A stream keeps only the version up to which it has
/// sent, is woken when a commit touches one of its interests, and takes the commits after its version. So a slow stream,
/// whose client does not read, blocks nothing and costs no memory: when the feed has dropped the next commits for it, the
/// stream gets the difference from the storage's change log.
final class ChangeFeed: Sendable {
  typealias SubscriberID = Int

  /// A set of documents whose changes wake a subscriber.
  enum Interest: Hashable, Sendable {
    case document(DocumentKey)
    case collection(ResourcePath)
    case group(String)
    case everything
  }

  private struct State {
    /// Ascending by version; everything after `rememberedAfter` is here.
    var commits: [CommittedChange] = []
    var bytes = 0
    var rememberedAfter: SnapshotVersion
    var latest: SnapshotVersion
    var nextSubscriber: SubscriberID = 0
    var wakers: [SubscriberID: @Sendable () -> Void] = [:]
    /// The number of times that each subscriber has added each interest and not removed it.
    var interests: [SubscriberID: [Interest: Int]] = [:]
    var interested: [Interest: Set<SubscriberID>] = [:]
  }

  private let state: Mutex<State>
  private let maximumCommits: Int
  private let maximumBytes: Int

  /// - Parameters:
  ///   - version: The newest commit.
  ///   - maximumCommits: The maximum number of commits to keep.
  ///   - maximumBytes: The maximum size in bytes of the documents to keep.
  init(version: SnapshotVersion, maximumCommits: Int = 4096, maximumBytes: Int = 32 * 1024 * 1024) {
    state = Mutex(State(rememberedAfter: version, latest: version))
    self.maximumCommits = maximumCommits
    self.maximumBytes = maximumBytes
  }

  /// The newest commit that is durable.
  var latestVersion: SnapshotVersion { state.withLock { $0.latest } }

  /// Adds a commit and wakes the subscribers that are interested. Called in the order of versions, after the commit is durable.
  func publish(_ change: CommittedChange) {
    let wakers = state.withLock { state in
      assert(change.version > state.latest, "commit \(change.version) is published after \(state.latest)")
      state.latest = change.version
      remember(change, in: &state)
      return interestedSubscribers(in: change, state).compactMap { state.wakers[$0] }
    }
    // Outside of the lock: a woken stream may ask the feed at once.
    for wake in wakers { wake() }
  }

  private func remember(_ change: CommittedChange, in state: inout State) {
    state.commits.append(change)
    state.bytes += Self.size(of: change)
    guard state.commits.count > maximumCommits || state.bytes > maximumBytes else { return }
    // Drop down to three quarters of the limits, so that the array is moved rarely.
    var forgotten = 0
    while forgotten < state.commits.count,
      state.commits.count - forgotten > maximumCommits * 3 / 4 || state.bytes > maximumBytes * 3 / 4
    {
      state.bytes -= Self.size(of: state.commits[forgotten])
      state.rememberedAfter = state.commits[forgotten].version
      forgotten += 1
    }
    state.commits.removeFirst(forgotten)
  }

  private static func size(of change: CommittedChange) -> Int {
    change.transitions.reduce(64) { $0 + $1.before.fields.bytes.count + $1.after.fields.bytes.count + 128 }
  }

  private func interestedSubscribers(in change: CommittedChange, _ state: State) -> Set<SubscriberID> {
    guard !state.interested.isEmpty, !change.transitions.isEmpty else { return [] }
    var subscribers = state.interested[.everything] ?? []
    for transition in change.transitions {
      let key = transition.key
      for interest in [Interest.document(key), .collection(key.collectionPath), .group(key.collectionGroup)] {
        if let more = state.interested[interest] { subscribers.formUnion(more) }
      }
    }
    return subscribers
  }

  /// The commits after `version`, oldest first; nil when the feed has dropped some of them.
  func changes(after version: SnapshotVersion) -> [CommittedChange]? {
    state.withLock { state in
      guard version >= state.rememberedAfter else { return nil }
      let first = state.commits.partitionIndex { $0.version > version }
      return Array(state.commits[first...])
    }
  }

  /// Registers a subscriber without interests.
  ///
  /// - Parameter wake: called after a commit that touches an interest, on the storage's queue: it must return at once.
  func subscribe(wake: @escaping @Sendable () -> Void) -> SubscriberID {
    state.withLock { state in
      state.nextSubscriber += 1
      state.wakers[state.nextSubscriber] = wake
      return state.nextSubscriber
    }
  }

  /// Adds interests of one target of a subscriber. They are counted: an interest lasts until each target that added it has removed it.
  ///
  /// The cost depends on the number of these interests alone, not on those that the subscriber already has.
  func addInterests(_ interests: Set<Interest>, of id: SubscriberID) {
    state.withLock { state in
      for interest in interests {
        state.interests[id, default: [:]][interest, default: 0] += 1
        state.interested[interest, default: []].insert(id)
      }
    }
  }

  /// Removes interests that ``addInterests(_:of:)`` added for one target. Costs as much as adding them.
  func removeInterests(_ interests: Set<Interest>, of id: SubscriberID) {
    state.withLock { state in
      for interest in interests {
        guard let count = state.interests[id]?[interest] else {
          assertionFailure("subscriber \(id) removes \(interest), which it does not have")
          continue
        }
        if count > 1 {
          state.interests[id]?[interest] = count - 1
        } else {
          state.interests[id]?[interest] = nil
          Self.forget(interest, of: id, in: &state)
        }
      }
    }
  }

  /// Removes a subscriber with all its interests.
  func unsubscribe(_ id: SubscriberID) {
    state.withLock { state in
      for interest in (state.interests.removeValue(forKey: id) ?? [:]).keys {
        Self.forget(interest, of: id, in: &state)
      }
      state.wakers[id] = nil
    }
  }

  private static func forget(_ interest: Interest, of id: SubscriberID, in state: inout State) {
    state.interested[interest]?.remove(id)
    if state.interested[interest]?.isEmpty == true { state.interested[interest] = nil }
  }
}
