import HearthModel
import HearthWire

@testable import HearthServer

/// A listen stream and what its client makes of the messages: for each target the documents that are in it.
actor ViewedStream {
  private var session: ListenSession
  private let inbox: Inbox
  private let feed: ChangeFeed
  private let subscriber: ChangeFeed.SubscriberID
  private(set) var targets: [TargetID: Query] = [:]
  private(set) var views: [TargetID: [DocumentKey: SnapshotVersion]] = [:]
  private(set) var snapshots = 0
  /// The token of the latest snapshot.
  private(set) var token: [UInt8] = []
  /// The documents that resuming clients already have.
  private var resumedViews: [TargetID: [DocumentKey: SnapshotVersion]] = [:]
  /// Breaches of the protocol's rules.
  private(set) var faults: [String] = []
  private var lastReadTime: SnapshotVersion = .none
  /// Removals of documents that were not in the view, of the snapshot that is being received.
  private var unseenRemovals: [Passing] = []
  /// The passing documents of the snapshots so far, until they are taken.
  private var passed: [Passing] = []

  /// A removal of a document that was not in the view. It may have come into the result and left it between two snapshots.
  struct Passing: Sendable {
    var key: DocumentKey
    var query: Query
    /// The read times of the two snapshots.
    var after: SnapshotVersion
    var through: SnapshotVersion
  }

  private actor Inbox {
    var messages: [WatchResponse] = []
    func append(_ new: [WatchResponse]) { messages += new }
    func take() -> [WatchResponse] {
      defer { messages = [] }
      return messages
    }
  }

  init(_ fixture: any ListenedFixture, wake: @escaping @Sendable () -> Void = {}) {
    let inbox = Inbox()
    self.inbox = inbox
    feed = fixture.feed
    subscriber = feed.subscribe(wake: wake)
    session = ListenSession(database: fixture.database.session, subscriber: subscriber) { messages in
      await inbox.append(try messages.flatMap { try $0.decoded })
    }
  }

  /// - Parameter view: The documents of a client that resumes with a token.
  func add(
    _ query: Query, id: TargetID, token: [UInt8] = [], view: [DocumentKey: SnapshotVersion] = [:]
  ) async throws {
    targets[id] = query
    resumedViews[id] = view
    let request = TargetRequest(
      targetID: id, target: query.target, purpose: .listen, resumeToken: token, readTime: nil, expectedCount: nil)
    try await run { try await $0.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request))) }
  }

  func remove(_ id: TargetID) async throws {
    targets[id] = nil
    try await run { try await $0.handle(ServerFixture.translator.encode(WatchRequest.removeTarget(id))) }
    views[id] = nil
  }

  func catchUp() async throws { try await run { try await $0.catchUp() } }

  /// The removals of documents that were not in the view, since the last call.
  func takePassed() -> [Passing] {
    defer { passed = [] }
    return passed
  }

  /// Ends the stream.
  func close() { feed.unsubscribe(subscriber) }

  private func run(_ body: (inout ListenSession) async throws -> Void) async throws {
    var session = session
    try await body(&session)
    self.session = session
    for message in await inbox.take() { receive(message) }
  }

  private func receive(_ message: WatchResponse) {
    switch message {
    case .targetChange(let change):
      switch change.state {
      case .removed:
        for id in change.targetIDs { (targets[id], views[id]) = (nil, nil) }
      case .reset: for id in change.targetIDs { views[id] = [:] }
      case .added: for id in change.targetIDs { views[id] = resumedViews.removeValue(forKey: id) ?? [:] }
      case .current: break
      case .noChange:
        snapshots += 1
        if !change.resumeToken.isEmpty { token = change.resumeToken }
        if change.readTime < lastReadTime { faults.append("\(change.readTime) after \(lastReadTime)") }
        passed += unseenRemovals.map {
          Passing(key: $0.key, query: $0.query, after: $0.after, through: change.readTime)
        }
        unseenRemovals = []
        lastReadTime = change.readTime
      }
    case .documentChange(let change):
      for id in change.updatedTargetIDs {
        if views[id] == nil { faults.append("\(change.key) for \(id), which is no target") }
        views[id]?[change.key] = change.document?.version
      }
      for id in change.removedTargetIDs {
        if let query = targets[id], views[id]?[change.key] == nil {
          unseenRemovals.append(Passing(key: change.key, query: query, after: lastReadTime, through: .none))
        }
        if views[id] == nil { faults.append("\(change.key) leaves \(id), which is no target") }
        views[id]?[change.key] = nil
      }
    case .existenceFilter, .unreadable: faults.append("\(message)")
    }
  }
}
