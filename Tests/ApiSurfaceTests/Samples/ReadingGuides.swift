import Hearth

/// The calls of the official guides "Get data", "Listen", "Query", "Order and limit", "Cursors", "Aggregate" and "Bundles", in
/// their shapes, on data of our own. Tests run them against a server.
enum ReadingGuides {
  // MARK: - Get data

  static var lights: [String: [String: Any]] {
    [
      "LS": ["name": "Longstone", "sea": "North Sea", "country": "UK", "height": 26, "signals": ["light", "fog"]],
      "RS": ["name": "Roter Sand", "sea": "North Sea", "country": "Germany", "height": 28, "signals": ["light"]],
      "KU": ["name": "Kullen", "sea": "Kattegat", "country": "Sweden", "height": 15, "signals": ["light", "radio"]],
      "AN": ["name": "Anholt", "sea": "Kattegat", "country": "Denmark", "height": 42, "signals": ["light", "fog"]],
      "HI": ["name": "Hiddensee", "sea": "Baltic", "country": "Germany", "height": 28, "signals": ["light"]],
    ]
  }

  static func exampleData(_ db: Firestore) async throws {
    let lightsRef = db.collection("lights")
    for (id, data) in lights {
      try await lightsRef.document(id).setData(data)
    }
    try await lightsRef.document("LS").collection("rooms").document("lamp").setData(["name": "Lamp room"])
    try await lightsRef.document("AN").collection("rooms").document("watch").setData(["name": "Watch room"])
  }

  static func getDocument(_ db: Firestore) async -> String {
    let docRef = db.collection("lights").document("AN")
    do {
      let document = try await docRef.getDocument()
      if document.exists {
        let dataDescription = document.data().map { "\($0["name"] ?? "nil")" } ?? "nil"
        return dataDescription
      } else {
        return "Document does not exist"
      }
    } catch {
      return "Error getting document: \(error)"
    }
  }

