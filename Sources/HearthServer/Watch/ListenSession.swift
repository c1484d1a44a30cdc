internal import HearthModel
internal import HearthWire

/// The state of one listen stream: its targets, and the version up to which the client has their changes.
///
/// All targets of a stream are at the same version. Each step brings them to a later one and ends in one global snapshot (a
/// NO_CHANGE without target ids), so that the client sees all changes of a commit at once, whatever target they are in.
///
/// Confined to the stream's handler.
struct ListenSession {
  /// Sends messages to the client; waits while the client does not read.
  typealias Send = @Sendable ([WatchResponse]) async throws -> Void

  /// The maximum number of targets of one stream.
  static let maximumTargets = 10_000

  /// The number of messages that are passed to the transport at a time.
  private static let messagesPerBatch = 128

  private let database: HostedDatabase
  private let send: Send
  private let subscriber: ChangeFeed.SubscriberID
  private var targets = WatchedTargets()
  /// The version of the changes that were sent to the client.
  private var version: SnapshotVersion
  /// The version of the latest global snapshot.
  private var announcedVersion: SnapshotVersion = .none

  init(database: HostedDatabase, subscriber: ChangeFeed.SubscriberID, send: @escaping Send) {
    self.database = database
    self.subscriber = subscriber
    self.send = send
    self.version = database.storage.feed.latestVersion
  }

  private var feed: ChangeFeed { database.storage.feed }

  private func token(at version: SnapshotVersion) -> [UInt8] {
    ResumeToken(incarnation: database.storage.incarnation, version: version).bytes
  }

  // MARK: - Requests

  /// Adds or removes a target.
  ///
  /// - Throws: `StatusError` when the request makes no sense, which ends the stream. A query that cannot run only ends
  ///   its target.
  mutating func handle(_ request: Google_Firestore_V1_ListenRequest) async throws {
    switch request.targetChange {
    case .addTarget(let target): try await add(target)
    case .removeTarget(let id): try await remove(id)
    case nil:
      throw StatusError(
        code: .invalidArgument, message: "ListenRequest.target_change: neither add_target nor remove_target is set")
    }
  }

  private mutating func remove(_ id: TargetID) async throws {
    if let target = targets.remove(id) { feed.removeInterests(target.interests, of: subscriber) }
    try await send([.targetChange(.init(state: .removed, targetIDs: [id]))])
  }

  private mutating func add(_ message: Google_Firestore_V1_Target) async throws {
    let id = try admit(message)
    let target: WatchedTarget
    do {
      target = try WatchTargetDecoder(database: database).decode(message, id: id)
    } catch {
      let cause = StatusError(describing: error)
      try await send([.targetChange(.init(state: .removed, targetIDs: [id], cause: cause))])
      return
    }
    // Registered before the version is chosen: a commit in between would otherwise not wake this stream.
    feed.addInterests(target.interests, of: subscriber)
    // The other targets are brought to the same version first, because a global snapshot speaks for all of them.
    if targets.isEmpty { version = feed.latestVersion } else { try await catchUp() }
    let start: WatchStart
    do {
      start = try await WatchStart.read(target, resumingFrom: message, in: database, at: version)
    } catch {
      feed.removeInterests(target.interests, of: subscriber)
      try await send([.targetChange(.init(state: .removed, targetIDs: [id], cause: error))])
      return
    }
    try await begin(target, with: start)
  }

  /// The id of a new target.
  private func admit(_ message: Google_Firestore_V1_Target) throws(StatusError) -> TargetID {
    guard message.targetID >= 0 else {
      throw StatusError(
        code: .invalidArgument, message: "Target.target_id is \(message.targetID), but must not be negative")
    }
    guard message.targetType != nil else {
      throw StatusError(code: .invalidArgument, message: "Target.target_type: neither query nor documents is set")
    }
    guard targets.count < Self.maximumTargets else {
      throw StatusError(
        code: .resourceExhausted, message: "the stream has \(Self.maximumTargets) targets, the most that are allowed")
    }
    if message.targetID == 0 { return targets.freeID }
    guard !targets.contains(message.targetID) else {
      throw StatusError(
        code: .invalidArgument,
        message: "Target.target_id \(message.targetID) is in use on this stream; remove it first")
    }
    return message.targetID
  }

  // MARK: - First snapshot

  /// Sends the acknowledgement, the documents and the first snapshot of a target, whose changes follow from now on.
  private mutating func begin(_ target: WatchedTarget, with start: WatchStart) async throws {
    var target = target
    target.window = start.window
    targets.insert(target)
    try await send([.targetChange(.init(state: .added, targetIDs: [target.id]))])
    if start.isReset { try await send([.targetChange(.init(state: .reset, targetIDs: [target.id]))]) }
    try await sendInBatches(start.delta.responses(at: version))
    try await sendRest(of: target, after: start.next)
    var closing: [WatchResponse] = []
    if let count = start.existenceFilterCount {
      closing.append(.existenceFilter(WatchExistenceFilter(targetID: target.id, count: count, unchangedNames: nil)))
    }
    closing.append(
      .targetChange(
        .init(state: .current, targetIDs: [target.id], resumeToken: token(at: version), readTime: version)))
    closing.append(globalSnapshot())
    if target.isOnce {
      _ = targets.remove(target.id)
      feed.removeInterests(target.interests, of: subscriber)
      closing.append(.targetChange(.init(state: .removed, targetIDs: [target.id])))
    }
    try await send(closing)
  }

