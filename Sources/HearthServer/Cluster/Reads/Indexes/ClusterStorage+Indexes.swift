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
      state.withLock { $0.declared = definitions }
      let now = now
      let isChanged = await changing("indexes cannot be declared") { filling, session in
        try filling.changeDefinitions(on: session, at: now) {
          ClusterIndexFilling.declaring(definitions, beside: $0)
        }
      }
      if isChanged == true { continueFilling() }
    }

    /// Declares the indexes of this node's file in a database that has just been created.
    func declareAgain() {
      guard let declared = state.withLock({ $0.declared }) else { return }
      Task { await self.declare(declared) }
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
