import Foundation
import Hearth
import Logging
import ServiceLifecycle

/// An item as it is stored and served.
struct Item: Codable, Sendable {
  var id: String
  var name: String
}

/// The items, in the cache that all workers share.
struct ItemStore: Service {
  private let database: Firestore
  private let logger: Logger

  init(host: String, project: String, cache: String, logger: Logger) {
    self.logger = logger
    let options = FirebaseOptions(googleAppID: "1:1:swift:webservice", gcmSenderID: "1")
    options.projectID = project
    FirebaseApp.configure(options: options)
    database = Firestore.firestore()
    let settings = FirestoreSettings()
    settings.host = host
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "items")
    // The same folder in each worker, and nothing else: sharing is the default.
    settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: cache, isDirectory: true))
    database.settings = settings
  }

  /// Follows the items until the service is shut down. All workers do, and the backend sees one of them.
  func run() async throws {
    let logger = logger
    let registration = byName.addSnapshotListener { _, error in
      if let error { logger.error("the items are not followed any more: \(error.localizedDescription)") }
    }
    try? await gracefulShutdown()
    registration.remove()
    try await database.terminate()
  }

  /// The items by name.
  ///
  /// - Returns: The items, from the cache if it has any, and whether none is missing as far as this machine can know.
  /// - Throws: Errors of the cache's file, and of a backend that refuses the query.
  func all() async throws -> (items: [Item], isComplete: Bool) {
    let snapshot = try await byName.getDocuments(policy: .cacheFirst)
    let found = snapshot.documents.map { Item(id: $0.documentID, name: $0.get("name") as? String ?? "") }
    return (found, snapshot.completeness.isComplete)
  }

  /// Stores an item.
  ///
  /// - Returns: The item, when it is on the disk of this machine and each worker serves it. One of them sends it to the backend.
  /// - Throws: Errors of the cache's file.
  func add(name: String) async throws -> Item {
    let (document, receipt) = items.withReceipt.addDocument(data: ["name": name])
    try await receipt.saved()
    return Item(id: document.documentID, name: name)
  }

  /// The number of writes of all workers that the backend has not answered.
  func waiting() async throws -> Int {
    try await database.outbox.count()
  }

  private var items: CollectionReference { database.collection("items") }
  private var byName: Query { items.order(by: "name") }
}
