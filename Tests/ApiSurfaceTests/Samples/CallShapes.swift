import Hearth

/// Calls in the less usual shapes that the official guides and applications have: models of views, actors, parallel reads,
/// callbacks turned into tasks, chains of optionals. They compile without a warning in both language modes, and tests run them
/// against a server.
enum CallShapes {
  // MARK: - Building

  static func references(_ db: Firestore) -> [String?] {
    let city: DocumentReference = db.collection("cities").document("SF")
    let rooms: CollectionReference = city.collection("landmarks").document("Tower").collection("rooms")
    var paths: [String?] = [city.path, rooms.path, rooms.parent?.parent.parent?.documentID, rooms.parent?.path]
    paths.append(db.document("cities/SF").parent.parent?.path)
    paths.append(db.collection("cities/SF/landmarks").parent?.documentID)
    paths.append(rooms.document().parent.collectionID)
    return paths
  }

  static func grownQuery(_ db: Firestore, seas: [String], lights: [DocumentReference]) -> Query {
    var query: Query = db.collection("watches")
    if !seas.isEmpty {
      query = query.whereField("sea", in: seas)
    }
    if let first = lights.first {
      query = query.whereField("light", isEqualTo: first)
    }
    query = query.whereField(FieldPath(["shift.hours"]), isGreaterThan: 4 as NSNumber)
    return query.order(by: FieldPath(["shift.hours"]), descending: true).limit(to: 10)
  }

  static func filters(_ db: Firestore, _ lights: [DocumentReference]) -> [Query] {
    let watches = db.collection("watches")
    let now = Timestamp(date: Date())
    return [
      watches.whereField("light", in: lights),
      watches.whereField("light", notIn: [db.document("lights/none")]),
      watches.whereField("began", isLessThan: now),
      watches.whereField("began", isLessThanOrEqualTo: Date()),
      watches.whereField("keepers", arrayContainsAny: ["Ida", "Grace"]),
      watches.whereField(FieldPath.documentID(), in: ["w1", "w2"]),
      watches.whereField(FieldPath.documentID(), isGreaterThanOrEqualTo: watches.document("w1")),
      watches.whereFilter(
        .andFilter([
          .whereField("sea", isNotEqualTo: NSNull()),
          .orFilter([.whereField("light", in: lights), .whereField(FieldPath(["shift.hours"]), isEqualTo: 99)]),
        ])),
      watches.order(by: "began").start(at: [Timestamp(seconds: 0, nanoseconds: 0)]).end(before: [now]),
    ]
  }

  static func nestedData(name: String?, nickname: String?, light: DocumentReference) -> [String: Any] {
    [
      "name": name as Any,
      "nickname": nickname ?? NSNull(),
      "sea": "Kattegat",
      "light": light,
      "began": Timestamp(date: Date(timeIntervalSince1970: 1_000)),
      "ended": Date(timeIntervalSince1970: 2_000.5),
      "shift.hours": 6 as NSNumber,
      "keepers": ["Ida", "Kate"],
      "place": GeoPoint(latitude: 56.7, longitude: 11.5),
      "log": [["hour": 1, "calm": true], ["hour": 2, "calm": false]],
      "lamp": ["lens": ["order": 1, "maker": "Chance"] as [String: Any], "spare": nil] as [String: Any?],
    ]
  }

  // MARK: - Reading

  static func optionals(_ document: DocumentSnapshot?) -> [String] {
    let maker = ((document?.data()?["lamp"] as? [String: Any])?["lens"] as? [String: Any])?["maker"] as? String
    let order = document?.get("lamp.lens.order") as? Int ?? 0
    let hours = document?.get(FieldPath(["shift.hours"])) as? NSNumber
    let began = (document?["began"] as? Timestamp)?.dateValue().timeIntervalSince1970 ?? -1
    let calm = (document?["log"] as? [[String: Any]])?.first?["calm"] as? Bool
    let keepers = document?["keepers"] as? [String] ?? []
    let light = (document?["light"] as? DocumentReference)?.documentID
    let place = document?["place"] as? GeoPoint
    let none = document?["nickname"] is NSNull && document?["missing"] == nil
    return [
      maker ?? "?", "\(order)", "\(hours?.intValue ?? 0)", "\(began)", "\(calm ?? false)",
      keepers.joined(separator: "+"),
      light ?? "?", "\(place?.latitude ?? 0)", "\(none)",
    ]
  }

