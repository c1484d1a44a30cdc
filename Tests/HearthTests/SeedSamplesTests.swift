import Hearth
import Testing

/// The samples of Google's page "Access data offline", unchanged but for the import line and the functions around them: they
/// have to compile.
enum SeedSamples {
  static func chooseCache() {
    let settings = FirestoreSettings()

    // Use memory-only cache
    settings.cacheSettings =
      MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())

    // Use persistent disk cache, with 100 MB cache size
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)

    // Any additional options
    // ...

    // Enable offline data persistence
    let db = Firestore.firestore()
    db.settings = settings
  }

  @available(*, deprecated)
  static func legacySwitch() {
    let settings = FirestoreSettings()
    settings.isPersistenceEnabled = true

    // Any additional options
    // ...

    // Enable offline data persistence
    let db = Firestore.firestore()
    db.settings = settings
  }

  static func cacheSize() {
    let settings = Firestore.firestore().settings
    // Set cache size to 100 MB
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)
    Firestore.firestore().settings = settings
  }

  @available(*, deprecated)
  static func legacySize() {
    let settings = Firestore.firestore().settings
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    Firestore.firestore().settings = settings
  }

  static func listen(db: Firestore) {
    // Listen to metadata updates to receive a server snapshot even if
    // the data is the same as the cached data.
    db.collection("cities").whereField("state", isEqualTo: "CA")
      .addSnapshotListener(includeMetadataChanges: true) { querySnapshot, error in
        guard let snapshot = querySnapshot else {
          print("Error retreiving snapshot: \(error!)")
          return
        }

        for diff in snapshot.documentChanges {
          if diff.type == .added {
            print("New city: \(diff.document.data())")
          }
        }

        let source = snapshot.metadata.isFromCache ? "local cache" : "server"
        print("Metadata: Data fetched from \(source)")
      }
  }

  static func automaticIndexes() {
    if let indexManager = Firestore.firestore().persistentCacheIndexManager {
      // Indexing is disabled by default
      indexManager.enableIndexAutoCreation()
    } else {
      print("indexManager is nil")
    }
  }

  static func configureIndexes() {
    // You will normally read this from a file asset or cloud storage.
    let indexConfigJson = """
        {
          indexes: [
              ...
          ],
          fieldOverrides: [
              ...
          ]
        }
      """

    // Apply the configuration.
    Firestore.firestore().setIndexConfiguration(indexConfigJson)
  }

  /// The text of ``configureIndexes()``, which is no JSON.
  static let indexConfiguration = """
      {
        indexes: [
            ...
        ],
        fieldOverrides: [
            ...
        ]
      }
    """

  static func disableNetwork() {
    Firestore.firestore().disableNetwork { (error) in
      // Do offline things
      // ...
    }
  }

  static func enableNetwork() {
    Firestore.firestore().enableNetwork { (error) in
      // Do online things
      // ...
    }
  }
}

/// Shapes that applications use and that have to compile, with state of the application's own queue in the closures.
@MainActor
final class ApplicationShapes {
  var names: [String] = []
  var registration: (any ListenerRegistration)?

  func listen(_ db: Firestore) {
    registration = db.collection("cities").order(by: "name", descending: true).limit(to: 3).addSnapshotListener {
      [weak self] snapshot, error in
      MainActor.assumeIsolated {
        self?.names = snapshot?.documents.compactMap { $0["name"] as? String } ?? []
      }
    }
  }

  func write(_ db: Firestore) async throws {
    let reference = try await db.collection("cities").addDocument(data: ["name": "Tokyo", "country": "Japan"])
    try await reference.updateData(["capital": true, "visits": FieldValue.increment(Int64(1))])
    try await reference.setData(["capital": true], merge: true)
    let batch = db.batch()
    batch.setData([:], forDocument: reference).deleteDocument(reference)
    try await batch.commit()
    for try await snapshot in reference.snapshots {
      names = [snapshot.documentID]
    }
  }

  func writeWithoutWaiting(_ db: Firestore) {
    db.collection("cities").addDocument(data: ["name": "Tokyo"]) { error in
      if let error { print("Error adding document: \(error)") }
    }
    db.collection("cities").document("LA").setData(["name": "Los Angeles"])
    db.waitForPendingWrites { _ in }
    do {
      throw FirestoreErrorCode(.notFound)
    } catch FirestoreErrorCode.notFound {
    } catch {}
  }
}
