import EngineHarness
import HearthCache
import HearthModel
import HearthSync

/// Reads of the cache, and what else is answered or ended.
extension SharedClient {
  /// A read of the cache on its way.
  struct Read {
    var query: Query
    /// The results that are right: those of every state of the file from the call to the end of its event.
    var results: [[Document]] = []
    /// The answer that came before the results were known.
    var answer: [Document]?
  }

  // MARK: - Reads

  /// Reads the cache once, by a query or, for a document, by its key.
  func read(_ query: Query) {
    let id = RequestID(rawValue: world.nextNumber())
    let stateCount = world.reference.stateCount
    let former = store.user
    reads[id] = Read(query: query)
    let key = query.collectionGroup == nil ? try? DocumentKey(query.path) : nil
    post(.request(id, key.map { .readDocument($0) } ?? .readQuery(query)))
    guard let read = reads[id] else { return }
    let states = world.reference.states(from: stateCount - 1)
    let users = former == store.user ? [former] : [former, store.user]
    reads[id]?.results = users.flatMap { user in states.map { $0.run(query, user) } }
    if let answer = read.answer { check(id, answer) }
  }

  func answered(_ id: RequestID, _ answer: EngineAnswer) {
    switch answer {
    case .snapshot(let snapshot): answered(id, Array(snapshot.documents))
    case .document(let document): answered(id, document.isFound ? [document] : [])
    case .done, .aggregation, .pendingWrites, .query, .fate, .queries, .clearing:
      if openWaits.remove(id) == nil { fail("request \(id.rawValue) was answered twice") }
      for number in awaited.removeValue(forKey: id) ?? [] where world.ledger.isSurelyPending(number) {
        fail("the wait \(id.rawValue) for pending writes has ended before write \(number)")
      }
      if case .clearing(let run) = answer { cleared(run) }
    }
  }

  private func answered(_ id: RequestID, _ documents: [Document]) {
    guard let read = reads[id], read.answer == nil else { return fail("read \(id.rawValue) was answered twice") }
    reads[id]?.answer = documents
    if !read.results.isEmpty { check(id, documents) }
  }

  private func check(_ id: RequestID, _ documents: [Document]) {
    guard let read = reads.removeValue(forKey: id) else { return }
    let differences = read.results.map { world.difference(documents, $0, "the answer to \(read.query.canonicalID)") }
    if differences.allSatisfy({ $0 != nil }), let last = differences.last ?? nil { fail(last) }
  }

  func failed(_ id: RequestID, _ error: StatusError) {
    // A change of the user ends the wait for the former one's writes.
    let isRefused = [.cancelled, .notFound, .failedPrecondition].contains(error.code)
    if !hasFailed, !isRefused { fail("request \(id.rawValue) failed: \(error)") }
    if openWaits.remove(id) == nil, reads.removeValue(forKey: id) == nil { fail("request \(id.rawValue) ended twice") }
  }

  /// Runs one of the queries in the background to its end, which the engine hears of.
  func endBackgroundQuery() {
    guard let index = backgroundQueries.indices.randomElement(using: &world.generator) else { return }
    driver.runBackgroundQuery(at: index, isReversed: true)
  }

  // MARK: - Ends

  /// A listener ends when the backend refuses its target, or when the cache cannot be read.
  func ended(_ id: ListenerID, _ error: StatusError) {
    guard let listener = listeners.removeValue(forKey: id) else {
      return fail("listener \(id.rawValue) was not added or has ended")
    }
    if error.code == .permissionDenied {
      if world.rejectedTargets[listener.query.target] == nil {
        fail("listener \(id.rawValue) was refused, and the backend did not refuse \(listener.query.canonicalID)")
      }
    } else if !hasFailed, !(listener.options.waitForSyncWhenOnline && error.code == .unavailable) {
      // Only a read that is made once does not wait until the client has rejoined.
      fail("listener \(id.rawValue) ended: \(error)")
    }
  }

  // MARK: - Targets that the backend refuses

  /// The backend refuses one of the targets that it is asked for, once.
  func rejectTarget() {
    guard watchStream != nil, let (id, target) = watch.targetsOfListeners.randomElement(using: &world.generator) else {
      return
    }
    world.note("backend: refuses target \(id)")
    world.rejectedTargets[target] = world.nextNumber()
    watch.reject(id, StatusError(code: .permissionDenied, message: "the rules forbid it"))
  }

  // MARK: - Bundles and indexes

  func loadBundle() {
    let id = RequestID(rawValue: world.nextNumber())
    openWaits.insert(id)
    let version = world.backend.now - Int64.random(in: 0...3, using: &world.generator)
    let bytes = SimulatedBundle.bytes(of: world.backend, at: version)
    post(.bundleBytes(id, bytes))
    if openWaits.contains(id) { post(.bundleEnded(id, nil)) }
  }
}
