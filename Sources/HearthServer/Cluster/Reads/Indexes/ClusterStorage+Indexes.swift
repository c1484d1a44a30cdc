#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthStore
  internal import Logging
  internal import Synchronization

  /// Indexes are created on demand, as in the embedded storage: a query whose scan costs much more than its result asks for one.
  extension ClusterStorage {
    private var now: IndexDemand.Time { engine.clock.node.now().microseconds }

    /// The time after which indexes that could not be made may be asked for again.
    private static let retryTime: IndexDemand.Time = 60_000_000

    /// Runs `body` on a session for commits. What fails is logged: queries are answered all the same, by a scan.
    ///
    /// - Returns: nil if it has failed, or if the database does not exist.
    private func changing<Result: Sendable>(
      _ what: Logger.Message, _ body: @escaping @Sendable (ClusterIndexFilling, PostgresSession) throws -> Result
    ) async -> Result? {
      guard !state.withLock({ $0.isClosed }) else { return nil }
      do {
        return try await engine.repeating(on: engine.commits) { [self] session -> Result? in
          let number = try knownNow(on: session).number
          guard number != ClusterSchema.emptyDatabase else { return nil }
          return try body(ClusterIndexFilling(reader: reader(number), node: engine.node), session)
        }
      } catch {
        logger.error(what, metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
        return nil
      }
    }

    // MARK: - Automatic indexes

    /// Asks for indexes. Returns at once.
    func wish(for definitions: [IndexDefinition]) {
      guard !definitions.isEmpty else { return }
      let now = now
      let new = indexes.demand.withLock { $0.wish(definitions, at: now) }
      guard !new.isEmpty else { return }
      Task { await self.addAutomatic(new) }
    }

    private func addAutomatic(_ wishes: [IndexDefinition]) async {
      let now = now
      // Unless this comes to its end.
      var full = Dictionary(wishes.map { ($0.collectionGroup, now + Self.retryTime) }) { first, _ in first }
      let result = await changing("indexes cannot be changed") { [self] filling, session in
        let plan = Mutex<AutomaticIndexPlan?>(nil)
        let isChanged = try filling.changeDefinitions(on: session, at: now) { definitions in
          let (present, automatic) = known(definitions)
          let made = AutomaticIndexPlan(for: wishes, beside: present, automatic, now: now)
          plan.withLock { $0 = made }
          return made.change(of: definitions)
        }
        return (isChanged, plan.withLock { $0?.full } ?? [:])
      }
      if let (isChanged, planned) = result {
        full = planned
        if isChanged { continueFilling() }
      }
      indexes.demand.withLock { $0.answer(wishes, full: full) }
    }

    /// All indexes, and the automatic ones with their latest uses.
    private func known(_ definitions: ClusterDefinitions) -> (all: Set<IndexDefinition>, automatic: [AutomaticIndex]) {
      let all = Set(definitions.active.map(\.definition))
      let automatic = indexes.demand.withLock { demand in
        demand.keepUses(of: all)
        return definitions.active.filter { $0.stored.origin == .automatic }.map { index in
          AutomaticIndex(
            definition: index.definition,
            latestUse: max(index.latestUse, demand.latestUse(of: index.definition) ?? 0))
        }
      }
      return (all, automatic)
    }

    /// Keeps which indexes a query has used. Nothing is written.
    func noteUse(by execution: QueryExecution?) {
      guard let execution, execution.plan == .index else { return }
      let now = now
      indexes.demand.withLock { demand in
        for case .index(let definition, _, _) in execution.accesses { demand.use(definition, at: now) }
        for definition in execution.mergedIndexes { demand.use(definition, at: now) }
      }
    }

    /// Saves when indexes were used, drops automatic ones that no node uses, and goes on with a filling whose node is gone.
    func tendIndexes() async {
      let now = now
      continueFilling()
      await declareAgain()
      guard let opening = indexes.upkeep.withLock({ $0.begin(at: now) }) else { return }
      let uses = indexes.demand.withLock { $0.takeUnsaved() }
      _ = await changing("indexes cannot be tended") { [self] filling, session in
        _ = try filling.changeDefinitions(on: session, at: now) { definitions in
          let (_, automatic) = known(definitions)
          return AutomaticIndexPlan(dropping: automatic, openedAt: opening, now: now).change(of: definitions)
        }
        try filling.save(uses, on: session)
      }
    }

    // MARK: - Declared indexes

    func declare(_ definitions: [IndexDefinition]) async {
      await declare(ClusterIndexFile(definitions: definitions, readTime: await engine.readTime()))
    }

    func declare(_ file: ClusterIndexFile) async {
      state.withLock { state in
        if state.indexFile.map({ $0.readTime <= file.readTime }) ?? true { state.indexFile = file }
      }
      let outcome = await changing("indexes cannot be declared") { [engine] filling, session in
        try filling.declare(file, by: engine.location.nodeName, on: session)
      }
      guard let outcome else { return }
      switch outcome {
      case .same: break
      case .changed: continueFilling()
      case .replaced(let other):
        continueFilling()
        logger.warning(
          "the indexes of this node's index file replace those of another node's; give all nodes the same file of --indexes",
          metadata: ["database": .escaped(databaseID), "other-node": .escaped(other.nodeName)])
      case .outdated(let other):
        let isNew = state.withLock { state in
          defer { state.reportedFile = other }
          return state.reportedFile != other
        }
        guard isNew else { return }
        logger.error(
          "the indexes of this node's index file do not count, because another node has read a different one later; give all nodes the same file of --indexes",
          metadata: ["database": .escaped(databaseID), "other-node": .escaped(other.nodeName)])
      }
    }

    /// Declares the indexes of this node's file, where a database has others: it was created or restored, or another node has another file.
    func declareAgain() async {
      guard let file = state.withLock({ $0.indexFile }) else { return }
      let isDeclared = await changing("indexes cannot be looked at") { try $0.isDeclared(file, on: $1) }
      if isDeclared == false { await declare(file) }
    }

    // MARK: - Filling

    /// Fills indexes in the background until all hold everything, with a pause as long as each step, so that commits have half of the time.
    func continueFilling() {
      guard !indexes.isFilling.exchange(true, ordering: .relaxed) else { return }
      Task {
        defer { self.indexes.isFilling.store(false, ordering: .relaxed) }
        let clock = ContinuousClock()
        var hasMore = true
        while hasMore {
          let start = clock.now
          hasMore = await self.changing("indexes cannot be filled") { try $0.step(on: $1) } ?? false
          if hasMore { try? await Task.sleep(for: clock.now - start) }
        }
      }
    }
  }

  extension AutomaticIndexPlan {
    /// The change of the definitions.
    fileprivate func change(of definitions: ClusterDefinitions) -> ClusterIndexFilling.Change {
      let unwanted = Set(dropped)
      return ClusterIndexFilling.Change(
        added: added.map { ($0, .automatic) },
        dropped: definitions.active.filter { $0.stored.origin == .automatic && unwanted.contains($0.definition) }
          .map(\.number))
    }
  }
#endif
