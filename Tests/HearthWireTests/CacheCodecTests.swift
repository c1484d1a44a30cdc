import HearthModel
import HearthWire
import Testing

@Suite("Durable forms")
struct CacheCodecTests {
  private func batch(_ generator: inout Generator) -> MutationBatch {
    var guards: [DocumentKey: Precondition]? = generator.pick([nil, [:]])
    for mutation in generator.list(upTo: 2, { $0.mutation() }) { guards?[mutation.key] = mutation.precondition }
    return MutationBatch(
      batchID: generator.pick([unknownBatchID, 0, 1, .max]),
      identity: generator.pick([nil, BatchIdentity(high: .max, low: 0), .random(using: &generator)]),
      localWriteTime: generator.timestamp(),
      baseMutations: generator.list(upTo: 2) { $0.mutation() },
      mutations: generator.list(upTo: 4) { $0.mutation() }, guards: guards, views: views(&generator))
  }

  private func views(_ generator: inout Generator) -> [DocumentKey: AuthorView] {
    var views: [DocumentKey: AuthorView] = [:]
    for mutation in generator.list(upTo: 2, { $0.mutation() }) {
      let fields = EncodedFields(MapValue(["n": generator.value()]))
      func document() -> Document? {
        generator.pick([
          nil, .unknown(mutation.key), .missing(mutation.key, version: .none),
          .found(mutation.key, version: .none, fields: fields),
        ])
      }
      views[mutation.key] = AuthorView(
        document(), shown: document(),
        remoteVersion: generator.pick([nil, .some(.none), SnapshotVersion(generator.timestamp())]),
        isApart: generator.pick([true, false]))
    }
    return views
  }