  /// Reads and sends the documents of a first snapshot behind its first piece, each piece when the client has taken the one before.
  private func sendRest(of target: WatchedTarget, after cursor: QueryCursor?) async throws {
    guard case .query(let query) = target.source else { return }
    var cursor = cursor
    while let position = cursor {
      var delta = WatchDelta()
      cursor = try await delta.add(query, after: position, to: target.id, at: version, in: database)
      try await sendInBatches(delta.responses(at: version))
    }
  }

  private mutating func globalSnapshot() -> WatchResponse {
    announcedVersion = version
    return .targetChange(.init(state: .noChange, targetIDs: [], resumeToken: token(at: version), readTime: version))
  }

  private func sendInBatches(_ responses: [WatchResponse]) async throws {
    var rest = responses[...]
    while !rest.isEmpty {
      try await send(Array(rest.prefix(Self.messagesPerBatch)))
      rest = rest.dropFirst(Self.messagesPerBatch)
    }
  }

  // MARK: - Later snapshots

  /// Sends everything that was committed since the last step.
  mutating func catchUp() async throws {
    guard feed.latestVersion > version else { return }
    guard !targets.isEmpty else {
      version = feed.latestVersion
      return
    }
    if let commits = feed.changes(after: version) {
      for commit in commits { try await advance(over: commit) }
    } else {
      try await advanceFromLog(to: feed.latestVersion)
    }
  }

  /// Sends a fresh resume token even if nothing of the targets has changed, so that a later resumption is short.
  mutating func refreshToken() async throws {
    try await catchUp()
    guard !targets.isEmpty, announcedVersion < version else { return }
    try await send([globalSnapshot()])
  }

  private mutating func advance(over commit: CommittedChange) async throws {
    assert(commit.version > version, "a stream at version \(version) advances over commit \(commit.version)")
    version = commit.version
    var delta = WatchDelta()
    for index in targets.indices {
      let scope = targets[index].scope
      let transitions = commit.transitions.filter { scope.contains($0.key) }
      guard !transitions.isEmpty else { continue }
      try await collect(transitions, ofTargetAt: index, into: &delta)
    }
    guard !delta.isEmpty else { return }
    try await sendInBatches(delta.responses(at: version) + [globalSnapshot()])
  }

  /// Catches up with many commits at once. A target whose changes are no longer in the log is reset and sent as a whole.
  private mutating func advanceFromLog(to latest: SnapshotVersion) async throws {
    let start = version
    version = latest
    var delta = WatchDelta()
    var currents: [WatchResponse] = []
    for index in targets.indices {
      let target = targets[index]
      if let transitions = try await database.storage.changes(in: target.scope, after: start, through: latest) {
        try await collect(transitions, ofTargetAt: index, into: &delta)
      } else {
        let documents = try await WatchStart.result(of: target, at: version, in: database)
        try await send([.targetChange(.init(state: .reset, targetIDs: [target.id]))])
        for document in documents where document.isFound { delta.update(document, in: target.id) }
        targets.setWindow(target.limitQuery == nil ? nil : LimitWindow(documents), at: index)
        currents.append(
          .targetChange(
            .init(state: .current, targetIDs: [target.id], resumeToken: token(at: version), readTime: version)))
      }
    }
    guard !delta.isEmpty || !currents.isEmpty else { return }
    try await sendInBatches(delta.responses(at: version) + currents + [globalSnapshot()])
  }

  /// Adds the effect of the changes on one target to `delta`.
  private mutating func collect(
    _ transitions: [DocumentTransition], ofTargetAt index: Int, into delta: inout WatchDelta
  ) async throws {
    let target = targets[index]
    if let query = target.limitQuery {
      guard target.isWindowAffected(by: transitions) else { return }
      let documents = try await database.watchedResult(of: query, at: version)
      delta.move(target.id, from: target.window, to: documents, transitions: transitions)
      targets.setWindow(LimitWindow(documents), at: index)
    } else {
      delta.collect(transitions, of: target)
    }
  }
}

extension WatchDelta {
  /// The changes of a target without limit.
  mutating func collect(_ transitions: [DocumentTransition], of target: WatchedTarget) {
    for transition in transitions {
      if target.matches(transition.after) {
        update(transition.after, in: target.id)
      } else if target.matches(transition.before) {
        remove(transition.after, from: target.id, isContentNew: true)
      }
    }
  }

  /// The changes of a target with a limit, from its old window to its new result.
  mutating func move(
    _ target: TargetID, from window: LimitWindow?, to documents: [Document], transitions: [DocumentTransition]
  ) {
    let old = window?.versions ?? [:]
    let new = Set(documents.map(\.key))
    let changed = Dictionary(transitions.map { ($0.key, $0.after) }) { _, last in last }
    for key in old.keys.sorted() where !new.contains(key) {
      if let document = changed[key] {
        remove(document, from: target, isContentNew: true)
      } else {
        remove(.found(key, version: old[key] ?? .none, fields: .empty), from: target, isContentNew: false)
      }
    }
    for document in documents where old[document.key] != document.version { update(document, in: target) }
  }
}
