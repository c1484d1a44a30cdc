import Foundation
import HearthModel
import Testing

@testable import Hearth

/// Every misuse that the documentation names, made through the public API: the process would stop, with this message.
@Suite("Misuse", .timeLimit(.minutes(2)))
struct MisuseTests {
  typealias Call = @Sendable (Firestore) -> Void

  /// A call, and the message with which it stops the process.
  struct Rule {
    let expected: String
    let call: Call

    init(_ expected: String, _ call: @escaping Call) {
      self.expected = expected
      self.call = call
    }
  }

  func expect(_ rules: [Rule]) async throws {
    let db = try await TestFirestore.offline()
    for rule in rules {
      let message = await Misuse.message { rule.call(db) }
      #expect(message == rule.expected)
    }
    try await db.terminate()
  }

  @Test("the message names the call, also where a function of the library makes the check")
  func calls() async throws {
    let table: [(String, Call)] = [
      ("collection(_:)", { _ = $0.collection("") }),
      ("document(_:)", { _ = $0.collection("a").document("") }),
      ("setData(_:completion:)", { $0.document("a/b").setData(["a": [[1]]], completion: nil) }),
      ("setData(_:forDocument:)", { $0.batch().setData(["a": [[1]]], forDocument: $0.document("a/b")) }),
      ("updateData(_:forDocument:)", { $0.batch().updateData(["": 1], forDocument: $0.document("a/b")) }),
      ("setData(_:)", { _ = $0.document("a/b").withReceipt.setData(["a": [[1]]]) }),
      ("limit(to:)", { _ = $0.collection("a").limit(to: 0) }),
      ("whereField(_:isEqualTo:)", { _ in _ = Filter.whereField("", isEqualTo: 1) }),
      ("getDocuments(source:completion:)", { $0.collection("a").limit(toLast: 1).getDocuments { _, _ in } }),
      ("init(seconds:nanoseconds:)", { _ in _ = Hearth.Timestamp(seconds: 0, nanoseconds: -1) }),
    ]
    let db = try await TestFirestore.offline()
    for (function, call) in table {
      let broken = await Misuse.error { call(db) }
      #expect(broken?.call?.function == function)
    }
    try await db.terminate()
  }

  @Test("paths and names")
  func paths() async throws {
    let even = "Invalid collection reference. Collection references must have an odd number of segments, but "
    let odd = "Invalid document reference. Document references must have an even number of segments, but "
    try await expect([
      Rule("Collection path cannot be empty.", { _ = $0.collection("") }),
      Rule("Document path cannot be empty.", { _ = $0.document("") }),
      Rule(even + "a/b has 2", { _ = $0.collection("a/b") }),
      Rule(even + "a/b has 2", { _ = $0.collection("/a/b/") }),
      Rule(odd + "a has 1", { _ = $0.document("a") }),
      Rule(odd + "a/b/c has 3", { _ = $0.collection("a").document("b/c") }),
      Rule("Invalid path (a//b/c). Paths must not contain // in them.", { _ = $0.collection("a//b/c") }),
      Rule("Invalid path (//a). Paths must not contain // in them.", { _ = $0.collection("//a") }),
      Rule("Invalid path (a//). Paths must not contain // in them.", { _ = $0.collection("a//") }),
      Rule("Invalid path (a//b). Paths must not contain // in them.", { _ = $0.document("a//b") }),
      Rule("Invalid path (b//c). Paths must not contain // in them.", { _ = $0.collection("a").document("b//c") }),
      Rule("Invalid path (/). Paths must not be empty.", { _ = $0.collection("/") }),
      Rule(odd + "a/b/c has 3", { _ = $0.document("a/b/c") }),
      Rule(even + "a/b/c/d has 4", { _ = $0.document("a/b").collection("c/d") }),
      Rule("Collection path cannot be empty.", { _ = $0.document("a/b").collection("") }),
      Rule("Document path cannot be empty.", { _ = $0.collection("a").document("") }),
      Rule("Collection ID cannot be empty.", { _ = $0.collectionGroup("") }),
      Rule(
        "Invalid collection ID (a/b). Collection IDs must not contain / in them.", { _ = $0.collectionGroup("a/b") }),
      Rule("Invalid field path. Provided names must not be empty.", { _ in _ = Hearth.FieldPath([]) }),
      Rule("Invalid field name at index 0. Field names must not be empty.", { _ in _ = Hearth.FieldPath([""]) }),
      Rule("Invalid field name at index 1. Field names must not be empty.", { _ in _ = Hearth.FieldPath(["a", ""]) }),
    ])
  }

