internal import BenchmarkKit
internal import HearthCache
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// Snapshots of the backend applied to the cache, without views.
enum ApplyBenchmarks {
  static let all = [
    Benchmark(
      "apply.documents", group: "From the backend",
      title: "apply documents, 1,000 a snapshot, decoding included", unit: .item,
      goals: [100_000: .init(processorTime: 1 / 60_000.0)],
      official: [10_000: 95.4e-6, 100_000: 114.9e-6], body: applyDocuments),
    Benchmark(
      "apply.decode", group: "From the backend", title: "decode the same from the wire alone", unit: .item,
      official: [10_000: 19.6e-6, 100_000: 21.2e-6], body: decode),
    Benchmark(
      "apply.disk", group: "From the backend", title: "size of the file, one target with all documents",
      goals: [100_000: .init(diskBytes: 65_000_000)], body: disk),
  ]

  private static func applyDocuments(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let batches = stride(from: 0, to: session.size, by: 1_000).map { $0..<min($0 + 1_000, session.size) }
    try session.measure(
      items: session.size,
      setUp: {
        let cache = try session.openEmptyCache()
        return (cache, try cache.store.allocateTarget(SampleDocuments.everything.target).targetID)
      },
      run: { (state: (cache: Cache, target: TargetID), stopwatch) in
        for batch in batches {
          let messages = try stopwatch.excluding {
            try batch.map { try samples.watchMessage($0, target: state.target) }
          }
          let documents = try decodeDocuments(messages)
          _ = try state.cache.store.apply(.adding(documents, to: state.target, isCurrent: true))
        }
      },
      tearDown: { $0.cache.close() })
    try session.floor(
      "insert the same ids and fields into one table with an index by id", items: session.size,
      setUp: { () -> (RawDatabase, [(String, [UInt8])]) in
        (try session.openEmptyRaw(), (0..<session.size).map { (samples.id($0), samples.fields($0).bytes) })
      },
      run: { raw, rows in
        for batch in batches {
          try raw.execute("BEGIN")
          for index in batch { try raw.insert(id: rows[index].0, fields: rows[index].1) }
          try raw.execute("COMMIT")
        }
      })
  }

  private static func decode(_ session: Session) throws {
    let samples = SampleDocuments(min(session.size, 10_000))
    let messages = try (0..<samples.count).map { try samples.watchMessage($0, target: 2) }
    try session.measure(items: samples.count) { _ = try decodeDocuments(messages) }
  }

  private static func disk(_ session: Session) throws {
    let cache = try session.openCopyOfCache()
    session.noteDisk(bytes: try cache.fileSizeBytes)
    cache.close()
  }

  static func decodeDocuments(_ messages: [[UInt8]]) throws -> [Document] {
    let translator = WireTranslator(database: SampleDocuments.database)
    var documents: [Document] = []
    documents.reserveCapacity(messages.count)
    for bytes in messages {
      let message = try Google_Firestore_V1_ListenResponse(serializedBytes: bytes)
      if case .documentChange(let change) = try translator.decode(message), let document = change.document {
        documents.append(document)
      }
    }
    return documents
  }
}