  static func readEach(_ db: Firestore, _ ids: [String]) async throws -> Set<String> {
    try await withThrowingTaskGroup(of: DocumentSnapshot.self) { group in
      for id in ids {
        group.addTask { try await db.collection("watches").document(id).getDocument() }
      }
      var found: Set<String> = []
      for try await document in group where document.exists { found.insert(document.documentID) }
      return found
    }
  }

  static func readAtOnce(_ db: Firestore) async throws -> (count: Int, exists: Bool, total: Int) {
    async let snapshot = db.collection("watches").getDocuments()
    async let document = db.collection("watches").document("w1").getDocument(source: .server)
    async let total = db.collection("watches").count.getAggregation(source: .server)
    return try await (snapshot.count, document.exists, Int(truncating: total.count))
  }

  static func continuation(_ db: Firestore) async throws -> [String] {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[String], Error>) in
      db.collection("watches").order(by: "began").getDocuments { (snapshot: QuerySnapshot?, error: Error?) in
        if let error = error {
          continuation.resume(throwing: error)
        } else {
          continuation.resume(returning: snapshot?.documents.map { $0.documentID } ?? [])
        }
      }
    }
  }

  static func group(_ db: Firestore, _ ids: [String], _ done: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for id in ids {
      group.enter()
      db.collection("watches").document(id).getDocument { document, error in
        guard error == nil, let document = document, document.exists else {
          group.leave()
          return
        }
        group.leave()
      }
    }
    group.notify(queue: .global()) { done(ids.count) }
  }

  static func resultOf(_ db: Firestore, _ id: String, completion: @escaping (Result<String, Error>) -> Void) {
    db.collection("watches").document(id).getDocument(source: .cache) { document, error in
      guard let document = document else {
        completion(.failure(error!))
        return
      }
      completion(.success(document.documentID))
    }
  }

  static func changes(_ db: Firestore, _ report: @escaping (String) -> Void) -> any ListenerRegistration {
    db.collection("watches").addSnapshotListener(includeMetadataChanges: false) { querySnapshot, error in
      guard let snapshot = querySnapshot else {
        return report("Error fetching snapshots: \(error?.localizedDescription ?? "")")
      }
      for diff in snapshot.documentChanges {
        switch diff.type {
        case .added: report("+\(diff.document.documentID)@\(diff.newIndex)")
        case .modified: report("~\(diff.document.documentID)")
        case .removed: report("-\(diff.document.documentID)@\(diff.oldIndex)")
        }
      }
    }
  }

  // MARK: - Writing

  static func writeInBatches(_ db: Firestore, _ watches: [String: [String: Any]]) async throws {
    let batch = db.batch()
    for (id, data) in watches {
      batch.setData(data, forDocument: db.collection("watches").document(id))
    }
    try await batch.commit()
    try await db.batch()
      .updateData(["sea": "Baltic"], forDocument: db.document("watches/w1"))
      .setData(["extra": FieldValue.increment(1)], forDocument: db.document("watches/w1"), merge: true)
      .setData(["a": 1, "b": 2], forDocument: db.document("watches/w1"), mergeFields: ["a", FieldPath(["b"])])
      .commit()
  }

  static func writeWithClosures(_ db: Firestore, _ done: @escaping (Error?) -> Void) {
    let document = db.collection("watches").document("w9")
    let failed: (Error?) -> Void = { error in if let error = error { done(error) } }
    document.setData(["n": 1], completion: failed)
    document.setData(["n": FieldValue.increment(Int64(2))], merge: true, completion: failed)
    document.updateData(["tags": FieldValue.arrayUnion(["new"]), "seen": FieldValue.serverTimestamp()]) { err in
      guard err == nil else { return done(err) }
      document.delete { error in
        done(error)
      }
    }
  }

  static func transfer(_ db: Firestore) async throws -> Int? {
    let (from, to) = (db.document("watches/w1"), db.document("watches/w2"))
    let result = try await db.runTransaction { transaction, errorPointer in
      guard let source = try? transaction.getDocument(from), source.exists else { return nil }
      let hours = source.get(FieldPath(["shift.hours"])) as? Int ?? 0
      transaction.updateData([FieldPath(["shift.hours"]): hours - 1], forDocument: from)
        .setData(["given": hours], forDocument: to, merge: true)
      return hours - 1
    }
    return result as? Int
  }

  static func transferWithClosures(_ db: Firestore, _ done: @escaping (String) -> Void) {
    db.runTransaction { transaction, errorPointer -> Any? in
      transaction.deleteDocument(db.document("watches/w2"))
      return "gone"
    } completion: { result, error in
      done(error.map { $0.localizedDescription } ?? result as? String ?? "nothing")
    }
  }

  static func estimates(_ db: Firestore) async throws -> [Bool] {
    let document = db.document("watches/estimated")
    document.setData(["at": FieldValue.serverTimestamp()], completion: nil)
    let snapshot = try await document.getDocument(source: .cache)
    return [
      snapshot.data()?["at"] is NSNull, snapshot.data(with: .estimate)?["at"] is Timestamp,
      snapshot.get("at", serverTimestampBehavior: .previous) is NSNull, snapshot.metadata.hasPendingWrites,
    ]
  }
}