  @Test(
    "field paths as strings",
    arguments: ["", ".", "a.", ".a", "a..b", "a~b", "a*b", "a/b", "a[b", "a]b"])
  func fieldPaths(path: String) async throws {
    let rule =
      path.contains(where: "~*/[]".contains)
      ? "Paths must not contain '~', '*', '/', '[', or ']'"
      : "Paths must not be empty, begin with '.', end with '.', or contain '..'"
    let message = "Invalid field path (\(path)). \(rule)"
    try await expect([
      Rule(message, { _ = $0.collection("a").whereField(path, isEqualTo: 1) }),
      Rule(message, { _ = $0.collection("a").order(by: path) }),
      Rule(message, { _ in _ = Hearth.Filter.whereField(path, isEqualTo: 1) }),
      Rule(message, { $0.document("a/b").updateData([path: 1]) }),
      Rule(message, { $0.document("a/b").setData(["x": 1], mergeFields: [path]) }),
      Rule(message, { _ in _ = AggregateField.sum(path) }),
      Rule(message, { _ in _ = AggregateField.average(path) }),
      Rule(message, { $0.batch().updateData([path: 1], forDocument: $0.document("a/b")) }),
      Rule(message, { Hearth.Transaction(firestore: $0).updateData([path: 1], forDocument: $0.document("a/b")) }),
    ])
  }

