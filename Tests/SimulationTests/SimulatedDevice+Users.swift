import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SimulatedDevice {
  // MARK: - Listeners

  func listen(to query: Query, _ options: ListenOptions) {
    let id = ListenerID(rawValue: world.nextNumber())
    listeners[id] = SimulatedListener(query: query, options: options)
    post(.listen(id, query, options))
  }

  func unlisten() {
    let ids = listeners.keys.sorted { $0.rawValue < $1.rawValue }
    guard let id = ids.randomElement(using: &world.generator) else { return }
    listeners[id] = nil
    post(.unlisten(id))
  }

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) {
    if listeners[id] == nil { return fail("listener \(id) was not added or has ended") }
    if let problem = listeners[id]?.take(snapshot) { fail("listener \(id): \(problem)") }
    checkCompleteness(of: snapshot)
  }

  func ended(_ id: ListenerID, _ error: StatusError) {
    guard let listener = listeners.removeValue(forKey: id), [.dataLoss, .internal].contains(error.code) else { return }
    listenersToRepeat.append((listener.query, listener.options))
  }

  /// The application adds the listeners again that a damaged cache or an answer that makes no sense has ended.
  func repeatListeners() {
    guard world.backend.poisoned.isEmpty else { return }
    let ended = listenersToRepeat
    listenersToRepeat = []
    for listener in ended { listen(to: listener.query, listener.options) }
  }

  // MARK: - Writes

  /// Makes writes that wait together, as those of calls in a row do.
  func write(_ batches: [[Mutation]]) {
    let writes = batches.map { mutations in
      let number = world.nextNumber()
      let identity = identities.next()
      world.ledger.wrote(number, mutations, identity, by: user)
      if hasDamagedUsers { world.ledger.mayBeLost(number) }
      return LocalWrite(
        id: WriteID(rawValue: number), mutations: mutations, localWriteTime: Self.mark(of: user, number),
        identity: identity)
    }
    post(.writes(writes))
  }

  /// The local write time that tells whose write a batch is, and which.
  private static func mark(of user: String?, _ number: Int) -> Timestamp {
    Timestamp(seconds: seconds(of: user), nanoseconds: Int32(number))
  }

  static func seconds(of user: String?) -> Int64 { Int64(user?.utf8.first ?? 1) }

  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    guard wasOpen else { return fail("write \(id) was completed twice") }
    let isRefused = if case .writes(let writes) = driver.event { writes.contains { $0.id == id } } else { false }
    world.ledger.completed(id.rawValue, error, isRefused: isRefused)
  }

  func waitForPendingWrites() {
    let id = RequestID(rawValue: world.nextNumber())
    openWaits.insert(id)
    post(.request(id, .waitForPendingWrites))
  }

  func changeUser(to user: String?) {
    self.user = user
    watchAttempts.mayBeginAtOnce()
    post(.changeUser(user))
  }

  // MARK: - Reading the cache

  func checkCacheRead(_ query: Query, _ key: DocumentKey) throws {
    if world.history.isDamaged { return checkOwnWrite(of: key) }
    guard world.history.isExact else { return }
    readCache(query, expecting: reference.run(query, try store.pendingBatches()))
  }

  /// Runs a query on the cache, whose answer must hold these documents whenever it comes.
  private func readCache(_ query: Query, expecting documents: [Document]) {
    let id = RequestID(rawValue: world.nextNumber())
    expectedAnswers[id] = (query, documents)
    post(.request(id, .readQuery(query)))
    if world.history.kind != .background, expectedAnswers[id] != nil { fail("the cache did not answer \(query)") }
  }

  func answered(_ id: RequestID, _ snapshot: ViewSnapshot) {
    guard let expected = expectedAnswers.removeValue(forKey: id) else {
      return fail("request \(id.rawValue) was not made or has been answered")
    }
    checkCompleteness(of: snapshot)
    do {
      try compare(
        Array(snapshot.documents), expected.documents, "the cache's answer to \(expected.query.canonicalID)")
    } catch {
      fail("\(error)")
    }
  }

  /// Runs one of the queries in the background to its end, which the engine hears of.
  func endBackgroundQuery() {
    guard let index = backgroundQueries.indices.randomElement(using: &world.generator) else { return }
    driver.runBackgroundQuery(at: index, isReversed: true)
  }

  func collectGarbage() {
    _ = try? engine.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0, percentile: 100))
  }
}

extension MutationBatch {
  /// Which write of the simulation it is.
  var number: Int { Int(localWriteTime.nanoseconds) }
}
