internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// Single documents, and the start.
enum ReadBenchmarks {
  static let all = [
    Benchmark(
      "read.key", group: "Reads", title: "read one document by key", unit: .item,
      goals: [100_000: .init(processorTime: 15e-6)], official: [10_000: 25e-6, 100_000: 35e-6], body: readByKey),
    Benchmark(
      "read.open", group: "Reads", title: "open the cache and read one document",
      goals: [100_000: .init(processorTime: 4e-3)], official: [10_000: 30e-3, 100_000: 30e-3], body: open),
  ]

  private static func readByKey(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let indexes = (0..<1_000).map { $0 &* 6_151 % session.size }
    let keys = try indexes.map { try samples.key($0) }
    let client = Client(try session.openCopyOfCache())
    try session.measure(items: keys.count) {
      for key in keys { try client.readExisting(key) }
    }
    client.close()
    let ids = indexes.map { samples.id($0) }
    try session.floor(
      "look the same ids up and copy their fields", items: ids.count, setUp: { try session.openCopyOfRaw() },
      run: { raw in for id in ids { _ = try raw.read(id: id) } })
  }

  private static func open(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let key = try samples.key(session.size / 2)
    try session.openCopyOfCache().close()
    let folder = session.fixtures + "/cache"
    try session.measure(
      setUp: { Box<Client>() },
      run: { box, _ in
        let client = Client(try Cache(folder: folder))
        try client.readExisting(key)
        box.value = client
      },
      tearDown: { $0.value?.close() })
    let path = session.fixtures + "/raw.sqlite"
    let id = samples.id(session.size / 2)
    try session.floor(
      "open a file and look one id up", setUp: { Box<RawDatabase>() },
      run: { box in
        let raw = try RawDatabase(path: path)
        _ = try raw.read(id: id)
        box.value = raw
      })
  }
}

/// Takes something out of the measured time before it ends.
final class Box<T> {
  var value: T?
}

extension Client {
  func readExisting(_ key: DocumentKey) throws {
    for action in engine.handle(.request(RequestID(rawValue: number()), .readDocument(key)), now: .zero) {
      if case .answer(_, .document(let document)) = action, document.isFound { return }
    }
    throw WrongResult(count: 0, expected: 1)
  }
}