  static func getDocumentWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    let docRef = db.collection("lights").document("AN")
    docRef.getDocument { (document, error) in
      if let document = document, document.exists {
        let dataDescription = document.data().map(String.init(describing:)) ?? "nil"
        done(dataDescription)
      } else {
        done("Document does not exist")
      }
    }
  }

  static func getFromCache(_ db: Firestore) async -> String {
    let docRef = db.collection("lights").document("AN")
    do {
      let document = try await docRef.getDocument(source: .cache)
      if document.exists {
        return document.data().map { "\($0["name"] ?? "nil")" } ?? "nil"
      } else {
        return "Document does not exist in cache"
      }
    } catch {
      return "Error getting document: \(error)"
    }
  }

  static func getSome(_ db: Firestore) async -> [String] {
    var ids: [String] = []
    do {
      let querySnapshot = try await db.collection("lights").whereField("sea", isEqualTo: "Kattegat").getDocuments()
      for document in querySnapshot.documents {
        ids.append(document.documentID)
      }
    } catch {
      print("Error getting documents: \(error)")
    }
    return ids
  }

  static func getSubcollection(_ db: Firestore) async -> [String] {
    do {
      let querySnapshot = try await db.collection("lights/LS/rooms").getDocuments()
      return querySnapshot.documents.map(\.documentID)
    } catch {
      print("Error getting documents: \(error)")
      return []
    }
  }

  static func getGroup(_ db: Firestore) async -> [String] {
    do {
      let querySnapshot = try await db.collectionGroup("rooms").getDocuments()
      return querySnapshot.documents.map { $0.documentID }
    } catch {
      print("Error getting documents: \(error)")
      return []
    }
  }

  // MARK: - Listen

  static func listenToDocument(_ db: Firestore, _ report: @escaping (String) -> Void) -> ListenerRegistration {
    return db.collection("lights").document("LS")
      .addSnapshotListener { documentSnapshot, error in
        guard let document = documentSnapshot else {
          report("Error fetching document: \(error!)")
          return
        }
        guard let data = document.data() else {
          report("Document data was empty.")
          return
        }
        let source = document.metadata.hasPendingWrites ? "Local" : "Server"
        report("\(source) data: \(data["name"] ?? "")")
      }
  }

  static func listenToQuery(_ db: Firestore, _ report: @escaping ([String]) -> Void) {
    let listener = db.collection("lights").whereField("sea", isEqualTo: "Kattegat")
      .addSnapshotListener { querySnapshot, error in
        guard let documents = querySnapshot?.documents else {
          print("Error fetching documents: \(error!)")
          return
        }
        let names = documents.compactMap { $0["name"] as? String }
        report(names)
      }
    _ = listener
  }

  static func listenToChanges(_ db: Firestore, _ report: @escaping (String) -> Void) -> ListenerRegistration {
    return db.collection("lights").whereField("sea", isEqualTo: "Kattegat")
      .addSnapshotListener(includeMetadataChanges: true) { querySnapshot, error in
        guard let snapshot = querySnapshot else {
          report("Error fetching snapshots: \(error!)")
          return
        }
        snapshot.documentChanges.forEach { diff in
          if diff.type == .added {
            report("New: \(diff.document.documentID)")
          }
          if diff.type == .modified {
            report("Modified: \(diff.document.documentID)")
          }
          if diff.type == .removed {
            report("Removed: \(diff.document.documentID)")
          }
        }
      }
  }

  static func listenToCache(_ db: Firestore, _ report: @escaping (String) -> Void) -> any ListenerRegistration {
    let options = SnapshotListenOptions().withSource(.cache).withIncludeMetadataChanges(true)
    return db.collection("lights").document("LS").addSnapshotListener(options: options) { documentSnapshot, error in
      guard let document = documentSnapshot, let data = document.data() else { return }
      report("\(data["name"] ?? "")")
    }
  }

  static func awaitSnapshots(_ db: Firestore) async throws -> Int {
    for try await snapshot in db.collection("lights").snapshots(includeMetadataChanges: true) {
      if !snapshot.metadata.isFromCache { return snapshot.count }
    }
    return 0
  }

  // MARK: - Query

  static func queries(_ db: Firestore) -> [(Query, Set<String>)] {
    let lightsRef = db.collection("lights")
    return [
      (lightsRef.whereField("sea", isEqualTo: "Baltic"), ["HI"]),
      (lightsRef.whereField("height", isLessThan: 26), ["KU"]),
      (lightsRef.whereField("name", isGreaterThanOrEqualTo: "Longstone"), ["LS", "RS"]),
      (lightsRef.whereField("country", isNotEqualTo: "Germany"), ["LS", "KU", "AN"]),
      (lightsRef.whereField("signals", arrayContains: "fog"), ["LS", "AN"]),
      (lightsRef.whereField("country", in: ["UK", "Sweden"]), ["LS", "KU"]),
      (lightsRef.whereField("country", notIn: ["UK", "Sweden"]), ["RS", "AN", "HI"]),
      (lightsRef.whereField("signals", arrayContainsAny: ["radio", "fog"]), ["LS", "AN", "KU"]),
      (lightsRef.whereField("signals", in: [["light"], ["light", "radio"]]), ["RS", "HI", "KU"]),
      (lightsRef.whereField(FieldPath.documentID(), in: ["AN", "KU"]), ["AN", "KU"]),
      (
        lightsRef
          .whereField("sea", isEqualTo: "North Sea")
          .whereField("name", isEqualTo: "Roter Sand"), ["RS"]
      ),
      (
        lightsRef
          .whereField("height", isGreaterThan: 15)
          .whereField("height", isLessThanOrEqualTo: 28), ["LS", "RS", "HI"]
      ),
      (
        lightsRef.whereFilter(
          Filter.orFilter([
            Filter.whereField("sea", isEqualTo: "Baltic"),
            Filter.whereField("height", isGreaterOrEqualTo: 40),
          ])), ["HI", "AN"]
      ),
      (
        lightsRef.whereFilter(
          Filter.andFilter([
            Filter.whereField("country", isEqualTo: "Germany"),
            Filter.orFilter([
              Filter.whereField("sea", isEqualTo: "Baltic"),
              Filter.whereField("name", isEqualTo: "Kullen"),
            ]),
          ])), ["HI"]
      ),
    ]
  }

  // MARK: - Order and limit, cursors

  static func orders(_ db: Firestore) -> [(Query, [String])] {
    let lightsRef = db.collection("lights")
    return [
      (lightsRef.order(by: "name").limit(to: 3), ["AN", "HI", "KU"]),
      (lightsRef.order(by: "name", descending: true).limit(to: 3), ["RS", "LS", "KU"]),
      (lightsRef.order(by: "country").order(by: "height", descending: true), ["AN", "RS", "HI", "KU", "LS"]),
      (lightsRef.whereField("height", isGreaterThan: 26).order(by: "height").limit(to: 2), ["HI", "RS"]),
      (lightsRef.order(by: "height").limit(toLast: 2), ["RS", "AN"]),
      (lightsRef.order(by: "height").start(at: [28]), ["HI", "RS", "AN"]),
      (lightsRef.order(by: "height").end(at: [26]), ["KU", "LS"]),
      (lightsRef.order(by: "height").start(after: [26]).end(before: [42]), ["HI", "RS"]),
      (lightsRef.order(by: "height").order(by: "name").start(at: [28, "Roter Sand"]), ["RS", "AN"]),
    ]
  }

  static func cursorAtDocument(_ db: Firestore) async throws -> [String] {
    let document = try await db.collection("lights").document("LS").getDocument()
    let query = db.collection("lights")
      .order(by: "height")
      .start(atDocument: document)
    return try await query.getDocuments().documents.map { $0.documentID }
  }

  static func paginate(_ db: Firestore, _ report: @escaping ([String]) -> Void) {
    let first = db.collection("lights")
      .order(by: "height")
      .limit(to: 2)

    first.addSnapshotListener { (snapshot, error) in
      guard let snapshot = snapshot else {
        print("Error retrieving lights: \(error.debugDescription)")
        return
      }
      guard let lastSnapshot = snapshot.documents.last else {
        return
      }
      let next = db.collection("lights")
        .order(by: "height")
        .start(afterDocument: lastSnapshot)
        .limit(to: 2)
      next.getDocuments { (snapshot, error) in
        report(snapshot?.documents.map { $0.documentID } ?? [])
      }
    }
  }

  // MARK: - Aggregate

  static func aggregate(_ db: Firestore) async throws -> [Double] {
    let query = db.collection("lights").whereField("country", isEqualTo: "Germany")
    let countQuery = query.count
    let snapshot = try await countQuery.getAggregation(source: .server)
    let aggregateQuery = query.aggregate([
      AggregateField.count(),
      AggregateField.sum("height"),
      AggregateField.average("height"),
    ])
    let all = try await aggregateQuery.getAggregation(source: .server)
    return [
      snapshot.count.doubleValue,
      all.count.doubleValue,
      (all.get(AggregateField.sum("height")) as? NSNumber)?.doubleValue ?? .nan,
      all.get(AggregateField.average("height")) as? Double ?? .nan,
    ]
  }

  // MARK: - Bundles

  static func load(_ db: Firestore, _ bundle: Data, _ report: @escaping ([String]) -> Void) {
    let loadTask = db.loadBundle(bundle)
    loadTask.addObserver { progress in
      switch progress.state {
      case .error:
        report(["error"])
      case .inProgress:
        print("\(progress.bytesLoaded) of \(progress.totalBytes) bytes")
      case .success:
        db.getQuery(named: "latest-lights") { query in
          query?.getDocuments(source: .cache) { snapshot, error in
            report(snapshot?.documents.map { $0.documentID } ?? ["\(error!)"])
          }
        }
      @unknown default:
        break
      }
    }
  }

  static func loadAndWait(_ db: Firestore, _ stream: InputStream) async throws -> Int {
    let progress = try await db.loadBundle(stream)
    return progress.documentsLoaded
  }
}
