import Foundation
import Testing

@testable import Hearth

/// Equality, hashes, copies and descriptions of the API's objects, as applications rely on them for sets, dictionaries, lists of
/// differences and `copy()`.
@Suite("Objects of the API", .timeLimit(.minutes(1)))
struct ObjectSemanticsTests {
  /// All objects of a group are equal, those of different groups are not; hashes agree, and so does a set.
  func expectGroups(_ groups: [[NSObject]], sourceLocation: SourceLocation = #_sourceLocation) {
    for (i, group) in groups.enumerated() {
      for (j, other) in groups.enumerated() {
        for a in group {
          for b in other {
            #expect((a == b) == (i == j), "\(a) and \(b)", sourceLocation: sourceLocation)
            #expect(a.isEqual(b) == (i == j), "\(a) and \(b)", sourceLocation: sourceLocation)
            if i == j { #expect(a.hash == b.hash, "\(a) and \(b)", sourceLocation: sourceLocation) }
          }
        }
      }
      for a in group {
        #expect(a == a && !a.isEqual(nil) && !a.isEqual("text"), "\(a)", sourceLocation: sourceLocation)
      }
    }
    #expect(Set(groups.joined()).count == groups.count, sourceLocation: sourceLocation)
  }

  @Test("values are equal by what they hold, bit by bit for doubles")
  func values() {
    expectGroups([
      [Timestamp(seconds: 1, nanoseconds: 2), Timestamp(seconds: 1, nanoseconds: 2)],
      [Timestamp(seconds: 2, nanoseconds: 1)],
      [Timestamp(seconds: -1, nanoseconds: 750_000_000), Timestamp(date: Date(timeIntervalSince1970: -0.25))],
      [GeoPoint(latitude: 0, longitude: 1), GeoPoint(latitude: 0, longitude: 1)],
      [GeoPoint(latitude: -0.0, longitude: 1)], [GeoPoint(latitude: 1, longitude: 0)],
      [VectorValue([0]), FieldValue.vector([0.0]), FieldValue.vector([Float(0)])], [VectorValue([-0.0])],
      [VectorValue([])], [VectorValue([1, 2])], [VectorValue([2, 1])],
      [VectorValue([.nan]), VectorValue([-.nan]), VectorValue([.signalingNaN])],
      [FieldPath(["a", "b"]), FieldPath(["a", "b"])], [FieldPath(["a.b"])],
      [FieldPath.documentID(), FieldPath.documentID(), FieldPath(["__name__"])],
      [FieldPath(["\u{E9}"])], [FieldPath(["e\u{301}"])],
    ])
  }

  @Test("field values are equal by operation and operands, and kinds of numbers differ")
  func fieldValues() {
    expectGroups([
      [FieldValue.delete(), FieldValue.delete()], [FieldValue.serverTimestamp(), FieldValue.serverTimestamp()],
      [FieldValue.increment(Int64(1)), FieldValue.increment(1)], [FieldValue.increment(1.0)],
      [FieldValue.increment(.nan), FieldValue.increment(-.nan)], [FieldValue.minimum(Int64(1))],
      [FieldValue.maximum(Int64(1))], [FieldValue.minimum(1.0)], [FieldValue.arrayUnion([1, "a"])],
      [FieldValue.arrayUnion(["a", 1])], [FieldValue.arrayRemove([1, "a"])], [FieldValue.arrayUnion([])],
      [FieldValue.arrayRemove([]), FieldValue.arrayRemove([Any]())],
    ])
  }

  @Test("references and queries are equal within one Firestore object only, by path and by what they ask for")
  func queries() throws {
    let db = try TestFirestore().firestore
    let named = Firestore.firestore(app: db.app, database: "other")
    let other = try TestFirestore().firestore
    let cities = db.collection("cities")
    let one = Filter.whereField("a", isEqualTo: 1)
    let two = Filter.whereField("b", isLessThan: 2)
    expectGroups([
      [
        db.document("a/b"), db.collection("a").document("b"), db.document("/a/b/"),
        db.document("a/b/c/d").parent.parent!,
      ],
      [named.document("a/b")], [other.document("a/b")], [db.document("a/B")],
      [db.document("a/\u{E9}")], [db.document("a/e\u{301}")],
      [cities, db.collection("cities"), db.collection("/cities"), cities.document("x").parent],
      [named.collection("cities")], [other.collection("cities")], [db.collectionGroup("cities")],
      [
        cities.whereField("a", isEqualTo: 1), cities.whereFilter(one), cities.whereFilter(.orFilter([one])),
        cities.whereField(FieldPath(["a"]), isEqualTo: NSNumber(value: 1)),
      ],
      [cities.whereField("a", isEqualTo: 1.0)], [cities.whereField("a", isEqualTo: "1")],
      [cities.whereField("a", isEqualTo: true)], [cities.whereField("a", in: [1])],
      [cities.whereField("a", isEqualTo: Double.nan), cities.whereField("a", isEqualTo: -Double.nan)],
      [cities.whereField("a", isEqualTo: NSNull()), cities.whereField("a", isEqualTo: Int?.none as Any)],
      [
        cities.whereFilter(one).whereFilter(two), cities.whereField("a", isEqualTo: 1).whereField("b", isLessThan: 2),
      ],
      [cities.whereFilter(.andFilter([one, two])).limit(to: 9)], [cities.whereFilter(.orFilter([one, two]))],
      [cities.order(by: "a"), cities.order(by: "a", descending: false)], [cities.order(by: "a", descending: true)],
      [cities.order(by: "a").limit(to: 1), cities.order(by: "a").limit(toLast: 5).limit(to: 1)],
      [cities.order(by: "a").limit(toLast: 1)], [cities.order(by: "a").start(at: [1])],
      [cities.order(by: "a").start(after: [1])], [cities.order(by: "a").end(at: [1])],
      [cities.order(by: "a").end(before: [1])],
    ])
  }

  @Test("a filter of nothing gives the query itself")
  func emptyFilters() throws {
    let cities = try TestFirestore().firestore.collection("cities")
    #expect(cities.whereFilter(.orFilter([])) === cities)
    #expect(cities.whereFilter(.andFilter([.orFilter([]), .andFilter([])])) === cities)
    #expect(cities.whereFilter(.whereField("a", isEqualTo: 1)) !== cities)
  }

  @Test("options of transactions are equal by value, and copies are independent")
  func transactionOptions() throws {
    let changed = TransactionOptions()
    changed.maxAttempts = 7
    let copy = try #require(changed.copy() as? TransactionOptions)
    expectGroups([[TransactionOptions(), TransactionOptions()], [changed, copy]])
    copy.maxAttempts = 8
    #expect(changed.maxAttempts == 7 && copy != changed)
  }

  @Test("settings are equal by value, and copies are independent")
  func settings() throws {
    expectGroups([
      [PersistentCacheSettings(), PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)],
      [PersistentCacheSettings(sizeBytes: NSNumber(value: FirestoreCacheSizeUnlimited))],
      [
        MemoryCacheSettings(), MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings()),
        MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 104_857_600)),
      ],
      [MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())],
      [MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 1))],
      [MemoryEagerGCSetting(), MemoryEagerGCSettings()], [MemoryLRUGCSettings()], [MemoryLRUGCSettings(sizeBytes: 1)],
      [FirestoreSettings(), FirestoreSettings()],
      [SnapshotListenOptions(), SnapshotListenOptions().withSource(.cache).withSource(.default)],
      [SnapshotListenOptions().withIncludeMetadataChanges(true)], [SnapshotListenOptions().withSource(.cache)],
    ])
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    settings.host = "localhost:1"
    let copy = try #require(settings.copy() as? FirestoreSettings)
    #expect(copy == settings && copy !== settings && copy.hash == settings.hash)
    copy.host = "localhost:2"
    #expect(settings.host == "localhost:1" && copy != settings)
    let options = SnapshotListenOptions()
    _ = options.withSource(.cache).withIncludeMetadataChanges(true)
    #expect(options.source == .default && !options.includeMetadataChanges)
  }

  @Test("the settings of a Firestore object come as a copy, also of what they hold")
  func settingsOfFirestore() throws {
    let db = try TestFirestore().firestore
    let settings = db.settings
    #expect(settings !== db.settings && settings == db.settings)
    settings.host = "localhost:9"
    #expect(db.settings.host == "127.0.0.1:1")
    db.settings = settings
    settings.host = "localhost:10"
    #expect(db.settings.host == "localhost:9")
    #expect(db.settings.cacheSettings is MemoryCacheSettings)
  }

  @Test("immutable values are their own copies")
  func copies() {
    let values: [NSObject & NSCopying] = [
      Timestamp(), GeoPoint(latitude: 1, longitude: 2), VectorValue([1]), FieldPath(["a"]), PersistentCacheSettings(),
      MemoryCacheSettings(), MemoryEagerGCSetting(), MemoryLRUGCSettings(),
    ]
    for value in values { #expect(value.copy() as AnyObject === value, "\(value)") }
  }

  @Test("descriptions name what the object is, in text and in lists")
  func descriptions() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/b").setData(["n": 1], completion: nil)
    let snapshot = try await db.collection("a").getDocuments(source: .cache)
    let table: [(NSObject, String)] = [
      (Timestamp(seconds: 1, nanoseconds: 5), "1970-01-01T00:00:01.000000005Z"),
      (GeoPoint(latitude: 1, longitude: -2), "<GeoPoint: (1.0, -2.0)>"), (VectorValue([1]), "<VectorValue: [1.0]>"),
      (FieldPath(["a.b", "c"]), "`a.b`.c"), (FieldValue.increment(1), "FieldValue.increment()"),
      (db.document("a/b"), "<DocumentReference: a/b>"), (AggregateField.average("n"), "avg(n)"),
      (snapshot.metadata, "<SnapshotMetadata: hasPendingWrites=true isFromCache=true>"),
      (
        snapshot.documents[0],
        "<QueryDocumentSnapshot: a/b exists=true <SnapshotMetadata: hasPendingWrites=true isFromCache=true>>"
      ),
      (snapshot, "<QuerySnapshot: 1 documents <SnapshotMetadata: hasPendingWrites=true isFromCache=true>>"),
    ]
    for (object, text) in table {
      #expect("\(object)" == text)
      #expect("\([object])" == "[\(text)]")
      #expect(object.debugDescription == text)
    }
    try await db.terminate()
  }

  @Test("snapshots are equal by object, path, existence, data and metadata")
  func snapshots() async throws {
    let db = try await TestFirestore.offline()
    let other = try await TestFirestore.offline()
    func write(_ db: Firestore) async throws -> DocumentSnapshot {
      db.document("a/b").setData(["n": 1, "m": ["x": 1, "y": [2]]], completion: nil)
      return try await db.document("a/b").getDocument(source: .cache)
    }
    let first = try await write(db)
    let again = try await write(db)
    let listed = try await db.collection("a").getDocuments(source: .cache)
    let foreign = try await write(other)
    db.document("a/b").updateData(["n": 1.0], completion: nil)
    let retyped = try await db.document("a/b").getDocument(source: .cache)
    db.document("a/b").delete(completion: nil)
    let gone = try await db.document("a/b").getDocument(source: .cache)
    let otherGone = try await { () async throws in
      db.document("a/c").delete(completion: nil)
      return try await db.document("a/c").getDocument(source: .cache)
    }()
    expectGroups([[first, again, listed.documents[0]], [foreign], [retyped], [gone], [otherGone]])
    expectGroups([
      [SnapshotMetadata(hasPendingWrites: true, isFromCache: true), first.metadata],
      [SnapshotMetadata(hasPendingWrites: false, isFromCache: true)],
      [SnapshotMetadata(hasPendingWrites: false, isFromCache: false)],
      [SnapshotMetadata(hasPendingWrites: true, isFromCache: false)],
    ])
    try await db.terminate()
    try await other.terminate()
  }

  @Test("a query read once shows changes of metadata when asked for them, from every source")
  func changesOfGets() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/b").setData(["n": 1], completion: nil)
    for source in [FirestoreSource.default, .cache] {
      let snapshot = try await db.collection("a").getDocuments(source: source)
      #expect(snapshot.query == db.collection("a"))
      #expect(snapshot.documentChanges(includeMetadataChanges: true).map(\.type) == [.added])
      let change = try #require(snapshot.documentChanges.first)
      #expect(change.oldIndex == UInt(NSNotFound) && change.newIndex == 0 && change.document == snapshot.documents[0])
      #expect(change == snapshot.documentChanges.first && change.hash == snapshot.documentChanges.first?.hash)
    }
    let empty = try await db.collection("none").getDocuments(source: .cache)
    #expect(empty.isEmpty && empty.metadata.isFromCache && empty.documentChanges.isEmpty)
    try await db.terminate()
  }

  @Test("enumerations have the official raw values")
  func rawValues() {
    #expect([FirestoreSource.default, .server, .cache].map(\.rawValue) == [0, 1, 2])
    #expect([ListenSource.default, .cache].map(\.rawValue) == [0, 1])
    #expect([ServerTimestampBehavior.none, .estimate, .previous].map(\.rawValue) == [0, 1, 2])
    #expect([DocumentChangeType.added, .modified, .removed].map(\.rawValue) == [0, 1, 2])
    #expect([LoadBundleTaskState.error, .inProgress, .success].map(\.rawValue) == [0, 1, 2])
    #expect(AggregateSource.server.rawValue == 0)
    #expect(FirestoreCacheSizeUnlimited == -1)
  }
}
