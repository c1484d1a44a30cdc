import Hearth

/// The calls of the page "Access data offline", in the shapes in which applications copy them: they have to compile as they
/// stand, in both language modes.
enum OfflinePage {
  static func chooseCache() {
    let settings = FirestoreSettings()

    // In memory only.
    settings.cacheSettings =
      MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())

    // Or on disk; the last choice counts.
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)

    let db = Firestore.firestore()
    db.settings = settings
  }

  @available(*, deprecated)
  static func switchPersistenceOn() {
    let settings = FirestoreSettings()
    settings.isPersistenceEnabled = true
    let db = Firestore.firestore()
    db.settings = settings
  }

  static func chooseSize() {
    let settings = Firestore.firestore().settings
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)
    Firestore.firestore().settings = settings
  }

  @available(*, deprecated)
  static func switchCleanUpOff() {
    let settings = Firestore.firestore().settings
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    Firestore.firestore().settings = settings
  }

  static func listen(db: Firestore) {
    db.collection("harbours").whereField("sea", isEqualTo: "Baltic")
      .addSnapshotListener(includeMetadataChanges: true) { querySnapshot, error in
        guard let snapshot = querySnapshot else {
          print("The listener ended: \(error!)")
          return
        }

        for diff in snapshot.documentChanges {
          if diff.type == .added {
            print("New: \(diff.document.data())")
          }
        }

        let source = snapshot.metadata.isFromCache ? "cache" : "server"
        print("Read from the \(source)")
      }
  }

  static func indexAutomatically() {
    if let indexManager = Firestore.firestore().persistentCacheIndexManager {
      indexManager.enableIndexAutoCreation()
    } else {
      print("no indexes in memory")
    }
  }

  static func indexByHand() {
    let json = """
        {
          indexes: [
              ...
          ]
        }
      """
    Firestore.firestore().setIndexConfiguration(json)
  }

  static func goOffline() {
    Firestore.firestore().disableNetwork { (error) in
      // Work without a network.
    }
  }

  static func goOnline() {
    Firestore.firestore().enableNetwork { (error) in
      // Work with a network.
    }
  }
}

/// Shapes of applications whose closures work on the main actor's state.
@MainActor
final class ApplicationShapes {
  var names: [String] = []
  var registration: (any ListenerRegistration)?

  func listen(_ db: Firestore) {
    registration = db.collection("harbours").order(by: "name", descending: true).limit(to: 3).addSnapshotListener {
      [weak self] snapshot, error in
      MainActor.assumeIsolated {
        self?.names = snapshot?.documents.compactMap { $0["name"] as? String } ?? []
      }
    }
  }

  func write(_ db: Firestore) async throws {
    let reference = try await db.collection("harbours").addDocument(data: ["name": "Visby", "depth": 6])
    try await reference.updateData(["open": true, "calls": FieldValue.increment(Int64(1))])
    try await reference.setData(["open": true], merge: true)
    let batch = db.batch()
    batch.setData([:], forDocument: reference).deleteDocument(reference)
    try await batch.commit()
    for try await snapshot in reference.snapshots {
      names = [snapshot.documentID]
    }
  }

  func writeWithoutWaiting(_ db: Firestore) {
    db.collection("harbours").addDocument(data: ["name": "Visby"]) { error in
      if let error { print("not added: \(error)") }
    }
    db.collection("harbours").document("Ystad").setData(["name": "Ystad"])
    db.waitForPendingWrites { _ in }
    do {
      throw FirestoreErrorCode(.notFound)
    } catch FirestoreErrorCode.notFound {
    } catch {}
  }
}
