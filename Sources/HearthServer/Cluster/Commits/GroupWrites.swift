#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthWire

  /// The writes of a group of commits, as calls of one pipeline that ends the transaction.
  struct GroupWrites {
    /// A collection that is changed.
    struct Collection: Sendable, Hashable {
      var number: Int64
      var path: ResourcePath
    }

    /// The answer to a labelled request.
    struct Response {
      var label: RequestLabel
      var version: SnapshotVersion
      var bytes: [UInt8]
    }

    var database: Int64
    var newCollections: [Collection] = []
    /// The number of documents that each collection grows by.
    private var growth: [Collection: Int64] = [:]
    var responses: [Response] = []
    var transactions: [EndedTransaction] = []
    /// The transactions that are ended because they are in the way of the group's commits.
    private(set) var stopped = WoundWait.Ended()
    /// The changes of documents that are as they were before the group: their former contents are copied by the server.
    private var firstChanges = Changes()
    /// Later changes of the same documents, with their former contents.
    private var laterChanges = Changes()
    private var stored = Documents()
    private var deleted = Names()
    private var removedEntries: [ClusterEntry] = []
    private var addedEntries: [ClusterEntry] = []
    /// About the bytes that the history grows by.
    private(set) var historyBytes: Int64 = 0

    private struct Names {
      var collections: [Int64] = []
      var ids: [[UInt8]] = []
    }

    private struct Changes {
      var names = Names()
      var versions: [Int64] = []
      var areDeletes: [Bool] = []
      var oldVersions: [Int64] = []
      var oldCreateTimes: [Int64] = []
      var oldFields: [[UInt8]?] = []
    }

    private struct Documents {
      var names = Names()
      var versions: [Int64] = []
      var createTimes: [Int64] = []
      var fields: [[UInt8]] = []
    }

    init(database: Int64) {
      self.database = database
    }

    /// The bytes that each change of the history counts in addition to its contents and its id.
    private static let bytesPerChange = 64

    // MARK: - Contents

    /// The answer to a request of the group with a label.
    func response(to label: RequestLabel) -> [UInt8]? { responses.first { $0.label == label }?.bytes }

    /// Adds transactions that a commit of the group ends.
    mutating func stop(_ ended: WoundWait.Ended) {
      stopped.wounded.formUnion(ended.wounded)
      stopped.expired.formUnion(ended.expired)
    }

    /// True if transactions end that commits may wait for.
    var endsReaders: Bool {
      stopped != WoundWait.Ended() || transactions.contains { $0.isPessimistic }
    }

    /// Adds one change of a document.
    ///
    /// - Parameter isFirst: True if no earlier commit of the group has changed it.
    mutating func log(
      _ transition: DocumentTransition, at version: SnapshotVersion, in collection: Int64, isFirst: Bool
    ) {
      let (before, id) = (transition.before, ClusterNames.idBytes(transition.key.id))
      historyBytes += Int64(Self.bytesPerChange + 2 * id.count + (before.isFound ? before.fields.bytes.count : 0))
      func append(to changes: inout Changes) {
        changes.names.collections.append(collection)
        changes.names.ids.append(id)
        changes.versions.append(version.microseconds)
        changes.areDeletes.append(!transition.after.isFound)
        guard !isFirst else { return }
        changes.oldVersions.append(before.isFound ? before.version.microseconds : 0)
        changes.oldCreateTimes.append(before.isFound ? before.createTime.microseconds : 0)
        changes.oldFields.append(before.isFound ? before.fields.bytes : nil)
      }
      if isFirst { append(to: &firstChanges) } else { append(to: &laterChanges) }
    }

    /// Adds what the whole group makes of a document.
    mutating func store(_ transition: DocumentTransition, in collection: Int64, _ entries: ClusterEntryChanges) {
      let (before, after, key) = (transition.before, transition.after, transition.key)
      let id = ClusterNames.idBytes(key.id)
      if after.isFound {
        stored.names.collections.append(collection)
        stored.names.ids.append(id)
        stored.versions.append(after.version.microseconds)
        stored.createTimes.append(after.createTime.microseconds)
        stored.fields.append(after.fields.bytes)
      } else if before.isFound {
        deleted.collections.append(collection)
        deleted.ids.append(id)
      }
      if before.isFound != after.isFound {
        growth[Collection(number: collection, path: key.collectionPath), default: 0] += before.isFound ? -1 : 1
      }
      removedEntries += entries.removed
      addedEntries += entries.added
    }

    // MARK: - Calls

    /// Everything but the row of `hearth_commits` and the end of the transaction. The former contents are logged before they are overwritten.
    func calls(by translator: WireTranslator) throws -> [PostgresCall] {
      collectionCalls + changeCalls + entryCalls + documentCalls + responseCalls
        + (try transactions.flatMap { try $0.calls(by: translator) }) + TransactionReaders.stop(stopped)
    }

    private var collectionCalls: [PostgresCall] {
      var growth = growth.filter { $0.value != 0 }
      for collection in newCollections { growth[collection, default: 0] += 0 }
      guard !growth.isEmpty else { return [] }
      let sorted = growth.sorted { $0.key.number < $1.key.number }
      let paths = sorted.map(\.key.path)
      return [
        Self.growCollections.call(
          .int8(database), .int8Array(sorted.map(\.key.number)),
          .byteaArray(paths.map { Array($0.canonicalString.utf8) }), .byteaArray(paths.map(ClusterNames.pathHash)),
          .byteaArray(paths.map(ClusterNames.pathOrder)), .byteaArray(paths.map { Array(($0.last ?? "").utf8) }),
          .int8Array(sorted.map(\.value)))
      ]
    }

    private var changeCalls: [PostgresCall] {
      var calls: [PostgresCall] = []
      if !firstChanges.versions.isEmpty {
        calls.append(
          Self.logFirstChanges.call(
            .int8(database), .int8Array(firstChanges.names.collections), .byteaArray(firstChanges.names.ids),
            .int8Array(firstChanges.versions), .boolArray(firstChanges.areDeletes)))
      }
      if !laterChanges.versions.isEmpty {
        calls.append(
          Self.logLaterChanges.call(
            .int8(database), .int8Array(laterChanges.names.collections), .byteaArray(laterChanges.names.ids),
            .int8Array(laterChanges.versions), .boolArray(laterChanges.areDeletes),
            .int8Array(laterChanges.oldVersions), .int8Array(laterChanges.oldCreateTimes),
            .nullableByteaArray(laterChanges.oldFields)))
      }
      return calls
    }

    private var entryCalls: [PostgresCall] {
      var calls: [PostgresCall] = []
      if !removedEntries.isEmpty {
        calls.append(
          Self.removeEntries.call(
            .int8(database), .int4Array(removedEntries.map(\.number)), .int8Array(removedEntries.map(\.collection)),
            .byteaArray(removedEntries.map(\.key))))
      }
      if !addedEntries.isEmpty {
        calls.append(
          Self.addEntries.call(
            .int8(database), .int4Array(addedEntries.map(\.number)), .int8Array(addedEntries.map(\.collection)),
            .byteaArray(addedEntries.map(\.key)), .int8Array(addedEntries.map(\.target)),
            .byteaArray(addedEntries.map(\.id))))
      }
      return calls
    }

    private var documentCalls: [PostgresCall] {
      var calls: [PostgresCall] = []
      if !deleted.ids.isEmpty {
        calls.append(
          Self.deleteDocuments.call(.int8(database), .int8Array(deleted.collections), .byteaArray(deleted.ids)))
      }
      if !stored.versions.isEmpty {
        calls.append(
          Self.storeDocuments.call(
            .int8(database), .int8Array(stored.names.collections), .byteaArray(stored.names.ids),
            .int8Array(stored.versions), .int8Array(stored.createTimes), .byteaArray(stored.fields)))
      }
      return calls
    }

    private var responseCalls: [PostgresCall] {
      guard !responses.isEmpty else { return [] }
      return [
        Self.saveResponses.call(
          .int8(database), .byteaArray(responses.map { $0.label.label.identity.bytes }),
          .byteaArray(responses.map(\.label.digest)),
          .int8Array(responses.map { Int64(bitPattern: $0.label.client) }), .boolArray(responses.map(\.label.isOfMany)),
          .int8Array(responses.map(\.version.microseconds)), .byteaArray(responses.map(\.bytes)))
      ]
    }
  }
#endif