// MARK: - Isolation

/// A view's model, which lives on the main actor as its listener's callbacks do.
@MainActor
final class WatchList {
  private(set) var names: [String] = []
  private(set) var problem: String?
  private var listener: ListenerRegistration?
  private let db: Firestore

  init(db: Firestore) {
    self.db = db
  }

  func start(_ onChange: @escaping () -> Void) {
    guard listener == nil else { return }
    listener = db.collection("watches").order(by: "began").addSnapshotListener { [weak self] snapshot, error in
      guard let self else { return }
      if let error {
        self.problem = error.localizedDescription
      }
      guard let documents = snapshot?.documents else { return }
      self.names = documents.compactMap { $0.data()["name"] as? String }
      onChange()
    }
  }

  func add(_ name: String) {
    Task {
      do {
        try await db.collection("watches").addDocument(data: ["name": name, "began": Timestamp()])
      } catch {
        problem = error.localizedDescription
      }
    }
  }

  func load(_ id: String) async throws -> [String: Any] {
    try await db.collection("watches").document(id).getDocument().data() ?? [:]
  }

  func stop() {
    listener?.remove()
    listener = nil
  }
}

/// A store that is an actor of its own.
actor WatchStore {
  private let db: Firestore
  private var cached: [String: DocumentSnapshot] = [:]
  private var batch: WriteBatch?

  init(db: Firestore) {
    self.db = db
  }

  func watch(_ id: String) async throws -> String? {
    if cached[id] == nil { cached[id] = try await db.collection("watches").document(id).getDocument() }
    return cached[id]?.get("name") as? String
  }

  func rename(_ id: String, to name: String) async throws {
    let fields: [AnyHashable: Any] = ["name": name, FieldPath(["renamed"]): true]
    try await db.collection("watches").document(id).updateData(fields)
    cached[id] = nil
  }

  func collect(_ id: String) {
    let batch = batch ?? db.batch()
    batch.updateData(["collected": true], forDocument: db.document("watches/\(id)"))
    self.batch = batch
  }

  func firstNames() async throws -> [String] {
    for try await snapshot in db.collection("watches").order(by: "began").snapshots {
      return snapshot.documents.compactMap { $0["name"] as? String }
    }
    return []
  }
}
