internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import NIOCore
internal import SwiftProtobuf

/// The state of one listen stream: its targets, and the version up to which the client has their changes.
///
/// All targets of a stream are at the same version. Each step brings them to a later one and ends in one global snapshot (a
/// NO_CHANGE without target ids), so that the client sees all changes of a commit at once, whatever target they are in.
///
/// Confined to the stream's handler.
struct ListenSession {
  typealias Send = @Sendable ([ListenMessage]) async throws -> Void

  private let database: Session
  private let output: ListenOutput
  private let heldChanges: HeldChanges.Limits
  /// See ``TargetTransfer/freeChanges``.
  private let freeChanges: Int
  private let decisions = StreamDecisions()
  private let subscriber: ChangeFeed.SubscriberID
  private var targets = StreamTargets() {
    didSet { targetUsage?.set(targets.count) }
  }
  /// The number of targets, for metrics.
  private let targetUsage: Usage?
  /// The version of the changes that were sent to the client.
  private var version: SnapshotVersion {
    didSet { assert(version >= oldValue, "a stream at version \(oldValue) goes back to \(version)") }
  }
  /// The epochs of the database when this version was taken. Tokens are made with them.
  private var epochs: Epochs
  /// The version of the latest global snapshot.
  private var announcedVersion: SnapshotVersion = .none
  /// The latest version that the client has seen on earlier streams, as far as its tokens tell. It leaves earlier snapshots alone.
  private var seenVersion: SnapshotVersion = .none

  init(
    database: Session, subscriber: ChangeFeed.SubscriberID,
    isBehind: @escaping @Sendable () -> Bool = { false }, heldChanges: HeldChanges.Limits = .init(),
    freeChanges: Int = TargetTransfer.freeChanges, send: @escaping Send
  ) {
    self.database = database
    self.subscriber = subscriber
    self.heldChanges = heldChanges
    self.freeChanges = freeChanges
    output = ListenOutput(isBehind: isBehind, send: send)
    targetUsage = database.metrics?.targetsPerStream.register()
    version = database.feed.latestVersion
    // After the version: the epochs in which a commit lies are known before it is published.
    epochs = database.epochs
  }

  private var feed: ChangeFeed { database.feed }

  private func token(at version: SnapshotVersion) -> [UInt8] {
    epochs.token(at: version).bytes
  }

  /// Takes the present epochs, after the version to which the stream is about to go.
  ///
  /// - Throws: UNAVAILABLE if what the client has is not a part of the database's history any more. Its tokens lead to a reset.
  private mutating func renewEpochs() throws(StatusError) {
    let present = database.epochs
    guard targets.isEmpty || present.continues(epochs.token(at: version)) else {
      throw StatusError(
        code: .unavailable, message: "The history of the database has been replaced by another one; listen again.")
    }
    epochs = present
  }

  // MARK: - Requests

  /// Adds or removes a target.
  ///
  /// - Parameter memory: The share of a new target in the memory for all.
  /// - Throws: `StatusError` when the request makes no sense or the server has trouble for the moment, which ends the stream. A query
  ///   that cannot run only ends its target.
  mutating func handle(_ request: Google_Firestore_V1_ListenRequest, memory: TargetMemory? = nil) async throws {
    assertInvariants()
    defer { assertInvariants() }
    switch request.targetChange {
    case .addTarget(let target): try await add(target, memory)
    case .removeTarget(let id): try await remove(id)
    case nil:
      throw StatusError(
        code: .invalidArgument, message: "ListenRequest.target_change: neither add_target nor remove_target is set")
    }
  }

  private mutating func remove(_ id: TargetID) async throws {
    if let target = targets.remove(id) { leave(target) }
    try await send(.init(state: .removed, targetIDs: [id]))
  }

  private mutating func add(_ message: Google_Firestore_V1_Target, _ memory: TargetMemory?) async throws {
    let id = try admit(message)
    var target: WatchedTarget
    do {
      target = try WatchTargetDecoder(database: database).decode(message, id: id)
      target.memory = memory
      if case .query(let query) = target.source {
        try await database.requireIndexes(query.indexNeeds(), for: query)
      }
    } catch {
      return try await refuse(id, StatusError(describing: error))
    }
    // Joined before the version is chosen: a commit in between would otherwise not reach this target.
    target.query = feed.join(target.source, by: subscriber)
    do {
      if let seen = ResumePosition.seen(by: message) { seenVersion = max(seenVersion, seen) }
      try await database.catchUpFeed(seen: seenVersion)
      // The other targets are brought to the same version first, because a global snapshot speaks for all of them.
      if targets.isEmpty {
        version = feed.match()
        try renewEpochs()
      } else {
        try await catchUp()
      }
    } catch {
      feed.leave(target.query, by: subscriber)
      return try await refuse(id, StatusError(describing: error))
    }
    try await begin(target, message)
  }

