// swift-format-ignore-file
// The lines are those of the documentation comments in Sources/Hearth, indented; CommentExampleTests finds them here.
import Foundation
import Hearth

#if canImport(SwiftUI)
  import SwiftUI
#endif

/// The examples that documentation comments show, for the compiler. None is run.
enum CommentExamples {
  static func receipt(order: DocumentReference) async throws {
    let receipt = order.withReceipt.setData(["item": "tea", "count": 2])
    try await receipt.saved()                            // returns offline, too: the write is on the disk
    let commit = try await receipt.acknowledged()        // returns when the backend has it
    print("committed:", commit.commitTime != nil)
  }

  static func cacheScope(db: Firestore) {
    let everythingOfOneUser = CacheScope.document(db.document("users/anna"), includingSubcollections: true)
    let oldMessages = CacheScope.collectionGroup("messages").olderThan(Date(timeIntervalSinceNow: -30 * 24 * 3600))
    print(everythingOfOneUser, oldMessages)
  }

  static func clearCache(db: Firestore) async throws {
    let cleared = try await db.clearCache(.collection(db.collection("messages")), securely: true)
    print(cleared.removedDocumentCount, cleared.isErased)
  }

  static func pin(db: Firestore) async throws {
    let catalogue = db.collection("products").whereField("inStock", isEqualTo: true)
    try await catalogue.pin()
    try await catalogue.prefetch()
  }

  static func prefetch(db: Firestore) async throws {
    try await db.collection("products").prefetch(within: .seconds(30))
  }

  static func aggregateQuery(db: Firestore) async throws {
    let cities = db.collection("cities")
    let snapshot = try await cities.aggregate([.count(), .sum("population")]).getAggregation(source: .server)
    print(snapshot.count, snapshot.get(.sum("population")))
  }

  static func firebaseApp() {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
    FirebaseApp.configure(name: "archive", options: FirebaseOptions(projectID: "my-archive"))
    let archive = FirebaseApp.app(name: "archive").map { Firestore.firestore(app: $0) }
    _ = archive
  }

  static func firebaseOptions() {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
  }

  static func firebaseApps() -> Firestore? {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
    FirebaseApp.configure(name: "archive", options: FirebaseOptions(projectID: "my-archive"))
    let archive = FirebaseApp.app(name: "archive").map { Firestore.firestore(app: $0) }
    return archive
  }

  static func decodedDocument(db: Firestore) async throws -> String {
    struct City: Decodable {
      var name: String
    }
    let city = try await db.document("cities/SF").getDocument(as: City.self)
    return city.name
  }

  static func documentID(snapshot: DocumentSnapshot) throws {
    struct City: Codable {
      @DocumentID var id: String?
      var name: String
    }
    let city = try snapshot.data(as: City.self)  // city.id is snapshot.documentID
    _ = city
  }

  static func documentReferenceCodable(db: Firestore) async throws {
    struct City: Decodable {
      var name: String
    }
    let city = try await db.document("cities/SF").getDocument(as: City.self)
    _ = city
  }

  static func documentSnapshotCodable(snapshot: DocumentSnapshot) throws {
    struct City: Decodable {
      @DocumentID var id: String?
      var name: String
      var population: Int
    }
    let city = try snapshot.data(as: City.self)
    _ = city
  }

  static func explicitNull() {
    struct Task: Codable {
      var title: String
      @ExplicitNull var due: Date?
    }
  }

  static func firestoreCoders(founded: Date) throws {
    struct City: Codable {
      @DocumentID var id: String?
      var name: String
      var founded: Date
      @ServerTimestamp var seen: Date?
    }
    let fields = try Firestore.Encoder().encode(City(name: "Oakland", founded: founded))
    _ = fields
  }

  static func serverTimestamp() {
    struct Message: Codable {
      var text: String
      @ServerTimestamp var sent: Date?
    }
  }

  static func firestoreAppCheck(settings: FirestoreSettings) {
    settings.appCheck = FirestoreAppCheck { forcingRefresh in
      try await fetchAppCheckToken(ignoringCache: forcingRefresh)
    }
  }

  static func firestoreCredentials() {
    final class MetadataServerCredentials: FirestoreCredentials {
      func accessToken(forcingRefresh: Bool) async throws -> String? {
        try await fetchAccessToken(ignoringCache: forcingRefresh)
      }
    }
  }

  static func idTokenCredentials(session: Session) throws {
    let credentials = IDTokenCredentials(userID: session.userID) { forcingRefresh in
      guard let session = try await currentSession(refreshing: forcingRefresh) else { return nil }  // no user is signed in
      return IDToken(session.idToken, userID: session.userID)
    }
    let settings = Firestore.firestore().settings
    settings.credentials = credentials
    Firestore.firestore().settings = settings

    credentials.setUser("alice")  // after sign-in
    credentials.setUser(nil)      // after sign-out
  }

