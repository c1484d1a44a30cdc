internal import HearthModel
internal import HearthWire
internal import NIOCore

/// The state of one listen stream: its targets, and the version up to which the client has their changes.
///
/// All targets of a stream are at the same version. Each step brings them to a later one and ends in one global snapshot (a
/// NO_CHANGE without target ids), so that the client sees all changes of a commit at once, whatever target they are in.
///
/// Confined to the stream's handler.
struct ListenSession {
  /// Sends messages to the client; waits while the client does not read.
  typealias Send = @Sendable ([ListenMessage]) async throws -> Void

  /// The number of messages that are passed to the transport at a time.
  private static let messagesPerBatch = 128

  private let database: HostedDatabase
  private let send: Send
  /// Returns true if much of what was sent still waits for the client.
  private let isBehind: @Sendable () -> Bool
  private let subscriber: ChangeFeed.SubscriberID
  private var targets = WatchedTargets() {
    didSet { targetUsage?.set(targets.count) }
  }
  /// The number of targets, for metrics.
  private let targetUsage: Usage?
  /// The version of the changes that were sent to the client.
  private var version: SnapshotVersion
  /// The version of the latest global snapshot.
  private var announcedVersion: SnapshotVersion = .none

  init(
    database: HostedDatabase, subscriber: ChangeFeed.SubscriberID,
    isBehind: @escaping @Sendable () -> Bool = { false }, send: @escaping Send
  ) {
    self.database = database
    self.subscriber = subscriber
    self.isBehind = isBehind
    self.send = send
    targetUsage = database.metrics?.targetsPerStream.register()
    self.version = database.storage.feed.latestVersion
  }

  private var feed: ChangeFeed { database.storage.feed }

  private func token(at version: SnapshotVersion) -> [UInt8] {
    database.storage.epochs.token(at: version).bytes
  }

  // MARK: - Requests