  /// Ends a target whose request holds more than is allowed, or than there is room for. Its id alone is looked at.
  mutating func refuse(_ message: Google_Firestore_V1_Target, _ excess: CallStatus) async throws {
    let id = try admit(message)
    if let limit = excess.exceeded { database.metrics?.exceeded(limit) }
    try await reject(id, StatusError(code: excess.code, message: excess.message))
  }

  /// Adds a target whose query is at fault, and ends it, as production does.
  private func refuse(_ id: TargetID, _ error: StatusError) async throws {
    guard error.endsTarget else { throw error }
    try await reject(id, error)
  }

  private func reject(_ id: TargetID, _ error: StatusError) async throws {
    try await send(.init(state: .added, targetIDs: [id]))
    try await send(.init(state: .removed, targetIDs: [id], cause: error))
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

  // MARK: - Rules

  /// Decides whether the caller may have a target, and joins the documents on which that depends.
  private func authorize(_ target: inout WatchedTarget) async throws(StatusError) {
    // A change of a document decides again on each target that names it, with all that the target names.
    if case .documents(let keys) = target.source, database.isUnderRules,
      targets.grantedNames + keys.count > database.limits.targetsPerStream
    {
      throw .invalid(
        "the targets of a stream may name \(database.limits.targetsPerStream) documents together under security rules")
    }
    var grant = try await database.grant(target.source, at: version, sharing: decisions.effortOfTarget())
    for _ in 0..<Self.authorizationAttempts {
      if let lookedUp = target.lookedUp { feed.leave(lookedUp, by: subscriber) }
      target.lookedUp = grant.flatMap { grant in
        let keys = grant.basis.documents.sorted { $0.canonicalString < $1.canonicalString }
        return keys.isEmpty ? nil : feed.join(.documents(keys), by: subscriber)
      }
      target.grant = grant
      guard target.lookedUp != nil else { return }
      // They may have changed before they were joined.
      let present = try await database.grant(
        target.source, at: database.currentVersion(), sharing: decisions.effortOfTarget())
      guard present?.basis.documents == grant?.basis.documents else {
        grant = present
        continue
      }
      // The later decision stands: with other contents of the same documents, it may depend on the time.
      target.grant = present
      return
    }
    throw StatusError(code: .unavailable, message: "The rules look up other documents each time; listen again.")
  }

  private static let authorizationAttempts = 4
  /// Others on the same thread are served after so many decisions.
  private static let decisionsPerTurn = 64

  /// Decides again on some targets, and on those that former rules have allowed. Those that may not be had any more end.
  private mutating func authorizeAgain(_ ids: Set<TargetID>) async throws {
    let release = database.ruleRelease
    let due = targets.granted.filter { ids.contains($0) || targets.target($0)?.grant?.release != release }
    for (number, id) in due.enumerated() {
      guard var target = targets.target(id) else { continue }
      if number > 0, number.isMultiple(of: Self.decisionsPerTurn) { await Task.yield() }
      do {
        try await authorize(&target)
        targets.regrant(target)
      } catch {
        _ = targets.remove(id)
        leave(target)
        try await end(id, error)
      }
    }
  }

  /// The targets whose grants may end with changes: the documents that rules have looked up, or those of the target itself.
  private func affected(by taken: SharedQueries.Taken) -> Set<TargetID> {
    guard !targets.granted.isEmpty else { return [] }
    var ids: Set<TargetID> = []
    for query in taken.changes.map(\.query) + taken.dropped {
      ids.formUnion(targets.ids(lookingUp: query))
      ids.formUnion(targets.ids(of: query).filter { targets.target($0)?.grant?.dependsOnDocuments == true })
    }
    return ids
  }

  /// The documents that have left a target and that the caller may not get as they are now.
  private func hiddenDocuments(in changes: [WatchChange]) async -> Set<DocumentKey> {
    var hidden: Set<DocumentKey> = []
    for change in changes where !change.isIn && change.isContentNew && change.document.document.isFound {
      let document = change.document.document
      if await !decisions.mayGet(document, at: version, of: database) { hidden.insert(document.key) }
    }
    return hidden
  }

  /// The stream hears of a target no more.
  private func leave(_ target: WatchedTarget) {
    feed.leave(target.query, by: subscriber)
    if let lookedUp = target.lookedUp { feed.leave(lookedUp, by: subscriber) }
  }

  // MARK: - First snapshot

  /// Sends the acknowledgement, the documents and the first snapshot of a target, whose changes follow from now on.
  private mutating func begin(_ target: WatchedTarget, _ message: Google_Firestore_V1_Target) async throws {
    assert(!targets.contains(target.id), "target \(target.id) begins a second time")
    defer { decisions.endStep() }
    var target = target
    do {
      try await authorize(&target)
    } catch {
      leave(target)
      return try await refuse(target.id, error)
    }
    var transfer = TargetTransfer(
      to: target, at: version, of: database, decisions, output: output, freeChanges: freeChanges)
    transfer.hold(.response(.targetChange(.init(state: .added, targetIDs: [target.id]))))
    let filter: WatchExistenceFilter?
    do {
      filter = try await start(target, message, &transfer)
    } catch {
      leave(target)
      guard let error = error as? StatusError, error.endsTarget else { throw error }
      return try await transfer.send([removed(target.id, cause: error)])
    }
    var closing: [ListenMessage] = filter.map { [.response(.existenceFilter($0))] } ?? []
    closing += [current(target.id), globalSnapshot()]
    if target.isOnce {
      leave(target)
      closing.append(removed(target.id))
    } else {
      targets.insert(target)
    }
    try await transfer.send(closing)
  }

  /// Sends what has changed since the version from which a client resumes, or else everything.
  ///
  /// - Returns: The number of the target's documents, for a client that has sent the number it expects.
  private func start(
    _ target: WatchedTarget, _ message: Google_Firestore_V1_Target, _ transfer: inout TargetTransfer
  ) async throws -> WatchExistenceFilter? {
    guard let start = ResumePosition.version(of: message, in: database, streamAt: version),
      let difference = try await transfer.sendDifference(after: start)
    else {
      if message.resumeType != nil { transfer.hold(reset(target.id)) }
      install(try await transfer.sendResult(), of: target)
      return nil
    }
    install(difference.window, of: target)
    guard message.hasExpectedCount else { return nil }
    return try await ExistenceCheck(target: target, version: version, database: database)
      .filter(expecting: Int(message.expectedCount.value) + difference.growth, windowCount: difference.window?.count)
  }

  /// Hands over the window of a query with a limit, unless it is too large.
  private func install(_ draft: WindowDraft?, of target: WatchedTarget) {
    if let window = draft?.window() { feed.install(window, of: target.query, at: version) }
  }

  private func reset(_ target: TargetID) -> ListenMessage {
    .response(.targetChange(.init(state: .reset, targetIDs: [target])))
  }

  private func removed(_ target: TargetID, cause: StatusError? = nil) -> ListenMessage {
    .response(.targetChange(.init(state: .removed, targetIDs: [target], cause: cause)))
  }

  private func current(_ target: TargetID) -> ListenMessage {
    .response(
      .targetChange(.init(state: .current, targetIDs: [target], resumeToken: token(at: version), readTime: version)))
  }

  private mutating func globalSnapshot() -> ListenMessage {
    assert(announcedVersion <= version, "a snapshot at \(version) follows one at \(announcedVersion)")
    announcedVersion = version
    return .response(
      .targetChange(.init(state: .noChange, targetIDs: [], resumeToken: token(at: version), readTime: version)))
  }

  private func send(_ change: WatchTargetChange) async throws {
    try await output.send([.response(.targetChange(change))])
  }

  // MARK: - Later snapshots

  /// Sends everything that was committed since the last step, in one snapshot unless a window must be read in between.
  ///
  /// Commits that come while it works may be left. Then the stream is woken again at once: it never sleeps with something unsent, and its
  /// requests have their turn.
  mutating func catchUp() async throws {
    defer { assertInvariants() }
    let goal = feed.latestVersion
    guard !targets.isEmpty else {
      version = max(version, feed.match())
      try renewEpochs()
      return feed.rest(subscriber, at: version)
    }
    repeat {
      var taken = feed.take(after: version, by: subscriber)
      try renewEpochs()
      if taken.through > version { try await advance(&taken) }
      for query in taken.blocking { try await refill(query) }
      // Nothing is left, and what comes from now on wakes the stream.
      if taken.isLast { return }
    } while version < goal
    feed.rest(subscriber, at: version)
  }

  /// Sends a fresh resume token even if nothing of the targets has changed, so that a later resumption is short.
  ///
  /// Targets end that new rules do not allow, or that rules do not allow any more at this time.
  mutating func refreshToken() async throws {
    // The client could not be told the present time before if the clock was behind. And it should listen elsewhere if the present cannot be
    // found out any more.
    try await database.catchUpFeed(seen: seenVersion)
    try await catchUp()
    defer { decisions.endStep() }
    try await authorizeAgain(Set(targets.granted.filter { targets.target($0)?.grant?.basis.usesTime == true }))
    guard !targets.isEmpty, announcedVersion < version else { return }
    try await output.send([globalSnapshot()])
  }

  /// - Parameter taken: Its changes are moved out, because they may take much memory and the client much time.
  private mutating func advance(_ taken: inout SharedQueries.Taken) async throws {
    assert(taken.through > version, "a stream at version \(version) advances to \(taken.through)")
    let start = version
    version = taken.through
    defer { decisions.endStep() }
    try await authorizeAgain(affected(by: taken))
    var logged = taken.dropped.flatMap { targets.ids(of: $0) }
    guard !taken.changes.isEmpty || !logged.isEmpty else { return }
    let (changes, changed) = await takeChanges(&taken)
    var isNews = !changes.isEmpty
    // First what memory has: it may say older things of a document than the log does.
    if try await !changes.send(to: output, in: database.id) { logged += changed }
    var resets: [TargetID] = []
    for id in logged.sorted() {
      guard let target = targets.target(id) else { continue }
      var transfer = TargetTransfer(
        to: target, at: version, of: database, decisions, output: output, freeChanges: freeChanges)
      do {
        if try await sendFromLog(target, after: start, &transfer) { resets.append(id) }
      } catch {
        guard let error = error as? StatusError else { throw error }
        try await end(target, error)
      }
      isNews = isNews || transfer.hasSent
    }
    guard isNews else { return }
    try await output.send(resets.map { current($0) } + [globalSnapshot()])
  }

  /// Moves changes that are in memory out of what was taken.
  ///
  /// - Returns: The targets too that they are of.
  private func takeChanges(_ taken: inout SharedQueries.Taken) async -> (HeldChanges, [TargetID]) {
    let changed = taken.changes.flatMap { entry in
      targets.ids(of: entry.query).map { (id: $0, changes: entry.changes) }
    }
    taken.changes = []
    var delta = WatchDelta()
    for target in changed.sorted(by: { $0.id < $1.id }) {
      let hidden = targets.target(target.id)?.grant == nil ? [] : await hiddenDocuments(in: target.changes)
      delta.collect(target.changes, of: target.id, hidden: hidden)
    }
    return (HeldChanges(delta, limits: heldChanges), changed.map(\.id))
  }

  /// Sends what has happened to a target since `start`.
  ///
  /// - Returns: True if the log has forgotten that, or if it is too much: the target is reset and sent as a whole.
  private func sendFromLog(
    _ target: WatchedTarget, after start: SnapshotVersion, _ transfer: inout TargetTransfer
  ) async throws -> Bool {
    if let difference = try await transfer.sendDifference(after: start) {
      install(difference.window, of: target)
      return false
    }
    transfer.hold(reset(target.id))
    install(try await transfer.sendResult(), of: target)
    try await transfer.send([])
    return true
  }

  /// Reads a window that is not known from memory, or waits for another stream that does.
  private mutating func refill(_ query: ChangeFeed.QueryID) async throws {
    do {
      try await feed.refill(query) { [database] query, version, known throws(StatusError) in
        try await database.refilledWindow(of: query, at: version, knowing: known)
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

  /// Checks what holds between two requests, in debug builds only.
  private func assertInvariants() {
    assert(announcedVersion <= version, "a snapshot was sent at \(announcedVersion), the stream is at \(version)")
    assert(
      targets.count <= database.limits.targetsPerStream,
      "\(targets.count) targets are more than \(database.limits.targetsPerStream)")
  }

  /// Ends a target that cannot be followed any more.
  ///
  /// - Throws: As ``end(_:_:)``.
  private mutating func end(_ target: WatchedTarget, _ error: StatusError) async throws {
    guard error.endsTarget else { throw error }
    _ = targets.remove(target.id)
    leave(target)
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
