internal import BenchmarkKit
internal import HearthCache
internal import HearthModel
internal import HearthStore

/// Local indexes: one on the field of the equality, one on the field of the range.
enum IndexBenchmarks {
  static let all = [
    Benchmark(
      "index.equality", group: "Indexes", title: "equality, indexed, 10 hits",
      goals: [100_000: .init(processorTime: 0.0005)], official: [10_000: 0.0022, 100_000: 0.0053],
      body: { try run($0, SampleDocuments.equality(), hits: 10) }),
    Benchmark(
      "index.range", group: "Indexes", title: "range + order + limit 25, indexed",
      goals: [100_000: .init(processorTime: 0.001)], official: [10_000: 0.0034, 100_000: 0.0093],
      body: { try run($0, SampleDocuments($0.size).range(), hits: 25) }),
    Benchmark(
      "index.or", group: "Indexes", title: "or of an equality and a range, two indexes merged, 35 hits",
      body: { try run($0, or($0.size), hits: 35) }),
    Benchmark(
      "index.fill", group: "Indexes", title: "fill two indexes, per document", unit: .item,
      goals: [100_000: .init(processorTime: 1 / 100_000.0)], official: [10_000: 130.5e-6, 100_000: 205.3e-6],
      body: fill),
    Benchmark(
      "index.disk", group: "Indexes", title: "size of the file with two indexes",
      goals: [100_000: .init(diskBytes: 100_000_000)], body: disk),
    Benchmark(
      "index.change", group: "Indexes", title: "snapshot of 1,000 changed documents, both indexes follow", body: change),
  ]

  static func definitions() throws -> [IndexDefinition] {
    try ["group", "rank"].map {
      try IndexDefinition(
        collectionGroup: SampleDocuments.collection.last ?? "",
        fields: [.init(path: try SampleDocuments.field($0), kind: .ascending)])
    }
  }

  private static func or(_ size: Int) throws -> Query {
    let rank = try SampleDocuments.field("rank")
    let range: [Filter] = [
      .field(rank, .greaterThanOrEqual, .integer(Int64(size / 2))),
      .field(rank, .lessThan, .integer(Int64(size / 2 + 25))),
    ]
    // No document of the group is in the range.
    let group = (0..<SampleDocuments(size).groupCount).first { group in
      stride(from: group, to: size, by: SampleDocuments(size).groupCount).allSatisfy {
        !(size / 2..<size / 2 + 25).contains(SampleDocuments(size).rank($0))
      }
    }
    return SampleDocuments.everything.with(
      filter: .or([
        .field(try SampleDocuments.field("group"), .equal, .integer(Int64(group ?? 0))), .and(range),
      ]))
  }

  private static func openIndexedCache(_ session: Session) throws -> Cache {
    let cache = try session.openCopyOfCache()
    try cache.store.setIndexes(definitions())
    while try cache.store.advanceIndexFill() {}
    try cache.compactLog()
    return cache
  }

  private static func run(_ session: Session, _ query: Query, hits: Int) throws {
    let client = Client(try openIndexedCache(session))
    try session.measure {
      let count = client.read(query)
      guard count == hits else { throw WrongResult(count: count, expected: hits) }
    }
    client.close()
    let samples = SampleDocuments(session.size)
    try session.floor(
      "read as many rows by id", setUp: { try session.openCopyOfRaw() },
      run: { raw in for index in 0..<hits { _ = try raw.read(id: samples.id(index)) } })
  }

  private static func fill(_ session: Session) throws {
    try session.measure(
      items: session.size, setUp: { try session.openCopyOfCache() },
      run: { cache, _ in
        try cache.store.setIndexes(definitions())
        while try cache.store.advanceIndexFill() {}
      },
      tearDown: { cache in
        let rows = try cache.store.indexes.listings().map(\.rowCount)
        guard rows == [Int64(session.size), Int64(session.size)] else {
          throw WrongResult(count: Int(rows.first ?? -1), expected: session.size)
        }
        cache.close()
      })
    let samples = SampleDocuments(session.size)
    try session.floor(
      "two bare CREATE INDEX on columns that hold the same values", items: session.size,
      setUp: { try session.openEmptyRaw().withValues(samples) }, run: { try $0.indexValues() })
  }

  private static func disk(_ session: Session) throws {
    let cache = try openIndexedCache(session)
    session.noteDisk(bytes: try cache.fileSizeBytes)
    cache.close()
  }

  private static func change(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let count = min(1_000, session.size)
    let cache = try openIndexedCache(session)
    let target = try cache.store.allocateTarget(SampleDocuments.everything.target).targetID
    var revision = 0
    try session.measure(
      setUp: {
        revision += 1
        // A document that takes the contents of another one has other values in both fields.
        return try (0..<count).map { index in
          var document = try samples.document(index, revision: revision)
          document = .found(
            document.key, version: document.version, createTime: document.createTime,
            fields: samples.fields((index + revision) % session.size, revision: revision))
          return document
        }
      },
      run: { documents, _ in
        _ = try cache.store.apply(.adding(documents, to: target, isCurrent: true))
      })
    cache.close()
  }
}

extension RawDatabase {
  /// A table with the values that the indexes are on.
  fileprivate func withValues(_ samples: SampleDocuments) throws -> RawDatabase {
    try execute("CREATE TABLE field_values (id TEXT NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL)")
    try execute("BEGIN")
    for index in 0..<samples.count {
      try execute(
        "INSERT INTO field_values VALUES ('\(samples.id(index))', \(index % samples.groupCount), \(samples.rank(index)))"
      )
    }
    try execute("COMMIT")
    return self
  }

  fileprivate func indexValues() throws {
    try execute("CREATE INDEX field_values_by_first ON field_values (first, id)")
    try execute("CREATE INDEX field_values_by_second ON field_values (second, id)")
  }
}