  /// Adds or removes a target.
  ///
  /// - Throws: `StatusError` when the request makes no sense or the server has trouble for the moment, which ends the stream. A query
  ///   that cannot run only ends its target.
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
    if let target = targets.remove(id) { feed.leave(target.query, by: subscriber) }
    try await send(.init(state: .removed, targetIDs: [id]))
  }

  private mutating func add(_ message: Google_Firestore_V1_Target) async throws {
    let id = try admit(message)
    var target: WatchedTarget
    do {
      target = try WatchTargetDecoder(database: database).decode(message, id: id)
    } catch {
      return try await refuse(id, StatusError(describing: error))
    }
    // Joined before the version is chosen: a commit in between would otherwise not reach this target.
    target.query = feed.join(target.source, by: subscriber)
    let start: WatchStart
    do {
      // The other targets are brought to the same version first, because a global snapshot speaks for all of them.
      if targets.isEmpty { version = feed.match() } else { try await catchUp() }
      start = try await WatchStart.read(target, resumingFrom: message, in: database, at: version)
    } catch {
      feed.leave(target.query, by: subscriber)
      return try await refuse(id, StatusError(describing: error))
    }
    try await begin(target, with: start)
  }

  /// Ends a target whose request holds more than is allowed. Nothing else than its id is known.
  mutating func refuse(_ message: Google_Firestore_V1_Target, _ excess: CallStatus) async throws {
    let id = try admit(message)
    if let limit = excess.exceeded { database.metrics?.exceeded(limit) }
    try await refuse(id, StatusError(code: excess.code, message: excess.message))
  }

  /// Adds a target whose query is at fault, and ends it, as production does.
  private func refuse(_ id: TargetID, _ error: StatusError) async throws {
    guard error.endsTarget else { throw error }
    try await send(.init(state: .added, targetIDs: [id]))
    try await end(id, error)
  }

  /// Ends a target whose query is at fault.
  ///
  /// - Throws: `error` itself if it is trouble of the server, which passes: then the stream ends, and the client listens again.
  private func end(_ id: TargetID, _ error: StatusError) async throws {
    guard error.endsTarget else { throw error }
    try await send(.init(state: .removed, targetIDs: [id], cause: error))
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
    guard targets.count < database.limits.targetsPerStream else {
      database.metrics?.exceeded(.targetsPerStream)
      throw StatusError(
        code: .resourceExhausted,
        message: "the stream has \(database.limits.targetsPerStream) targets, the most that are allowed")
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
    targets.insert(target)
    if let window = start.window { feed.install(window, of: target.query, at: version) }
    try await send(.init(state: .added, targetIDs: [target.id]))
    if start.isReset { try await send(.init(state: .reset, targetIDs: [target.id])) }
    try await sendInBatches(start.delta.messages(in: database.id))
    try await sendDocuments(of: target, from: start)
    var closing: [ListenMessage] = []
    if let count = start.existenceFilterCount {
      closing.append(
        .response(
          .existenceFilter(
            WatchExistenceFilter(targetID: target.id, count: count, unchangedNames: start.unchangedNames))))
    }
    closing += [current(target.id), globalSnapshot()]
    if target.isOnce {
      _ = targets.remove(target.id)
      feed.leave(target.query, by: subscriber)
      closing.append(.response(.targetChange(.init(state: .removed, targetIDs: [target.id]))))
    }
    try await send(closing)
  }

  /// Sends the documents of a first snapshot. The next piece is read while one is sent, unless much of that waits for the client: a client
  /// that does not read holds one.
  private func sendDocuments(of target: WatchedTarget, from start: WatchStart) async throws {
    var (documents, next) = (start.documents, start.next)
    if case .query(let query) = target.source {
      while let cursor = next {
        let half = documents.count / 2
        try await send(documents.prefix(half), to: target.id)
        documents.removeFirst(half)
        if isBehind() {
          try await send(documents[...], to: target.id)
          documents = []
          let page = try await database.watchedPage(of: query, after: cursor, at: version)
          (documents, next) = (page.answer.documents, page.next)
        } else {
          async let page = database.watchedPage(of: query, after: cursor, at: version)
          try await send(documents[...], to: target.id)
          (documents, next) = try await (page.answer.documents, page.next)
        }
      }
    }
    try await send(documents[...], to: target.id)
  }

  /// Sends documents of a first snapshot, none of which comes twice. They are encoded as the client takes them.
  private func send(_ documents: ArraySlice<Document>, to target: TargetID) async throws {
    let encoder = SharedDocument.frames(to: target, in: database.id)
    var frames = ByteBuffer()
    for document in documents {
      if document.isFound {
        encoder.write(document, to: &frames)
      } else {
        let missing = Document.missing(document.key, version: version)
        let bytes = SharedDocument.message(ofMissing: missing, to: target, in: database.id)
        MessageAssembler.write(bytes, count: bytes.count, to: &frames)
      }
      guard frames.readableBytes >= ListenMessage.bytesPerPiece else { continue }
      try await send([.frames(frames)])
      frames = ByteBuffer()
    }
    if frames.readableBytes > 0 { try await send([.frames(frames)]) }
  }

  private func current(_ target: TargetID) -> ListenMessage {
    .response(
      .targetChange(.init(state: .current, targetIDs: [target], resumeToken: token(at: version), readTime: version)))
  }

  private mutating func globalSnapshot() -> ListenMessage {
    announcedVersion = version
    return .response(
      .targetChange(.init(state: .noChange, targetIDs: [], resumeToken: token(at: version), readTime: version)))
  }

  private func send(_ change: WatchTargetChange) async throws {
    try await send([.response(.targetChange(change))])
  }

  private func sendInBatches(_ messages: [ListenMessage]) async throws {
    guard messages.count > Self.messagesPerBatch else {
      if !messages.isEmpty { try await send(messages) }
      return
    }
    var rest = messages[...]
    while !rest.isEmpty {
      try await send(Array(rest.prefix(Self.messagesPerBatch)))
      rest = rest.dropFirst(Self.messagesPerBatch)
    }
  }

  // MARK: - Later snapshots

  /// Sends everything that was committed since the last step, in one snapshot unless a window has to be read in between.
  ///
  /// What is committed while it works may be left. Then the stream is woken again at once: it never sleeps with something unsent, and its
  /// requests have their turn.
  mutating func catchUp() async throws {
    let goal = feed.latestVersion
    guard !targets.isEmpty else {
      version = max(version, feed.match())
      return feed.rest(subscriber, at: version)
    }
    repeat {
      let taken = feed.take(after: version, by: subscriber)
      if taken.through > version { try await advance(taken) }
      for query in taken.blocking { try await refill(query) }
      // Nothing is left, and what comes from now on wakes the stream.
      if taken.isLast { return }
    } while version < goal
    feed.rest(subscriber, at: version)
  }

  /// Sends a fresh resume token even if nothing of the targets has changed, so that a later resumption is short.
  mutating func refreshToken() async throws {
    try await catchUp()
    guard !targets.isEmpty, announcedVersion < version else { return }
    try await send([globalSnapshot()])
  }

  private mutating func advance(_ taken: SharedQueries.Taken) async throws {
    assert(taken.through > version, "a stream at version \(version) advances to \(taken.through)")
    let start = version
    version = taken.through
    let dropped = taken.dropped.flatMap { targets.ids(of: $0) }.sorted()
    guard !taken.changes.isEmpty || !dropped.isEmpty else { return }
    var delta = WatchDelta()
    let changed = taken.changes.flatMap { entry in
      targets.ids(of: entry.query).map { (id: $0, changes: entry.changes) }
    }
    for target in changed.sorted(by: { $0.id < $1.id }) { delta.collect(target.changes, of: target.id) }
    var resets: [ListenMessage] = []
    var currents: [ListenMessage] = []
    for id in dropped {
      guard let target = targets.target(id) else { continue }
      do {
        if try await addFromLog(target, after: start, to: &delta) { continue }
        resets.append(.response(.targetChange(.init(state: .reset, targetIDs: [id]))))
        currents.append(current(id))
      } catch {
        try await end(target, error)
      }
    }
    guard !delta.isEmpty || !currents.isEmpty else { return }
    try await sendInBatches(resets + delta.messages(in: database.id) + currents + [globalSnapshot()])
  }

  /// Adds what has happened to a target since `start`.
  ///
  /// - Returns: False if the log has forgotten that: the target is reset and sent as a whole.
  private func addFromLog(
    _ target: WatchedTarget, after start: SnapshotVersion, to delta: inout WatchDelta
  ) async throws(StatusError) -> Bool {
    var difference = delta
    if let found = try await difference.addDifference(of: target, after: start, through: version, in: database) {
      delta = difference
      if target.source.limitQuery != nil { feed.install(found.window, of: target.query, at: version) }
      return true
    }
    let documents = try await WatchStart.result(of: target, at: version, in: database)
    if target.source.limitQuery != nil { feed.install(documents, of: target.query, at: version) }
    for document in documents where document.isFound { delta.update(SharedDocument(document), in: target.id) }
    return false
  }

  /// Reads a window that is not known from memory, or waits for another stream that does.
  private mutating func refill(_ query: ChangeFeed.QueryID) async throws {
    do {
      try await feed.refill(query) { [database] query, version throws(StatusError) in
        try await database.watchedResult(of: query, at: version)
      }
    } catch {
      let ids = targets.ids(of: query)
      // A target that is only being added: its request fails.
      if ids.isEmpty { throw error }
      for id in ids {
        if let target = targets.target(id) { try await end(target, error) }
      }
    }
  }

  /// Ends a target that cannot be followed any more.
  ///
  /// - Throws: As ``end(_:_:)``.
  private mutating func end(_ target: WatchedTarget, _ error: StatusError) async throws {
    guard error.endsTarget else { throw error }
    _ = targets.remove(target.id)
    feed.leave(target.query, by: subscriber)
    try await end(target.id, error)
  }
}

extension StatusError {
  /// True if listening again to the same target would fail again, so that only this target ends. The client reports it to its listener
  /// and stops. All other errors end the stream: the client listens again.
  ///
  /// Damaged data counts as such: it does not heal, and a stream that ends at each attempt would keep the other targets from
  /// being followed.
  fileprivate var endsTarget: Bool {
    switch code {
    case .invalidArgument, .failedPrecondition, .notFound, .permissionDenied, .unimplemented, .outOfRange, .dataLoss:
      true
    default: false
    }
  }
}