  @Test("every batch comes back as it was")
  func batches() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<500 {
      let batch = batch(&generator)
      let decoded = try CacheCodec.decodeBatch(CacheCodec.encode(batch: batch, database: database), database: database)
      #expect(decoded == batch, "seed \(Generator.seed)")
    }
  }

  @Test("every resolved conflict comes back as it was")
  func conflicts() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<500 {
      let (key, copy) = (generator.mutation().key, generator.mutation().key)
      let fields = generator.list(upTo: 3) { generator in
        ConflictReport.Field(
          path: generator.fieldPath(), base: generator.pick([nil, generator.value()]),
          local: generator.pick([nil, generator.value()]), remote: generator.pick([nil, generator.value()]),
          kept: generator.pick([nil, .local, .remote]))
      }
      let conflict = KeptConflict(
        id: KeptConflict.ID(identity: BatchIdentity(high: 1, low: 2), number: 3),
        batchID: generator.pick([unknownBatchID, 0, 1, .max]), resolvedAt: generator.timestamp(),
        report: ConflictReport(
          key: key, ending: generator.pick([.merged, .local, .remote, .both(copy: copy)]),
          isDeletedLocally: generator.pick([true, false]), isDeletedRemotely: generator.pick([true, false]),
          fields: fields))
      let bytes = CacheCodec.encode(conflict: conflict, database: database)
      #expect(
        try CacheCodec.decodeConflict(bytes, id: conflict.id, database: database) == conflict,
        "seed \(Generator.seed)")
    }
  }

  @Test("a conflict that lacks a part, or is of another database, is refused")
  func brokenConflicts() throws {
    let id = KeptConflict.ID(identity: BatchIdentity(high: 1, low: 2), number: 0)
    #expect(throws: WireError.self) { try CacheCodec.decodeConflict([], id: id, database: database) }
    let conflict = KeptConflict(
      id: id, batchID: 1, resolvedAt: Timestamp(seconds: 1, nanoseconds: 0),
      report: ConflictReport(key: try DocumentKey(ResourcePath(["a", "b"])), ending: .merged))
    let bytes = CacheCodec.encode(conflict: conflict, database: database)
    #expect(throws: WireError.self) {
      try CacheCodec.decodeConflict(bytes, id: id, database: DatabaseID(projectID: "another"))
    }
  }

  @Test("an identity of another length is refused")
  func identityOfAnotherLength() throws {
    let batch = MutationBatch(
      batchID: 1, identity: BatchIdentity(high: 1, low: 2), localWriteTime: Timestamp(seconds: 0, nanoseconds: 0),
      mutations: [])
    var bytes = CacheCodec.encode(batch: batch, database: database)
    // Two bytes of the batch id, then the field's tag and length.
    #expect(bytes[3] == 16)
    bytes[3] = 15
    bytes.remove(at: 4)
    let error = try wireError { _ = try CacheCodec.decodeBatch(bytes, database: database) }
    #expect(error.message.contains("16 bytes"), "\(error)")
  }

  @Test("every mutation and every target comes back as it was")
  func mutationsAndTargets() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<1000 {
      let mutation = generator.mutation()
      let mutationBytes = CacheCodec.encode(mutation: mutation, database: database)
      #expect(try CacheCodec.decodeMutation(mutationBytes, database: database) == mutation, "seed \(Generator.seed)")
      for expected in [mutation.key, generator.mutation().key] {
        let decoded = try mutationBytes.withUnsafeBytes {
          try CacheCodec.decodeMutation($0, expecting: expected, database: database)
        }
        #expect(decoded == mutation, "seed \(Generator.seed), expecting \(expected)")
      }
      var target = generator.target()
      target.limit = generator.pick([nil, 0, 1, .max])
      let targetBytes = CacheCodec.encode(target: target, database: database)
      let decoded = try CacheCodec.decodeTarget(targetBytes, database: database)
      #expect(decoded == target, "seed \(Generator.seed)")
      #expect(decoded.canonicalID == target.canonicalID, "seed \(Generator.seed)")
    }
  }

  @Test("a filter that is one `and` stays one filter")
  func nestedConjunction() throws {
    let member = Filter.field(FieldFilter(path: try FieldPath(["a"]), op: .equal, value: .integer(1)))
    let target = Target(
      path: ResourcePath(["c"]), filters: [.composite(CompositeFilter(op: .and, filters: [member, member]))])
    #expect(
      try CacheCodec.decodeTarget(CacheCodec.encode(target: target, database: database), database: database) == target)
  }

  @Test("map keys that Swift holds for equal, and deep values, are not lost")
  func exactness() throws {
    var deep = Value.integer(1)
    for _ in 0..<90 {
      deep = .map(["a": deep])
    }
    let keys = Value.map(MapValue(entries: [("\u{e9}", .integer(1)), ("e\u{301}", .integer(2))]))
    let path = try FieldPath(["a"])
    for value in [deep, keys] {
      let mutation = Mutation.set(
        try DocumentKey(parsing: "c/d"), [:],
        transforms: [FieldTransform(path: path, operation: .arrayUnion([value]))])
      let bytes = CacheCodec.encode(mutation: mutation, database: database)
      let decoded = try CacheCodec.decodeMutation(bytes, database: database)
      #expect(decoded == mutation)
      guard case .arrayUnion(let elements)? = decoded.transforms.first?.operation else {
        Issue.record("the transform is missing")
        return
      }
      #expect(elements.map { $0.encoded() } == [value.encoded()])
    }
  }

  @Test("a local server timestamp in an overlay keeps its time and previous value")
  func pendingServerTimestamp() throws {
    let mutation = Mutation.set(
      try DocumentKey(parsing: "c/d"),
      [
        "t": .pendingServerTimestamp(
          localWriteTime: Timestamp(seconds: 3, nanoseconds: 4), previousValue: .string("before"))
      ])
    let bytes = CacheCodec.encode(mutation: mutation, database: database)
    #expect(try CacheCodec.decodeMutation(bytes, database: database) == mutation)
  }

  @Test("records of another database are noticed")
  func otherDatabase() throws {
    let other = DatabaseID(projectID: "other")
    let key = try DocumentKey(parsing: "c/d")
    let batch = MutationBatch(
      batchID: 1, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0), mutations: [.delete(key)])
    let batchBytes = CacheCodec.encode(batch: batch, database: other)
    #expect(
      try wireError { _ = try CacheCodec.decodeBatch(batchBytes, database: database) }.field
        == "stored batch.mutations[0]")
    let targetBytes = CacheCodec.encode(target: Query(path: ResourcePath(["c"])).target, database: other)
    #expect(
      try wireError { _ = try CacheCodec.decodeTarget(targetBytes, database: database) }.message.contains("other"))
  }

  @Test("damaged records give an error or another record, never a crash")
  func damage() throws {
    var generator = Generator(seed: Generator.seed)
    for round in 0..<6000 {
      var bytes =
        round.isMultiple(of: 2)
        ? CacheCodec.encode(batch: batch(&generator), database: database)
        : CacheCodec.encode(target: generator.target(), database: database)
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if generator.bool() {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      _ = try? CacheCodec.decodeBatch(bytes, database: database)
      _ = try? CacheCodec.decodeTarget(bytes, database: database)
      _ = try? CacheCodec.decodeMutation(bytes, database: database)
    }
    #expect(try wireError { _ = try CacheCodec.decodeMutation([], database: database) }.field == "stored mutation")
    #expect(try wireError { _ = try CacheCodec.decodeTarget([], database: database) }.field == "stored target")
    #expect(
      try wireError { _ = try CacheCodec.decodeBatch([0xff], database: database) }.field == "stored batch")
  }

  @Test("filters nested without end are refused")
  func deepFilters() throws {
    var filter = Filter.field(FieldFilter(path: try FieldPath(["a"]), op: .equal, value: .null))
    for _ in 0..<150 {
      filter = .composite(CompositeFilter(op: .or, filters: [filter]))
    }
    let bytes = CacheCodec.encode(target: Target(path: ResourcePath(["c"]), filters: [filter]), database: database)
    #expect(
      try wireError { _ = try CacheCodec.decodeTarget(bytes, database: database) }.message.contains("nested"))
  }
}
