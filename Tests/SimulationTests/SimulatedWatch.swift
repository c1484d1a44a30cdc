import HearthModel

/// The backend's side of one watch stream. Its messages wait until they are delivered, in order.
struct SimulatedWatch {
  enum Message {
    case response(WatchResponse)
    /// Something about these targets that the client cannot understand.
    case poison([TargetID])
  }

  private(set) var messages: [Message] = []
  private var targets: [TargetID: WatchedTarget] = [:]
  /// The number of times that the stream was asked for a target.
  private(set) var requestCount = 0

  private struct WatchedTarget {
    var target: Target
    var isOfListener: Bool
    /// The documents that were sent to the client as being in the target, with their versions.
    var sent: [DocumentKey: SnapshotVersion] = [:]
  }

  mutating func takeMessage() -> Message? {
    messages.isEmpty ? nil : messages.removeFirst()
  }

  private mutating func say(_ change: WatchTargetChange) {
    messages.append(.response(.targetChange(change)))
  }

  mutating func receive(_ request: WatchRequest, _ backend: SimulatedBackend, _ generator: inout HistoryGenerator) {
    switch request {
    case .removeTarget(let id):
      targets[id] = nil
      say(WatchTargetChange(state: .removed, targetIDs: [id]))
    case .addTarget(let request):
      add(request, backend, &generator)
    }
  }

  private mutating func add(_ request: TargetRequest, _ backend: SimulatedBackend, _ generator: inout HistoryGenerator)
  {
    let id = request.targetID
    requestCount += 1
    say(WatchTargetChange(state: .added, targetIDs: [id]))
    var watched = WatchedTarget(target: request.target, isOfListener: request.purpose != .limboResolution)
    let resumed = Int64(String(decoding: request.resumeToken, as: UTF8.self)) ?? request.readTime?.microseconds
    var saysWhatLeft = true
    if let resumed {
      if generator.chance(15) {
        say(WatchTargetChange(state: .reset, targetIDs: [id]))
      } else {
        for document in backend.run(request.target.query, at: resumed) { watched.sent[document.key] = document.version }
        saysWhatLeft = request.target.documentKey != nil || generator.chance(60)
      }
    }
    targets[id] = watched
    flush([id], saysWhatLeft: saysWhatLeft, backend, &generator)
    if resumed != nil, request.target.documentKey == nil, !saysWhatLeft || generator.chance(30) {
      let count = backend.run(request.target.query).count
      messages.append(.response(.existenceFilter(WatchExistenceFilter(targetID: id, count: count))))
    }
    say(WatchTargetChange(state: .current, targetIDs: [id], resumeToken: Self.token(backend)))
    if generator.chance(70) { sendSnapshot(backend, &generator) }
  }

  /// The targets that are not asked for because of documents in limbo.
  var targetsOfListeners: [(id: TargetID, target: Target)] {
    targets.filter(\.value.isOfListener).map { ($0.key, $0.value.target) }.sorted { $0.id < $1.id }
  }

  mutating func reject(_ id: TargetID, _ error: StatusError) {
    targets[id] = nil
    say(WatchTargetChange(state: .removed, targetIDs: [id], cause: error))
  }

  private static func token(_ backend: SimulatedBackend) -> [UInt8] { Array("\(backend.now)".utf8) }

  /// Tells everything to all targets, and that this is a consistent state.
  mutating func sendSnapshot(_ backend: SimulatedBackend, _ generator: inout HistoryGenerator) {
    sendChanges(backend, &generator)
    say(
      WatchTargetChange(
        state: .noChange, targetIDs: [], resumeToken: Self.token(backend),
        readTime: SnapshotVersion(microseconds: backend.now)))
  }

  /// Tells what has changed, without saying that it is complete.
  mutating func sendChanges(_ backend: SimulatedBackend, _ generator: inout HistoryGenerator) {
    flush(targets.keys.sorted(), saysWhatLeft: true, backend, &generator)
  }

  private mutating func flush(
    _ ids: [TargetID], saysWhatLeft: Bool, _ backend: SimulatedBackend, _ generator: inout HistoryGenerator
  ) {
    var updated: [DocumentKey: [TargetID]] = [:]
    var removed: [DocumentKey: [TargetID]] = [:]
    for id in ids {
      guard let watched = targets[id] else { continue }
      var present: [DocumentKey: SnapshotVersion] = [:]
      for document in backend.run(watched.target.query) { present[document.key] = document.version }
      for (key, version) in present where watched.sent[key] != version { updated[key, default: []].append(id) }
      for key in watched.sent.keys where present[key] == nil { removed[key, default: []].append(id) }
      targets[id]?.sent = present
    }
    if !saysWhatLeft { removed = [:] }
    for key in Set(updated.keys).union(removed.keys).sorted().shuffled(using: &generator) {
      let document = backend.document(key)
      // That a document left can be said with its contents or without.
      let saysContents = updated[key] != nil || document.isMissing || generator.chance(50)
      let (updated, removed) = (updated[key] ?? [], removed[key] ?? [])
      if saysContents, document.isFound, backend.poisoned.contains(key) {
        messages.append(.poison(updated + removed))
      } else {
        messages.append(
          .response(
            .documentChange(
              WatchDocumentChange(
                key: key, updatedTargetIDs: updated, removedTargetIDs: removed,
                document: saysContents ? document : nil))))
      }
    }
  }
}
