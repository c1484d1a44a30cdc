#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres

  /// Changes the definitions of a database's indexes, and fills them: each in a transaction under the order row, on a session for commits.
  ///
  /// Commits write entries of all indexes that are not given up. So only documents from before the definition lack entries; the filling goes
  /// through them once, and two nodes that fill at the same time do no harm.
  struct ClusterIndexFilling: Sendable {
    let reader: ClusterReader
    /// Names the node.
    let node: Int64

    /// The limits of one step, during which no commit of the database goes on.
    struct Limits: Sendable {
      var documents = 200
      var documentBytes = 512 << 10
      /// New entries. The document that exceeds them is entered as a whole.
      var newEntries = 2_000
      /// Entries of indexes that are given up.
      var entries = 2_000
    }

    private var database: PostgresValue { .int8(reader.database) }

    // MARK: - Definitions

    /// A change of the definitions.
    struct Change: Sendable {
      var added: [(definition: IndexDefinition, origin: IndexOrigin)] = []
      /// Automatic indexes that are declared from now on.
      var declared: [Int32] = []
      var dropped: [Int32] = []
      /// The file whose indexes are the declared ones from now on.
      var file: ClusterIndexFile.Declared?

      var isEmpty: Bool { added.isEmpty && declared.isEmpty && dropped.isEmpty && file == nil }
      /// True if the indexes are others afterwards.
      var hasIndexes: Bool { !added.isEmpty || !declared.isEmpty || !dropped.isEmpty }
    }

    /// Changes definitions.
    ///
    /// - Parameter change: Says what, for the present definitions.
    /// - Returns: False if nothing has changed.
    func changeDefinitions(
      on session: PostgresSession, at time: IndexDemand.Time, _ change: (ClusterDefinitions) throws -> Change
    ) throws -> Bool {
      let order = try ClusterOrder.begin(reader.database, on: session)
      let rows = try session.run(ClusterDefinitions.statement.call(database))
      let definitions = try ClusterDefinitions(rows, generation: order.indexGeneration, state: order.indexState)
      let wanted = try change(definitions)
      guard !wanted.isEmpty else {
        _ = try session.run(.rollback)
        return false
      }
      var number = definitions.highestNumber
      var calls: [PostgresCall] = []
      for (definition, origin) in wanted.added {
        guard number < .max else { throw ClusterSnapshot.damaged("an index has the largest number that there is") }
        number += 1
        calls.append(
          IndexStatements.insert.call(
            database, .int4(number), .int2(Int16(origin.rawValue)), .bytea(Array(definition.collectionGroup.utf8)),
            .bytea(ClusterIndex.encodedFields(of: definition)), .int8(origin == .automatic ? time : 0)))
      }
      for number in wanted.declared {
        calls.append(
          IndexStatements.setOrigin.call(database, .int4(number), .int2(Int16(IndexOrigin.declared.rawValue))))
      }
      for number in wanted.dropped {
        calls.append(IndexStatements.setState.call(database, .int4(number), .int2(ClusterIndex.State.dropped)))
      }
      if let file = wanted.file {
        calls.append(
          IndexStatements.setDeclaredFile.call(
            database, .int8(file.readTime), .int8(file.node), .bytea(Array(file.nodeName.utf8))))
      }
      if wanted.hasIndexes {
        calls.append(IndexStatements.nextState.call(database, .int8(wanted.dropped.isEmpty ? 0 : 1)))
      }
      _ = try session.run(calls + [.commit])
      return true
    }

    /// Makes these the declared indexes. Those that exist keep their entries, automatic ones stay.
    static func declaring(_ wanted: [IndexDefinition], beside definitions: ClusterDefinitions) -> Change {
      var change = Change()
      let present = Dictionary(definitions.active.map { ($0.definition, $0) }) { first, _ in first }
      let declared = Set(wanted)
      for index in definitions.active where index.stored.origin == .declared && !declared.contains(index.definition) {
        change.dropped.append(index.number)
      }
      var added: Set<IndexDefinition> = []
      for definition in wanted where !definition.fields.isEmpty && added.insert(definition).inserted {
        if let index = present[definition] {
          if index.stored.origin == .automatic { change.declared.append(index.number) }
        } else {
          change.added.append((definition, .declared))
        }
      }
      return change
    }

    /// Saves when automatic indexes were used.
    func save(_ uses: [IndexDefinition: IndexDemand.Time], on session: PostgresSession) throws {
      guard !uses.isEmpty else { return }
      let rows = try session.run(ClusterDefinitions.statement.call(database))
      let calls = try ClusterDefinitions(rows, generation: 0, state: 0).active.compactMap { index in
        uses[index.definition].map { IndexStatements.setUse.call(database, .int4(index.number), .int8($0)) }
      }
      if !calls.isEmpty { _ = try session.run([.begin] + calls + [.commit]) }
    }

    // MARK: - Filling

    /// The seconds for which a node may fill alone.
    private static let leaseSeconds: Int64 = 10

    /// Does one step towards indexes that hold all documents, and removes the entries of those that are given up.
    ///
    /// - Returns: True if there may be more to do for this node.
    func step(on session: PostgresSession, _ limits: Limits = Limits()) throws -> Bool {
      let lease = try session.run(
        ClusterTask.filling.lease(of: reader.database, by: node, seconds: Self.leaseSeconds))
      guard lease.affectedCount > 0 else { return false }
      let order = try ClusterOrder.begin(reader.database, on: session)
      let definitions = try reader.indexes.definitions(
        of: reader.database, on: session, state: order.indexState, generation: order.indexGeneration)
      if let number = definitions.dropped.first {
        let bound = try session.run(
          IndexStatements.entryBound.call(database, .int4(number), .int8(Int64(limits.entries)))
        ).first
        // No key begins with a byte like that of the end.
        let (collection, key) = try bound.map { (try $0.int64(0), try $0.bytes(1)) } ?? (.max, [0xFF])
        let removed = try session.run([
          IndexStatements.removeEntries.call(database, .int4(number), .int8(collection), .bytea(key)),
          IndexStatements.remove.call(database, .int4(number)), IndexStatements.nextState.call(database, .int8(0)),
          .commit,
        ])
        return removed[1].affectedCount == 0 || definitions.hasWork(besides: number)
      }
      guard let first = definitions.active.first(where: { $0.mark != nil }) else {
        _ = try session.run(.rollback)
        return false
      }
      let unfilled = definitions.indexes(of: first.definition.collectionGroup).filter { $0.mark != nil }
      let snapshot = ClusterSnapshot(reader, session, holding: order)
      var part = try FilledPart(unfilled)
      part.isEnd = try part.read(snapshot, first.definition.collectionGroup, limits)
      _ = try session.run(
        part.calls(database) + [IndexStatements.nextState.call(database, .int8(0)), .commit])
      return true
    }
  }

  extension ClusterDefinitions {
    fileprivate func hasWork(besides number: Int32) -> Bool {
      dropped.contains { $0 != number } || active.contains { $0.mark != nil }
    }
  }

  /// The entries of some documents in indexes of one collection group that do not hold all documents yet.
  private struct FilledPart {
    private let indexes: [ClusterIndex]
    private var writers: [ClusterEntryWriter]
    private var entries: [ClusterEntry] = []
    private var last: ClusterPlace?
    private var lastPath: ResourcePath?
    /// The end of the group was reached.
    var isEnd = false

    init(_ indexes: [ClusterIndex]) throws {
      self.indexes = indexes
      writers = indexes.map(ClusterEntryWriter.init)
    }

    /// Reads documents behind the mark of the index that is filled least.
    ///
    /// - Returns: True if there are no more.
    mutating func read(
      _ snapshot: ClusterSnapshot, _ group: String, _ limits: ClusterIndexFilling.Limits
    ) throws -> Bool {
      var (documents, bytes) = (0, 0)
      let scope = ClusterScope(.group(group, under: ResourcePath()))
      let mark = indexes.compactMap(\.mark).min()
      return try scope.forEachDocument(behind: mark, firstCount: limits.documents, in: snapshot) { row in
        let place = try row.place
        let fields = try row.row.bytes(ReadStatements.Column.fields)
        try add(EncodedFields(uncheckedBytes: fields), of: row.key, at: place, in: row.path)
        documents += 1
        bytes += fields.count
        return documents < limits.documents && bytes < limits.documentBytes && entries.count < limits.newEntries
      }
    }

    private mutating func add(
      _ fields: EncodedFields, of key: DocumentKey, at place: ClusterPlace, in path: ResourcePath
    ) throws {
      last = place
      lastPath = path
      for (position, index) in indexes.enumerated() {
        for bytes in writers[position].keys(of: fields, key, collection: place.collection, id: place.id) {
          entries.append(
            ClusterEntry(
              number: index.number, collection: index.entryCollection(of: place.collection), key: bytes,
              target: place.collection, id: place.id))
        }
      }
    }

    /// The calls that add the entries and move the marks.
    func calls(_ database: PostgresValue) -> [PostgresCall] {
      var calls: [PostgresCall] = []
      if !entries.isEmpty {
        calls.append(
          IndexStatements.addEntries.call(
            database, .int4Array(entries.map(\.number)), .int8Array(entries.map(\.collection)),
            .byteaArray(entries.map(\.key)), .int8Array(entries.map(\.target)), .byteaArray(entries.map(\.id))))
      }
      guard isEnd || last != nil else { return calls }
      let (collection, id): (PostgresValue, PostgresValue) =
        isEnd ? (.null, .null) : last.map { (.int8($0.collection), .bytea($0.id)) } ?? (.null, .null)
      for index in indexes where isEnd || isBehind(index) {
        calls.append(IndexStatements.setMark.call(database, .int4(index.number), collection, id))
      }
      return calls
    }

    /// Returns whether an index is filled less far than this part.
    private func isBehind(_ index: ClusterIndex) -> Bool {
      guard let last, let lastPath, let mark = index.mark else { return false }
      return mark < ClusterIndex.Mark(pathOrder: ClusterNames.pathOrder(lastPath), place: last)
    }
  }
#endif
