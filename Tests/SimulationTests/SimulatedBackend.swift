import HearthModel

/// A backend that keeps every version of every document, answers requests at once and has its messages delivered later.
struct SimulatedBackend {
  /// What is said on the watch stream; the messages wait here until they are delivered, in order.
  private(set) var messages: [WatchResponse] = []
  private(set) var now: Int64 = 1000
  private var history: [DocumentKey: [Document]] = [:]
  private var targets: [TargetID: WatchedTarget] = [:]
  private var answers: [String: [(mutations: [Mutation], answer: Result<Commit, StatusError>)]] = [:]
  /// How often each batch was committed; more than once is what must never happen.
  private(set) var commitsPerBatch: [String: Int] = [:]

  struct Commit: Equatable {
    var version: SnapshotVersion
    var results: [MutationResult]
  }

  private struct WatchedTarget {
    var target: Target
    /// What the client has been told to be in the target.
    var sent: [DocumentKey: SnapshotVersion] = [:]
  }

  // MARK: - Documents

  var keys: [DocumentKey] { history.keys.sorted() }

  func document(_ key: DocumentKey, at version: Int64 = .max) -> Document {
    history[key]?.last { $0.version.microseconds <= version } ?? .missing(key, version: .none)
  }

  /// The result of a query, in its order.
  func run(_ query: Query, at version: Int64 = .max) -> [Document] {
    let matching = history.keys.map { document($0, at: version) }.filter { $0.isFound && query.matches($0) }
      .sorted { query.compare($0, $1) == .ascending }
    guard let limit = query.limit else { return matching }
    return query.isLimitToLast ? Array(matching.suffix(limit)) : Array(matching.prefix(limit))
  }

  /// Commits a batch, once: a batch that was answered before gets the answer of that time. A known label with other
  /// mutations is a batch of its own, and counts as a second commit of the label.
  mutating func commit(_ mutations: [Mutation], label: String?) -> Result<Commit, StatusError> {
    if let label, let known = answers[label]?.first(where: { $0.mutations == mutations }) { return known.answer }
    let answer = commitNew(mutations)
    if let label {
      answers[label, default: []].append((mutations, answer))
      if case .success = answer { commitsPerBatch[label, default: 0] += 1 }
    }
    return answer
  }

  private mutating func commitNew(_ mutations: [Mutation]) -> Result<Commit, StatusError> {
    let version = SnapshotVersion(microseconds: now + 1)
    var changed: [DocumentKey: Document] = [:]
    var results: [MutationResult] = []
    for mutation in mutations {
      guard !mutation.isForbidden else {
        return .failure(StatusError(code: .permissionDenied, message: "the rules forbid it"))
      }
      do {
        let outcome = try mutation.applied(
          to: changed[mutation.key] ?? document(mutation.key), commitTime: version, requestTime: version.timestamp)
        changed[mutation.key] = outcome.document
        results.append(MutationResult(version: version, transformResults: outcome.transformResults))
      } catch let error as StatusError {
        return .failure(error)
      } catch {
        return .failure(StatusError(code: .internal, message: "\(error)"))
      }
    }
    now += 1
    for (key, document) in changed { history[key, default: []].append(document) }
    return .success(Commit(version: version, results: results))
  }

  // MARK: - Watch stream

  mutating func closeWatchStream() {
    targets = [:]
    messages = []
  }

  mutating func takeMessage() -> WatchResponse? {
    messages.isEmpty ? nil : messages.removeFirst()
  }

  mutating func receive(_ request: WatchRequest, _ generator: inout SeededGenerator) {
    switch request {
    case .removeTarget(let id):
      targets[id] = nil
      messages.append(.targetChange(WatchTargetChange(state: .removed, targetIDs: [id])))
    case .addTarget(let request):
      add(request, &generator)
    }
  }

  private mutating func add(_ request: TargetRequest, _ generator: inout SeededGenerator) {
    let id = request.targetID
    messages.append(.targetChange(WatchTargetChange(state: .added, targetIDs: [id])))
    var watched = WatchedTarget(target: request.target)
    let resumed = Int64(String(decoding: request.resumeToken, as: UTF8.self)) ?? request.readTime?.microseconds
    var saysWhatLeft = true
    if let resumed {
      if generator.chance(15) {
        messages.append(.targetChange(WatchTargetChange(state: .reset, targetIDs: [id])))
      } else {
        for document in run(request.target.query, at: resumed) { watched.sent[document.key] = document.version }
        saysWhatLeft = request.target.documentKey != nil || generator.chance(60)
      }
    }
    targets[id] = watched
    flush([id], saysWhatLeft: saysWhatLeft, &generator)
    if resumed != nil, request.target.documentKey == nil, !saysWhatLeft || generator.chance(30) {
      let count = run(request.target.query).count
      messages.append(.existenceFilter(WatchExistenceFilter(targetID: id, count: count)))
    }
    messages.append(
      .targetChange(WatchTargetChange(state: .current, targetIDs: [id], resumeToken: token)))
    if generator.chance(70) { sendSnapshot(&generator) }
  }

  private var token: [UInt8] { Array("\(now)".utf8) }

  /// Tells everybody of everything, and that this is a consistent state.
  mutating func sendSnapshot(_ generator: inout SeededGenerator) {
    flush(targets.keys.sorted(), saysWhatLeft: true, &generator)
    messages.append(
      .targetChange(
        WatchTargetChange(
          state: .noChange, targetIDs: [], resumeToken: token, readTime: SnapshotVersion(microseconds: now))))
  }

  /// Tells of what has changed, without saying that it is complete.
  mutating func sendChanges(_ generator: inout SeededGenerator) {
    flush(targets.keys.sorted(), saysWhatLeft: true, &generator)
  }

  private mutating func flush(_ ids: [TargetID], saysWhatLeft: Bool, _ generator: inout SeededGenerator) {
    var updated: [DocumentKey: [TargetID]] = [:]
    var removed: [DocumentKey: [TargetID]] = [:]
    for id in ids {
      guard let watched = targets[id] else { continue }
      var present: [DocumentKey: SnapshotVersion] = [:]
      for document in run(watched.target.query) { present[document.key] = document.version }
      for (key, version) in present where watched.sent[key] != version { updated[key, default: []].append(id) }
      for key in watched.sent.keys where present[key] == nil { removed[key, default: []].append(id) }
      targets[id]?.sent = present
    }
    if !saysWhatLeft { removed = [:] }
    for key in Set(updated.keys).union(removed.keys).sorted().shuffled(using: &generator) {
      let document = document(key)
      // That a document left can be said with its contents or without.
      let saysContents = updated[key] != nil || document.isMissing || generator.chance(50)
      messages.append(
        .documentChange(
          WatchDocumentChange(
            key: key, updatedTargetIDs: updated[key] ?? [], removedTargetIDs: removed[key] ?? [],
            document: saysContents ? document : nil)))
    }
  }
}

extension Mutation {
  /// The backend's rules allow no field of this name.
  static let forbiddenField = "forbidden"

  var isForbidden: Bool {
    switch operation {
    case .set(let fields), .patch(let fields, _):
      ((try? fields.decoded()) ?? [:])[Self.forbiddenField] != nil
    case .delete, .verify: false
    }
  }
}
