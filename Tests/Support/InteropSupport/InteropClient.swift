import Foundation
package import Hearth
package import Testing

/// A Firestore client for a test: its own app, its own cache, its own callback queue.
///
/// A durable cache belongs to an app name, so clients on the same folder share one app; the earlier client has to be terminated first.
package final class InteropClient {
  package let firestore: Firestore

  /// - Parameter cache: the folder of a durable cache; nil for a cache in memory.
  package init(port: Int, project: String, cache: URL? = nil, conflictRules: [Hearth.ConflictRule] = []) throws {
    let name = cache?.lastPathComponent ?? "client-\(UUID().uuidString)"
    if FirebaseApp.app(name: name) == nil {
      let options = FirebaseOptions(googleAppID: "1:1:swift:test", gcmSenderID: "1")
      options.projectID = project
      FirebaseApp.configure(name: name, options: options)
    }
    let app = try #require(FirebaseApp.app(name: name))
    firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:\(port)"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: name)
    settings.cacheSettings = cache.map { PersistentCacheSettings(directory: $0) } ?? MemoryCacheSettings()
    settings.conflictRules = conflictRules
    firestore.settings = settings
  }

  package func document(_ path: String) -> DocumentReference { firestore.document(path) }
  package func collection(_ path: String) -> CollectionReference { firestore.collection(path) }
}

/// Everything a listener was told, and a way to wait for what it must be told.
///
/// Waiting has no time limit of its own: a test that waits in vain is ended by its `.timeLimit`.
package final class EventLog: @unchecked Sendable {
  // Safe: the arrays are only touched under `lock`; snapshots are Sendable; `ticks` is thread-safe and read by one test at a time.
  private let lock = NSLock()
  private var snapshots: [QuerySnapshot] = []
  private var errors: [any Error] = []
  private var registration: (any ListenerRegistration)?
  private let ticks: AsyncStream<Void>

  package init(_ query: Query, includeMetadataChanges: Bool = true) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    ticks = stream
    registration = query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
      [weak self] snapshot, error in
      guard let self else { return }
      self.lock.withLock {
        if let snapshot { self.snapshots.append(snapshot) }
        if let error { self.errors.append(error) }
      }
      continuation.yield()
    }
  }

  package var all: [QuerySnapshot] { lock.withLock { snapshots } }

  /// Waits until the newest snapshot satisfies the condition.
  @discardableResult
  package func newest(_ what: Comment, where condition: (QuerySnapshot) -> Bool) async throws -> QuerySnapshot {
    if let snapshot = try newestNow(condition) { return snapshot }
    for await _ in ticks {
      if let snapshot = try newestNow(condition) { return snapshot }
    }
    return try #require(nil as QuerySnapshot?, "\(what); the last of \(all.count) snapshots: \(describeLast())")
  }

  package func remove() {
    registration?.remove()
  }

  private func newestNow(_ condition: (QuerySnapshot) -> Bool) throws -> QuerySnapshot? {
    let (snapshot, error) = lock.withLock { (snapshots.last, errors.first) }
    if let error { throw error }
    return snapshot.flatMap { condition($0) ? $0 : nil }
  }

  private func describeLast() -> String {
    guard let last = all.last else { return "none" }
    return "\(last.documents.map(\.documentID)), fromCache=\(last.metadata.isFromCache), "
      + "hasPendingWrites=\(last.metadata.hasPendingWrites)"
  }
}