  static func serviceAccountCredentials() throws {
    let settings = Firestore.firestore().settings
    settings.credentials = try ServiceAccountCredentials(contentsOfFile: "/etc/my-server/firestore.json")
    Firestore.firestore().settings = settings
  }

  static func firestore() async throws {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
    let db = Firestore.firestore()
    try await db.collection("cities").document("SF").setData(["name": "San Francisco"])
  }

  static func firestoreErrors(city: DocumentReference) async throws {
    do {
      let snapshot = try await city.getDocument()
      print(snapshot.exists)
    } catch FirestoreErrorCode.unavailable {
      // offline, and the document is not in the cache
    } catch let error as FirestoreErrorCode where error.code == .permissionDenied {
      print(error.localizedDescription)
    } catch {
      print((error as NSError).code == FirestoreErrorCode.notFound.rawValue)
    }
  }

  static func firestoreIndexes(db: Firestore) async throws {
    try await db.setIndexConfiguration(
      """
      {"indexes": [{"collectionGroup": "cities", "fields": [
        {"fieldPath": "state", "order": "ASCENDING"}, {"fieldPath": "population", "order": "DESCENDING"}]}]}
      """)
  }

  static func firestoreIndexesWithoutJSON(db: Firestore) async throws {
    try await db.setIndexConfiguration(indexes: [
      FirestoreIndex(
        collectionGroup: "cities",
        fields: [.init(fieldPath: "state", order: .ascending), .init(fieldPath: "population", order: .descending)])
    ])
  }

  static func firestoreIndex() {
    _ =
      FirestoreIndex(
        collectionGroup: "cities",
        fields: [.init(fieldPath: "tags", arrayConfig: .contains), .init(fieldPath: "population", order: .descending)])
  }

  static func persistentCacheIndexManager(db: Firestore) {
    db.persistentCacheIndexManager?.enableIndexAutoCreation()
  }

  static func persistentCacheIndexes(db: Firestore) async throws {
    for index in try await db.persistentCacheIndexManager?.indexes() ?? [] { print(index) }
    // cities: state ASCENDING, population DESCENDING (declared, 1,204 entries, 57,344 bytes, complete)
  }

  static func queryExplaining(db: Firestore) async throws {
    print(try await db.collection("cities").whereField("state", isEqualTo: "CA").explain())
  }

  static func documentReference(city: DocumentReference) async throws {
    try await city.updateData(["mayor.name": "London Breed", "visits": FieldValue.increment(Int64(1))])
  }

  static func filter(query: Query) {
    _ =
      query.whereFilter(Filter.orFilter([
        Filter.whereField("capital", isEqualTo: true),
        Filter.whereField("population", isGreaterThan: 1_000_000),
      ]))
  }

  static func queryFilters(cities: CollectionReference) {
    _ =
      cities.whereFilter(.orFilter([.whereField("capital", isEqualTo: true), .whereField("state", isEqualTo: "CA")]))
  }

  static func query(db: Firestore) {
    let largest = db.collection("cities")
      .whereField("state", isEqualTo: "CA")
      .order(by: "population", descending: true)
      .limit(to: 3)
    _ = largest
  }

  static func queryPredicate(db: Firestore) {
    let cities = db.collection("cities").applying([
      .where("state", isEqualTo: "CA"), .order(by: "population", descending: true), .limit(to: 3),
    ])
    _ = cities
  }

  static func writeBatch(db: Firestore, cities: CollectionReference) async throws {
    let batch = db.batch()
    batch.setData(["name": "Oakland"], forDocument: cities.document("OAK"))
    batch.deleteDocument(cities.document("DC"))
    try await batch.commit()
  }