  @Test("field paths of snapshots, and masks of other types")
  func otherTypes() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/b").setData(["n": 1], completion: nil)
    let snapshot = try await db.document("a/b").getDocument(source: .cache)
    #expect(
      await Misuse.message { _ = snapshot.get("a..b") }
        == "Invalid field path (a..b). Paths must not be empty, begin with '.', end with '.', or contain '..'")
    #expect(
      await Misuse.message { _ = snapshot["a[0]"] }
        == "Invalid field path (a[0]). Paths must not contain '~', '*', '/', '[', or ']'")
    #expect(
      await Misuse.message { _ = snapshot.get(1) } == "Subscript key must be a String or FieldPath, but is Int.")
    #expect(
      await Misuse.message { _ = snapshot[2.5] } == "Subscript key must be a String or FieldPath, but is Double.")
    try await db.terminate()
    try await expect([
      Rule(
        "All elements in mergeFields: must be Strings or FieldPaths, but one is Int.",
        { $0.document("a/b").setData(["x": 1], mergeFields: [1]) }
      ),
      Rule(
        "Dictionary keys in updateData: must be Strings or FieldPaths, but one is Int.",
        { $0.document("a/b").updateData([1: 1]) }
      ),
    ])
  }

  @Test("values that cannot be stored, in every kind of write")
  func values() async throws {
    let reserved = "Invalid data. Document fields cannot begin and end with \"__\" (found in field __a__)"
    let table: [(String, @Sendable () -> [String: Any])] = [
      ("Nested arrays are not supported (found in field a)", { ["a": [[1]]] }),
      ("Nested arrays are not supported (found in field a)", { ["a": FieldValue.arrayUnion([1, ["nested"]])] }),
      ("Unsupported type: ObjectIdentifier (found in field a)", { ["a": [1, ObjectIdentifier(Firestore.self)]] }),
      (
        "Unsupported type: ObjectIdentifier (found in field a)",
        { ["a": FieldValue.arrayUnion([ObjectIdentifier(Firestore.self)])] }
      ),
      ("NSNumber (18446744073709551615) is too large (found in field a)", { ["a": UInt64.max] }),
      ("Unsupported type: ObjectIdentifier (found in field a.b)", { ["a": ["b": ObjectIdentifier(Firestore.self)]] }),
      (reserved, { ["__a__": 1] }),
      (reserved, { ["__a__": ["b": 1]] }),
      (
        "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__b__)",
        { ["a": ["__b__": 1]] }
      ),
      (
        "FieldValue.serverTimestamp() is not currently supported inside arrays (found in field a)",
        { ["a": [FieldValue.serverTimestamp()]] }
      ),
      (
        "Date out of range for a timestamp: 1000000000000.0 s since 1970 (years 1 to 9999 are valid).",
        { ["a": Date(timeIntervalSince1970: 1e12)] }
      ),
    ]
    for (message, data) in table {
      try await expect([
        Rule(message, { $0.document("a/b").setData(data()) }),
        Rule(message, { $0.document("a/b").setData(data(), merge: true) }),
        Rule(message, { $0.collection("a").addDocument(data: data()) }),
        Rule(message, { $0.document("a/b").setData(data(), mergeFields: ["a"]) }),
        Rule(message, { $0.batch().setData(data(), forDocument: $0.document("a/b")) }),
        Rule(message, { $0.batch().setData(data(), forDocument: $0.document("a/b"), merge: true) }),
        Rule(message, { Hearth.Transaction(firestore: $0).setData(data(), forDocument: $0.document("a/b")) }),
        Rule(message, { $0.document("a/b").updateData(data()) }),
        Rule(message, { $0.batch().updateData(data(), forDocument: $0.document("a/b")) }),
        Rule(message, { Hearth.Transaction(firestore: $0).updateData(data(), forDocument: $0.document("a/b")) }),
      ])
    }
    let empty = "Invalid data. Document fields must not be empty (found in field ``)"
    try await expect([
      Rule(empty, { $0.document("a/b").setData(["": 1]) }),
      Rule(empty, { $0.document("a/b").setData(["": 1], merge: true) }),
      Rule(
        "Invalid data. Document fields must not be empty (found in field a.``)",
        { $0.document("a/b").updateData(["a": ["": 1]]) }
      ),
      Rule(
        "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__b__)",
        { $0.document("a/b").updateData(["a.__b__": 1]) }
      ),
      Rule(
        "Invalid data. Document fields cannot begin and end with \"__\" (found in field __a__.b)",
        { $0.document("a/b").updateData([Hearth.FieldPath(["__a__", "b"]): 1]) }
      ),
      Rule(
        "FieldValue.delete() can only be used with updateData() and setData() with merge:true (found in field a)",
        { $0.document("a/b").setData(["a": FieldValue.delete()]) }
      ),
      Rule(
        "FieldValue.delete() can only appear at the top level of your update data (found in field a.b)",
        { $0.document("a/b").updateData(["a": ["b": FieldValue.delete()]]) }
      ),
      Rule(
        "Field 'q' is specified in your field mask but missing from your input data.",
        { $0.document("a/b").setData(["a": 1], mergeFields: ["q"]) }
      ),
      Rule(
        "FieldValue.serverTimestamp() can only be used with updateData() and setData() (found in field a)",
        { $0.document("a/b").updateData(["a": FieldValue.arrayUnion([FieldValue.serverTimestamp()])]) }
      ),
      Rule(
        "Nested arrays are not supported (found in field a)",
        { $0.document("a/b").updateData(["a": FieldValue.arrayRemove([[1]])]) }
      ),
      Rule(
        "FieldValue.arrayRemove() is not currently supported inside arrays (found in field a)",
        { $0.document("a/b").setData(["a": [FieldValue.arrayRemove([[1]])]]) }
      ),
      Rule(
        "Unsupported type: ObjectIdentifier",
        {
          _ = $0.collection("a").whereFilter(
            .andFilter([.whereField("b", isEqualTo: ObjectIdentifier(Firestore.self)), .whereField("c", isEqualTo: 1)]))
        }
      ),
      Rule(
        "FieldValue.delete() can only be used with updateData() and setData()",
        { _ = $0.collection("a").whereField("b", isEqualTo: FieldValue.delete()) }
      ),
      Rule(
        "FieldValue.arrayUnion() can only be used with updateData() and setData() (found in field test)",
        { _ = $0.collection("a").whereField("b", isEqualTo: ["test": FieldValue.arrayUnion([1])]) }
      ),
      Rule(
        "FieldValue.increment() can only be used with updateData() and setData()",
        { _ = $0.collection("a").whereField("b", in: [FieldValue.increment(1.5)]) }
      ),
      Rule(
        "FieldValue.serverTimestamp() can only be used with updateData() and setData()",
        { _ = $0.collection("a").order(by: "t").start(at: [FieldValue.serverTimestamp()]) }
      ),
      Rule(
        "GeoPoint requires a latitude value in the range of [-90, 90], but was 91.0",
        { _ in _ = Hearth.GeoPoint(latitude: 91, longitude: 0) }
      ),
      Rule(
        "GeoPoint requires a longitude value in the range of [-180, 180], but was nan",
        { _ in _ = Hearth.GeoPoint(latitude: 0, longitude: .nan) }
      ),
      Rule(
        "GeoPoint requires a longitude value in the range of [-180, 180], but was inf",
        { _ in _ = Hearth.GeoPoint(latitude: 0, longitude: .infinity) }
      ),
      Rule(
        "Timestamp nanoseconds out of range: 1000000000 (0 to 999,999,999 are valid).",
        { _ in _ = Hearth.Timestamp(seconds: 0, nanoseconds: 1_000_000_000) }
      ),
      Rule(
        "Timestamp nanoseconds out of range: -1 (0 to 999,999,999 are valid).",
        { _ in _ = Hearth.Timestamp(seconds: 0, nanoseconds: -1) }
      ),
      Rule(
        "Timestamp seconds out of range: 253402300800 (from year 1 to 9999: -62,135,596,800 to 253,402,300,799).",
        { _ in _ = Hearth.Timestamp(seconds: 253_402_300_800, nanoseconds: 0) }
      ),
      Rule(
        "Timestamp seconds out of range: -62135596801 (from year 1 to 9999: -62,135,596,800 to 253,402,300,799).",
        { _ in _ = Hearth.Timestamp(seconds: -62_135_596_801, nanoseconds: 0) }
      ),
    ])
  }

  @Test("references of another database, and batches and transactions of another object")
  func foreign() async throws {
    let other = try TestFirestore(projectID: "other-project").firestore
    let foreign = other.document("a/b")
    let database =
      "Document Reference is for database other-project/(default) but should be for database demo-hearth/(default)"
    let object = "Provided document reference is from a different Cloud Firestore instance."
    try await expect([
      Rule(database + " (found in field r)", { $0.document("a/b").setData(["r": foreign]) }),
      Rule(database + " (found in field m.r)", { $0.document("a/b").setData(["m": ["r": foreign]], merge: true) }),
      Rule(database + " (found in field l)", { $0.document("a/b").setData(["l": [foreign]]) }),
      Rule(
        database + " (found in field r)",
        { $0.document("a/b").updateData(["r": FieldValue.arrayUnion([foreign])]) }
      ),
      Rule(database, { _ = $0.collection("a").whereField(FieldPath.documentID(), in: [foreign]) }),
      Rule(database, { _ = $0.collection("a").whereField("r", isEqualTo: foreign) }),
      Rule(database, { _ = $0.collection("a").order(by: "r").start(at: [foreign]) }),
      Rule(object, { $0.batch().setData([:], forDocument: foreign) }),
      Rule(object, { $0.batch().updateData([:], forDocument: foreign) }),
      Rule(object, { $0.batch().deleteDocument(foreign) }),
      Rule(object, { $0.batch().setData([:], forDocument: foreign, merge: true) }),
      Rule(object, { $0.batch().setData([:], forDocument: foreign, mergeFields: []) }),
      Rule(object, { Hearth.Transaction(firestore: $0).setData([:], forDocument: foreign) }),
      Rule(object, { Hearth.Transaction(firestore: $0).setData([:], forDocument: foreign, merge: true) }),
      Rule(object, { Hearth.Transaction(firestore: $0).updateData([:], forDocument: foreign) }),
      Rule(object, { Hearth.Transaction(firestore: $0).deleteDocument(foreign) }),
      Rule(object, { _ = try? Hearth.Transaction(firestore: $0).getDocument(foreign) }),
    ])
  }

  @Test("a batch is used up by its commit")
  func batches() async throws {
    let message = "A write batch can no longer be used after commit has been called."
    @Sendable func used(_ db: Firestore) -> WriteBatch {
      let batch = db.batch()
      batch.commit(completion: nil)
      return batch
    }
    try await expect([
      Rule(message, { used($0).setData([:], forDocument: $0.document("a/b")) }),
      Rule(message, { used($0).updateData([:], forDocument: $0.document("a/b")) }),
      Rule(message, { used($0).deleteDocument($0.document("a/b")) }),
      Rule(message, { used($0).commit() }),
    ])
  }

  @Test("changes that a listener was not asked to report, and values that were not asked for")
  func snapshots() async throws {
    let db = try await TestFirestore.offline()
    let (events, registration) = db.collection("a").record()
    let snapshot = try await events.next().get()
    registration.remove()
    #expect(
      await Misuse.message { _ = snapshot.documentChanges(includeMetadataChanges: true) }
        == """
        To include metadata changes with your document changes, you must call \
        addSnapshotListener(includeMetadataChanges: true).
        """)
    let sums = try await db.collection("a").aggregate([.sum("n")]).getAggregation(source: .cache)
    #expect(await Misuse.message { _ = sums.count } == "'count()' was not requested in the aggregation query.")
    #expect(
      await Misuse.message { _ = sums.get(.average("n")) } == "'avg(n)' was not requested in the aggregation query.")
    #expect(
      await Misuse.message { _ = sums.get(.sum("m")) } == "'sum(m)' was not requested in the aggregation query.")
    try await db.terminate()
  }

  @Test("settings after the first use, and settings without meaning")
  func settings() async throws {
    let frozen = """
      Firestore instance has already been started and its settings can no longer be changed. You can only set settings \
      before calling any other methods on a Firestore instance.
      """
    try await expect([
      Rule(frozen, { $0.settings = FirestoreSettings() }),
      Rule(frozen, { $0.useEmulator(withHost: "localhost", port: 8080) }),
      Rule("Cannot set host to an empty string.", { $0.useEmulator(withHost: "", port: 8080) }),
      Rule(
        "Cache size must be set to at least 1048576 bytes, or to FirestoreCacheSizeUnlimited; it was 1048575.",
        { _ in _ = PersistentCacheSettings(sizeBytes: 1_048_575) }
      ),
      Rule(
        "Unsupported garbage collector settings: Unknown.",
        { _ in _ = MemoryCacheSettings(garbageCollectorSettings: Unknown()) }
      ),
      Rule(
        "Invalid maximum number of attempts for transactions: 0",
        { _ in TransactionOptions().maxAttempts = 0 }
      ),
    ])
    let fresh = try TestFirestore().firestore
    let table: [(String, @Sendable (FirestoreSettings) -> Void)] = [
      (
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.",
        { settings in
          settings.host = "firestore.googleapis.com"
          settings.isSSLEnabled = false
        }
      ),
      ("Host setting may not be empty.", { $0.host = "" }),
      ("Unsupported cache settings", { $0.cacheSettings = Unknown() }),
    ]
    for (expected, change) in table {
      let message = await Misuse.message {
        let settings = fresh.settings
        change(settings)
        fresh.settings = settings
      }
      #expect(message?.hasPrefix(expected) == true, "\(message ?? "no error")")
    }
    #expect(!fresh.isRunning)
  }

  @available(*, deprecated)
  @Test("the old switches together with cacheSettings, in either order")
  func legacySettings() async throws {
    let fresh = try TestFirestore().firestore
    let expected = "Firestore settings: cacheSettings cannot be combined with isPersistenceEnabled or cacheSizeBytes"
    let conflicts: [@Sendable (FirestoreSettings) -> Void] = [
      { $0.isPersistenceEnabled = false }, { $0.cacheSizeBytes = FirestoreCacheSizeUnlimited },
    ]
    for conflict in conflicts {
      for isFirst in [true, false] {
        let message = await Misuse.message {
          let settings = FirestoreSettings()
          if isFirst { conflict(settings) }
          settings.cacheSettings = PersistentCacheSettings()
          if !isFirst { conflict(settings) }
          fresh.settings = settings
        }
        #expect(message?.hasPrefix(expected) == true, "\(message ?? "no error")")
      }
    }
    let small = await Misuse.message { FirestoreSettings().cacheSizeBytes = 5 }
    #expect(small?.hasPrefix("Cache size must be set to at least 1048576 bytes") == true)
  }

  @Test("everything but terminate, clearPersistence and remove after the end")
  func terminated() async throws {
    let db = try TestFirestore().firestore
    let document = db.document("a/b")
    let query = db.collection("a")
    let registration = query.addSnapshotListener { _, _ in }
    // The calls are made one after the other.
    nonisolated(unsafe) let batch = db.batch()
    let manager = PersistentCacheIndexManager(db)
    try await db.terminate()
    let calls: [@Sendable () -> Void] = [
      { _ = db.collection("a") }, { _ = db.document("a/b") }, { _ = db.collectionGroup("a") }, { _ = db.batch() },
      { db.enableNetwork() }, { db.disableNetwork() }, { db.waitForPendingWrites { _ in } },
      { db.addSnapshotsInSyncListener {} }, { db.setIndexConfiguration("{}") }, { db.loadBundle(Data()) },
      { db.getQuery(named: "q") { _ in } }, { _ = db.persistentCacheIndexManager },
      { db.runTransaction({ _, _ in nil }, completion: { _, _ in }) }, { document.setData([:]) },
      { document.updateData(["a": 1]) }, { document.delete() }, { document.getDocument { _, _ in } },
      { document.addSnapshotListener { _, _ in } }, { query.getDocuments { _, _ in } },
      { query.getDocuments(source: .cache) { _, _ in } }, { query.addDocument(data: [:]) },
      { query.count.getAggregation(source: .server) { _, _ in } }, { batch.commit() },
      { query.count.getAggregation(source: .cache) { _, _ in } }, { document.getDocument(source: .cache) { _, _ in } },
      { _ = query.snapshots.makeAsyncIterator() }, { _ = document.snapshots.makeAsyncIterator() },
      { db.setIndexConfiguration(InputStream(data: Data())) }, { db.loadBundle(InputStream(data: Data())) },
      { db.runTransaction(with: nil, block: { _, _ in nil }, completion: { _, _ in }) },
      { document.setData([:], merge: true) }, { document.setData([:], mergeFields: []) },
      { manager.enableIndexAutoCreation() }, { manager.disableIndexAutoCreation() }, { manager.deleteAllIndexes() },
    ]
    for (index, call) in calls.enumerated() {
      let error = await Misuse.error(call)
      #expect(error?.message == "The client has already been terminated.", "call \(index)")
      // It names the call, and no function behind it.
      let name = error?.call?.function ?? ""
      let isHidden = ["write(", "get(", "observe(", "load(", "setIndexes(", "onCallbackQueue(", "runtime("].contains {
        name.hasPrefix($0)
      }
      #expect(!name.isEmpty && !isHidden, "call \(index): \(name)")
    }
    registration.remove()
    try await db.terminate()
    try await db.clearPersistence()
    #expect(db.settings.host == "127.0.0.1:1")
  }

  @Test("what breaks a rule only when it is used can be made")
  func unused() async throws {
    let db = try await TestFirestore.offline()
    let calls: [@Sendable () -> Void] = [
      { _ = FieldValue.arrayUnion([[1]]) }, { _ = FieldValue.arrayRemove([FieldValue.delete()]) },
      { _ = FieldValue.arrayUnion([ObjectIdentifier(Firestore.self)]) },
      { _ = Hearth.Filter.whereField("a", isEqualTo: ObjectIdentifier(Firestore.self)) },
      { _ = Hearth.Filter.orFilter([.whereField("a", in: [FieldValue.delete()])]) },
      { db.document("a/b").updateData(["__a__": FieldValue.delete()]) },
    ]
    for (index, call) in calls.enumerated() { #expect(await Misuse.message(call) == nil, "call \(index)") }
    try await db.terminate()
  }

  @Test("an array transform that no write can have is equal to itself alone, and says what it is")
  func invalidTransforms() {
    let invalid = FieldValue.arrayUnion([[1]])
    #expect(invalid == invalid && invalid.hash == invalid.hash)
    #expect(invalid != FieldValue.arrayUnion([[2]]))
    #expect(invalid.description == "FieldValue.arrayUnion()")
  }

  @Test("calls that are right return")
  func legal() async throws {
    try await confirmation { returned in
      let db = try TestFirestore().firestore
      #expect(await Misuse.message { _ = db.collection("a/b/c").document("/d/") } == nil)
      try await db.terminate()
      returned()
    }
  }
}

/// Settings of a class that the library does not know.
private final class Unknown: NSObject, LocalCacheSettings, MemoryGarbageCollectorSettings {}
