import Foundation
import Testing

@testable import Hearth

@Suite("Local indexes", .timeLimit(.minutes(2)))
struct IndexTests {
  private let folder: TemporaryFolder
  private let name = UUID().uuidString

  init() throws {
    folder = try TemporaryFolder()
  }

  private static let byState = FirestoreIndex(
    collectionGroup: "cities", fields: [.init(fieldPath: "state", order: .ascending)])
  private static let byPopulation = FirestoreIndex(
    collectionGroup: "cities", fields: [.init(fieldPath: "population", order: .descending)])
  private static let json = #"""
    {"indexes": [{"collectionGroup": "cities", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "state", "order": "ASCENDING"}, {"fieldPath": "__name__", "order": "ASCENDING"}]}],
     "fieldOverrides": []}
    """#

  private func open() async throws -> Firestore {
    try await TestFirestore.offline(name: name, cache: PersistentCacheSettings(directory: folder.url))
  }

  /// A database on a file with 500 cities, ten in each state.
  private func openWithCities() async throws -> Firestore {
    let db = try await open()
    _ = try await db.loadBundle(TestBundle.cities(db, count: 500))
    return db
  }

  private func manager(_ db: Firestore) throws -> PersistentCacheIndexManager {
    try #require(db.persistentCacheIndexManager)
  }

  /// The indexes when every document of the cache has been entered.
  private func filledIndexes(_ db: Firestore) async throws -> [PersistentCacheIndex] {
    while true {
      let indexes = try await manager(db).indexes()
      if indexes.allSatisfy({ $0.fillState == .complete }) { return indexes }
      await Task.yield()
    }
  }

  private func inCalifornia(_ db: Firestore) -> Query {
    db.collection("cities").whereField("state", isEqualTo: "CA")
  }

  private func withCompletion(_ body: (@escaping ((any Error)?) -> Void) -> Void) async -> NSError? {
    await withCheckedContinuation { continuation in
      body { continuation.resume(returning: $0.map { $0 as NSError }) }
    }
  }

  /// Asynchronous code gets the asynchronous form.
  private func set(_ db: Firestore, _ json: String, _ completion: (((any Error)?) -> Void)?) {
    db.setIndexConfiguration(json, completion: completion)
  }

  private func setWithoutCompletion(_ db: Firestore, _ json: String) {
    db.setIndexConfiguration(json)
  }

  private func set(_ db: Firestore, _ stream: InputStream, _ completion: (((any Error)?) -> Void)?) {
    db.setIndexConfiguration(stream, completion: completion)
  }

  // MARK: - Configuration

  @Test("all doors lead to the same indexes")
  func doors() async throws {
    let db = try await openWithCities()
    let none = #"{"indexes": []}"#
    let doors: [(String, () async throws -> Void)] = [
      ("text", { try await db.setIndexConfiguration(Self.json) }),
      ("text and completion", { #expect(await withCompletion { set(db, Self.json, $0) } == nil) }),
      ("text alone", { setWithoutCompletion(db, Self.json) }),
      ("stream", { try await db.setIndexConfiguration(InputStream(data: Data(Self.json.utf8))) }),
      (
        "stream and completion",
        { #expect(await withCompletion { set(db, InputStream(data: Data(Self.json.utf8)), $0) } == nil) }
      ),
      ("values", { try await db.setIndexConfiguration(indexes: [Self.byState]) }),
      (
        "values as the Flutter API has them",
        {
          try await db.setIndexConfiguration(
            indexes: [Self.byState],
            fieldOverrides: [.init(collectionGroup: "cities", fieldPath: "a", indexes: [.init(order: .ascending)])])
        }
      ),
    ]
    for (door, set) in doors {
      try await db.setIndexConfiguration(none)
      #expect(try await manager(db).indexes() == [], "\(door)")
      try await set()
      let indexes = try await filledIndexes(db)
      #expect(indexes.map(\.definition) == [Self.byState], "\(door)")
      #expect(indexes.map(\.rows) == [500] && indexes.map(\.origin) == [.declared], "\(door)")
    }
  }

  @Test("an index makes the answer quick and does not change it, and the explanation says so")
  func quickAnswer() async throws {
    let db = try await openWithCities()
    let query = inCalifornia(db)
    let before = try await query.getDocuments(source: .cache).ids
    let scan = try await query.explain()
    #expect(scan.way == .scan && scan.rowsRead == 500 && scan.resultCount == 10 && scan.entriesRead == 0)
    #expect(scan.reason != nil && scan.parts.isEmpty)
    try await db.setIndexConfiguration(Self.json)
    #expect(try await query.getDocuments(source: .cache).ids == before, "while the index is being filled")
    _ = try await filledIndexes(db)
    #expect(try await query.getDocuments(source: .cache).ids == before && before.count == 10)
    let indexed = try await query.explain()
    #expect(indexed.way == .index && indexed.resultCount == 10)
    #expect(indexed.rowsRead <= 10 && indexed.entriesRead == 10)
    #expect(indexed.parts.map(\.index) == [Self.byState] && indexed.reason == nil)
  }

  @Test("a new configuration keeps the entries of the indexes that it repeats, and drops the others")
  func replacing() async throws {
    let db = try await openWithCities()
    try await db.setIndexConfiguration(indexes: [Self.byState, Self.byPopulation])
    #expect(Set(try await filledIndexes(db).map(\.definition)) == [Self.byState, Self.byPopulation])
    let tags = FirestoreIndex(collectionGroup: "cities", fields: [.init(fieldPath: "tags", arrayConfig: .contains)])
    try await db.setIndexConfiguration(indexes: [tags, Self.byState])
    let at = try await manager(db).indexes()
    #expect(Set(at.map(\.definition)) == [Self.byState, tags])
    let kept = try #require(at.first { $0.definition == Self.byState })
    #expect(kept.rows == 500 && kept.fillState == .complete, "nothing has to be entered again")
    #expect(try await filledIndexes(db).first { $0.definition == tags }?.rows == 1000, "two tags each")
  }

  @Test("definitions and entries outlive the program")
  func restart() async throws {
    let first = try await openWithCities()
    try await first.setIndexConfiguration(Self.json)
    let before = try await filledIndexes(first)
    try await first.terminate()
    let second = try await open()
    #expect(try await manager(second).indexes() == before)
    #expect(try await inCalifornia(second).explain().way == .index)
  }

  @Test("local writes are in the index at once")
  func localWrites() async throws {
    let db = try await openWithCities()
    try await db.setIndexConfiguration(Self.json)
    _ = try await filledIndexes(db)
    db.document("cities/new").setData(["state": "CA"], completion: nil)
    db.document("cities/c0").updateData(["state": "NV"], completion: nil)
    let result = try await inCalifornia(db).getDocuments(source: .cache)
    #expect(result.ids.contains("new") && !result.ids.contains("c0") && result.count == 10)
    #expect(try await inCalifornia(db).explain().way == .index)
  }

  // MARK: - Errors

  @Test(
    "an error is invalidArgument, says where, and changes nothing",
    arguments: [
      ("{indexes: []}", "Invalid Json format. Line 1, column 2"), ("", "Invalid Json format."),
      (#"{"indexes": [{"fields": []}]}"#, "indexes[0].collectionGroup"),
      (
        #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a..b"}]}]}"#,
        "indexes[0].fields[0].fieldPath is wrong (a..b)"
      ),
    ])
  func errors(_ json: String, _ problem: String) async throws {
    let db = try await openWithCities()
    try await db.setIndexConfiguration(Self.json)
    let before = try await filledIndexes(db)
    let errors = [
      await thrown { try await db.setIndexConfiguration(json) },
      await withCompletion { set(db, json, $0) },
      await thrown { try await db.setIndexConfiguration(InputStream(data: Data(json.utf8))) },
      await withCompletion { set(db, InputStream(data: Data(json.utf8)), $0) },
    ]
    for error in errors {
      #expect(error?.domain == FirestoreErrorDomain && error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      #expect(error?.localizedDescription.contains(problem) == true, "\(String(describing: error))")
    }
    #expect(try await manager(db).indexes() == before)
  }

  @Test("values that are wrong are refused with their place")
  func wrongValues() async throws {
    let db = try await open()
    try await db.setIndexConfiguration(Self.json)
    let wrong = FirestoreIndex(collectionGroup: "c", fields: [.init(fieldPath: "a"), .init(fieldPath: "`")])
    let error = await thrown { try await db.setIndexConfiguration(indexes: [Self.byState, wrong]) }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error?.localizedDescription.contains("indexes[1].fields[1].fieldPath") == true)
    #expect(try await manager(db).indexes().map(\.definition) == [Self.byState])
  }

  @Test("a stream that cannot be read is an error, and one that is too long is read no further")
  func badStreams() async throws {
    let db = try await open()
    let missing = try #require(InputStream(fileAtPath: folder.url.appendingPathComponent("none").path))
    #expect(await withCompletion { set(db, missing, $0) }?.code == FirestoreErrorCode.unknown.rawValue)
    let long = InputStream(data: Data(repeating: 0x20, count: 20 << 20))
    #expect(await withCompletion { set(db, long, $0) }?.code == FirestoreErrorCode.invalidArgument.rawValue)
  }

  @Test("a client that ends while a stream is read answers, and nothing stops the process")
  func streamOutlivesClient() async throws {
    let db = try await open()
    let gate = Gate()
    let codes = Recorder<Int?>()
    set(db, GatedStream(Data(Self.json.utf8), gate)) { error in codes.record(error.map { ($0 as NSError).code }) }
    try await gate.reached.next()
    try await db.terminate()
    gate.semaphore.signal()
    #expect(try await codes.next() == FirestoreErrorCode.cancelled.rawValue)
  }

  @Test("a cache that cannot be opened is an error of every operation")
  func noCache() async throws {
    let file = folder.url.appendingPathComponent("file")
    try Data("no folder".utf8).write(to: file)
    let db = try TestFirestore(cache: PersistentCacheSettings(directory: file)).firestore
    let manager = try manager(db)
    manager.enableIndexAutoCreation()
    manager.deleteAllIndexes()
    for error in [
      await thrown { try await db.setIndexConfiguration(Self.json) },
      await thrown { _ = try await manager.indexes() },
      await thrown { _ = try await inCalifornia(db).explain() },
    ] {
      #expect(error?.domain == FirestoreErrorDomain && error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    }
  }

  @Test("a sketch of a configuration, as documentation shows it, is no JSON and refused without a crash")
  func sample() async throws {
    let db = try await open()
    try await db.setIndexConfiguration(Self.json)
    let sketch = "{\n  indexes: [\n    ...\n  ],\n  fieldOverrides: [\n    ...\n  ]\n}"
    setWithoutCompletion(db, sketch)
    #expect(
      await withCompletion { set(db, sketch, $0) }?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(try await manager(db).indexes().map(\.definition) == [Self.byState])
  }

  // MARK: - Automatic indexes

  @Test("a query that scans at least 100 documents for less than a third of them gets its index when that is allowed")
  func automatic() async throws {
    let db = try await openWithCities()
    let query = inCalifornia(db)
    _ = try await query.getDocuments(source: .cache)
    #expect(try await manager(db).indexes() == [], "off at the start")

    try manager(db).enableIndexAutoCreation()
    _ = try await query.getDocuments(source: .cache)
    let indexes = try await filledIndexes(db)
    #expect(indexes.map(\.definition) == [Self.byState] && indexes.map(\.origin) == [.automatic])
    #expect(try await query.explain().way == .index)

    try manager(db).disableIndexAutoCreation()
    #expect(try await query.explain().way == .index, "it stays and is used")
    _ = try await db.collection("cities").whereField("population", isEqualTo: 7919).getDocuments(source: .cache)
    #expect(try await manager(db).indexes().count == 1)
  }

  @Test("a query that finds much of what it reads, and one that reads little, get no index")
  func noAutomatic() async throws {
    let db = try await open()
    _ = try await db.loadBundle(TestBundle.cities(db, count: 99))
    try manager(db).enableIndexAutoCreation()
    _ = try await inCalifornia(db).getDocuments(source: .cache)
    #expect(try await manager(db).indexes() == [], "99 documents")
    _ = try await db.loadBundle(
      TestBundle.of(db, collection: "towns", (0..<200).map { ("t\($0)", #""n":{"integerValue":"\#($0)"}"#) }))
    _ = try await db.collection("towns").whereField("n", isLessThan: 60).getDocuments(source: .cache)
    #expect(try await manager(db).indexes() == [], "60 of 200 are no less than 1 in 3.4")
    _ = try await db.collection("towns").whereField("n", isLessThan: 58).getDocuments(source: .cache)
    #expect(try await manager(db).indexes().count == 1, "58 of 200 are")
  }

  @Test("automatic creation is off again after a restart, while its indexes are still there")
  func automaticAfterRestart() async throws {
    let first = try await openWithCities()
    try manager(first).enableIndexAutoCreation()
    _ = try await inCalifornia(first).getDocuments(source: .cache)
    #expect(try await filledIndexes(first).count == 1)
    try await first.terminate()
    let second = try await open()
    _ = try await second.collection("cities").whereField("population", isEqualTo: 7919).getDocuments(source: .cache)
    #expect(try await manager(second).indexes().map(\.definition) == [Self.byState])
  }

  @Test("explaining makes no index")
  func explainingIsReading() async throws {
    let db = try await openWithCities()
    try manager(db).enableIndexAutoCreation()
    let explanation = try await inCalifornia(db).explain()
    #expect(explanation.way == .scan && explanation.missingIndexes == [Self.byState])
    #expect(try await manager(db).indexes() == [])
  }

  @Test("deleting all indexes deletes declared and automatic ones")
  func deletion() async throws {
    let db = try await openWithCities()
    try await db.setIndexConfiguration(indexes: [Self.byPopulation])
    try manager(db).enableIndexAutoCreation()
    _ = try await inCalifornia(db).getDocuments(source: .cache)
    #expect(try await filledIndexes(db).count == 2)
    try manager(db).deleteAllIndexes()
    #expect(try await manager(db).indexes() == [])
    try manager(db).disableIndexAutoCreation()
    #expect(try await inCalifornia(db).getDocuments(source: .cache).count == 10)
    #expect(try await inCalifornia(db).explain().way == .scan)
  }

  // MARK: - Manager

  @Test("a persistent cache has one manager, another database another one")
  func identity() async throws {
    let db = try await open()
    #expect(try manager(db) === manager(db) && (try manager(db)) == (try manager(db)))
    let other = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    #expect(try manager(db) != manager(other))
    try await db.terminate()
    #expect(
      message { () throws(ProgrammingError) in _ = try db.startedRuntime() }
        == "The client has already been terminated.")
  }

  @Test("asking for the manager fixes the settings")
  func managerStarts() async throws {
    let db = try TestFirestore(cache: PersistentCacheSettings(directory: folder.url)).firestore
    #expect(!db.isRunning)
    _ = try manager(db)
    #expect(db.isRunning)
  }

  @Test("a memory cache has no manager; configurations succeed and do nothing, and queries can be explained")
  func memory() async throws {
    let db = try await TestFirestore.offline()
    #expect(db.persistentCacheIndexManager == nil)
    _ = try await db.loadBundle(TestBundle.cities(db, count: 500))
    try await db.setIndexConfiguration(Self.json)
    #expect(await thrown { try await db.setIndexConfiguration("{") }?.code == 3)
    #expect(try await inCalifornia(db).explain().way == .scan)
  }
}

@Suite("Index values")
struct FirestoreIndexTests {
  @Test("have the JSON shape of index files")
  func coding() throws {
    let index = FirestoreIndex(
      collectionGroup: "cities", queryScope: .collectionGroup,
      fields: [.init(fieldPath: "a.`b c`", arrayConfig: .contains), .init(fieldPath: "d", order: .descending)])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(index), as: UTF8.self)
    #expect(
      text
        == #"{"collectionGroup":"cities","fields":[{"arrayConfig":"CONTAINS","fieldPath":"a.`b c`"},"#
        + #"{"fieldPath":"d","order":"DESCENDING"}],"queryScope":"COLLECTION_GROUP"}"#)
    #expect(try JSONDecoder().decode(FirestoreIndex.self, from: Data(text.utf8)) == index)
    #expect("\(index)" == "cities: a.`b c` CONTAINS, d DESCENDING")
    #expect(
      try JSONDecoder().decode(FirestoreIndex.self, from: Data(#"{"collectionGroup":"c"}"#.utf8))
        == FirestoreIndex(collectionGroup: "c", fields: []))
  }
}

/// Holds a stream until a test lets it go on.
private struct Gate: Sendable {
  let reached = Recorder<Void>()
  let semaphore = DispatchSemaphore(value: 0)
}

/// A stream that waits at a gate before it gives its contents.
private final class GatedStream: InputStream {
  private let gate: Gate
  private var contents: Data

  init(_ contents: Data, _ gate: Gate) {
    self.gate = gate
    self.contents = contents
    super.init(data: contents)
  }

  override func open() {}
  override func close() {}

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
    guard !contents.isEmpty else { return 0 }
    gate.reached.record(())
    gate.semaphore.wait()
    let piece = contents.prefix(maxLength)
    piece.copyBytes(to: buffer, count: piece.count)
    contents = contents.dropFirst(piece.count)
    return piece.count
  }
}