  static func cacheSettings(settings: FirestoreSettings) {
    settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: "/var/lib/till"))
  }

  static func firestorePersistence(db: Firestore) async throws {
    do {
      try await db.enablePersistence()
    } catch FirestoreErrorCode.failedPrecondition {
      // Another process uses this cache, and one of the two does not share it. What is read is kept in memory only.
    } catch FirestoreErrorCode.unimplemented {
      // Nothing can be kept here: the folder cannot be written, or the disk is full.
    }
  }

  static func firestoreSettings() {
    let settings = Firestore.firestore().settings
    settings.cacheSettings = MemoryCacheSettings()
    Firestore.firestore().settings = settings
  }

  static func firestoreTransactions(db: Firestore, city: DocumentReference) throws {
    db.runTransaction { transaction, errorPointer in
      do {
        let snapshot = try transaction.getDocument(city)
        let population = snapshot.get("population") as? Int ?? 0
        transaction.updateData(["population": population + 1], forDocument: city)
        return population + 1
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    } completion: { result, error in
      print(result ?? error ?? "nothing")
    }
  }

  static func fieldPath(query: Query) {
    let inTown = query.whereField(FieldPath(["address", "zip.code"]), isEqualTo: "94103")
    let two = query.whereField(FieldPath.documentID(), in: ["SF", "LA"])
    _ = inTown
    _ = two
  }

  static func fieldValue(city: DocumentReference) async throws {
    try await city.updateData([
      "visits": FieldValue.increment(Int64(1)),
      "tags": FieldValue.arrayUnion(["coast"]),
      "seen": FieldValue.serverTimestamp(),
      "draft": FieldValue.delete(),
    ])
  }

  static func updatesFromValues(city: DocumentReference) throws {
    struct Visit: Encodable {
      var lastVisitor: String?
      var visits = FieldValue.increment(Int64(1))
    }
    try city.updateData(from: Visit(lastVisitor: "Ada"))
  }

  static func fieldMap(cities: CollectionReference) async throws {
    let oakland: FieldMap = [
      "name": "Oakland", "population": 440_646, "tags": ["port"], "changed": .serverTimestamp,
    ]
    try await Task.detached { try await cities.document("OAK").setData(fields: oakland) }.value
  }

  static func readPolicies(db: Firestore) async throws {
    let city = try await db.document("cities/SF").getDocument(policy: .server(within: .seconds(2)))
    print(city.metadata.isFromCache ? "as this device knows it" : "as the backend has it")
    let cities = try await db.collection("cities").getDocuments(policy: .cacheFirst)
    _ = cities
  }

  enum QueryableModels {
    struct City: Codable, QueryableModel {
      @DocumentID var id: String?
      var name: String
      var population: Int?
      var tags: [String]
      static let fieldTable: FieldTable<City> = [
        \.id: .documentID, \.name: "name", \.population: "population", \.tags: "tags",
      ]
    }
  }

  enum FieldTables {
    struct City: Codable, QueryableModel {
      var name: String
      var population: Int
      static let fieldTable = FieldTable<City>(codingKeys: [\.name: CodingKeys.name, \.population: .population])
    }
  }

  static func typedFilter(cities: TypedCollection<QueryableModels.City>) {
    let large = cities.where(\.population > 1_000_000 || \.name == "Oakland")
    let coastal = cities.where(.contains(\.tags, "coast"))
    _ = large
    _ = coastal
  }

  static func typedQuery(db: Firestore) async throws {
    typealias City = QueryableModels.City
    let cities = db.collection("cities", of: City.self)
    let large = cities.where(\.population > 1_000_000).order(by: \.population, descending: true).limit(to: 3)
    for city in try await large.getDocuments().documents { print(city.name) }
  }

  static func conflictRules() -> FirestoreSettings {
    let settings = FirestoreSettings()
    settings.conflictRules = [
      .collection("todos", .mergeFields),
      .document("profiles/me", .lastWriter(by: "changed")),
    ]
    return settings
  }

  static func merged(conflict: Conflict, text: String) -> ConflictResolution {
    var fields = conflict.remote.fieldMap() ?? [:]
    fields["text"] = .string(text)
    return .merged(fields)
  }

  static func resolvedConflicts(db: Firestore) async throws {
    for try await conflicts in db.resolvedConflicts.snapshots {
      for conflict in conflicts where conflict.dropped.contains(.local) {
        print("Another device has changed \(conflict.document.path) as well:", conflict.fields.map(\.name))
        try await db.resolvedConflicts.discard(conflict.id)
      }
    }
  }

  static func typedCollection(db: Firestore) async throws {
    typealias City = QueryableModels.City
    let cities = db.collection("cities", of: City.self)
    let oakland = try await cities.getDocument("OAK")
    let all = try await cities.getDocuments().documents
    _ = oakland
    _ = all
  }
}

// Declarations that the examples take from their programs.

struct Session: Sendable {
  var idToken: String
  var userID: String
}

private func currentSession(refreshing: Bool) async throws -> Session? { nil }
private func fetchAccessToken(ignoringCache: Bool) async throws -> String { "" }
private func fetchAppCheckToken(ignoringCache: Bool) async throws -> String { "" }

#if canImport(SwiftUI)
  private struct City: Decodable, Identifiable {
    var id: String
    var name: String
  }

  extension CommentExamples {
    struct Cities: View {
      @FirestoreQuery(collectionPath: "cities", predicates: [.order(by: "name")]) var cities: [City]
      var body: some View { List(cities) { Text($0.name) } }
    }

    struct SyncLabel: View {
      @State private var model = FirestoreStatusModel(Firestore.firestore())
      var body: some View {
        switch model.status?.connection {
        case .inSync: Text("Up to date")
        case .connecting, nil: Text("Connecting")
        case .offline: Text("Offline")
        }
      }
    }
  }
#endif
