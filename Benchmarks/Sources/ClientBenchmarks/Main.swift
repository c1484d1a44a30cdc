internal import BenchmarkKit
internal import Foundation
internal import Hearth
internal import HearthServer
internal import Logging
internal import Synchronization

/// The public API as an app uses it, with a server in the same process.
@main
enum Main {
  static func main() throws {
    if CommandLine.arguments.dropFirst().first == Peer.command { try Peer.main() }
    Suite(
      [
        Benchmark(
          "client.listen-cached", group: "Public API",
          title: "3,000 documents, listen offline to the first snapshot, all data read (took 1 to 2 s)", sizes: [3_000],
          body: listenCached),
        Benchmark(
          "client.listen-fresh", group: "Public API",
          title: "3,000 documents, listen with an empty cache to the complete snapshot, server included",
          sizes: [3_000],
          body: listenFresh),
      ] + CodableBenchmarks.all + SharingBenchmarks.all
    ).main()
  }

  private static func listenCached(_ session: Session) throws {
    let server = try ServerWithDocuments(count: session.size)
    let folder = try session.makeFolder()
    // Fills the cache.
    let filling = App(folder: folder, server: server)
    try filling.listen(expecting: session.size)
    try filling.end()
    try session.measure(
      setUp: {
        let app = App(folder: folder, server: server)
        try app.goOffline()
        return app
      },
      run: { app, _ in try app.listen(expecting: session.size) }, tearDown: { try $0.end() })
    try server.stop()
  }

  private static func listenFresh(_ session: Session) throws {
    let server = try ServerWithDocuments(count: session.size)
    try session.measure(
      setUp: { App(folder: try session.makeFolder(), server: server) },
      run: { app, _ in try app.listen(expecting: session.size) }, tearDown: { try $0.end() })
    try server.stop()
  }
}

/// A server with the documents of a collection, in memory.
final class ServerWithDocuments {
  let host: String
  private let server: EmbeddedServer

  init(count: Int) throws {
    let server = try waitFor {
      try await EmbeddedServer.start(
        storage: .memory, logger: Logger(label: "benchmark", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
    self.server = server
    host = "127.0.0.1:\(server.port)"
    let app = App(cache: MemoryCacheSettings(), host: host)
    for start in stride(from: 0, to: count, by: 250) {
      let batch = app.firestore.batch()
      for index in start..<min(start + 250, count) {
        batch.setData(Self.fields(index), forDocument: app.places.document(Self.id(index)))
      }
      try wait { batch.commit(completion: $0) }
    }
    try app.end()
  }

  func stop() throws {
    let server = server
    try waitFor { await server.shutdown() }
  }

  private static func id(_ index: Int) -> String {
    String(format: "place-%014d", index &* 7_919 % 100_000)
  }

  /// The shape of the documents of the other benchmarks.
  private static func fields(_ index: Int) -> [String: Any] {
    [
      "title": "Place number \(index)", "group": index % 300, "rank": index, "price": Double(index) / 8,
      "active": index % 2 == 0, "createdAt": Timestamp(seconds: 1_700_000_000 + Int64(index), nanoseconds: 0),
      "tags": ["harbour", "orchard", "lantern"], "location": GeoPoint(latitude: 48.1, longitude: 11.5),
      "address": ["street": "terrace street \(index % 200)", "city": "willow"], "owner": id(index + 1),
      "notes": String(repeating: "meadow quarry ", count: 12),
    ]
  }
}

/// One Firestore object of an app of its own.
final class App {
  let firestore: Firestore

  convenience init(folder: String, server: ServerWithDocuments) {
    self.init(cache: PersistentCacheSettings(directory: URL(fileURLWithPath: folder)), host: server.host)
  }

  init(cache: any LocalCacheSettings & NSObjectProtocol, host: String) {
    // The name is a part of the cache's folder, so all have the same; ending one makes it free again.
    let name = "benchmark"
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "benchmark"))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("No app was configured.") }
    firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = host
    settings.isSSLEnabled = false
    settings.cacheSettings = cache
    settings.dispatchQueue = DispatchQueue(label: "benchmark")
    firestore.settings = settings
  }

  var places: CollectionReference { firestore.collection("places") }

  func goOffline() throws {
    try wait { firestore.disableNetwork(completion: $0) }
  }

  /// Listens until a snapshot has all documents, and reads the data of each.
  func listen(expecting count: Int) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<String?>(nil)
    let registration = places.addSnapshotListener { snapshot, error in
      if let error {
        failure.withLock { $0 = "\(error)" }
        done.signal()
      }
      guard let snapshot, snapshot.count == count else { return }
      let fieldCount = snapshot.documents.reduce(0) { $0 + $1.data().count }
      if fieldCount != 11 * count { failure.withLock { $0 = "\(fieldCount) fields" } }
      done.signal()
    }
    done.wait()
    registration.remove()
    if let message = failure.withLock({ $0 }) { throw Failure(message: message) }
  }

  func end() throws {
    // Terminates the Firestore object too.
    let app = firestore.app
    try waitFor { await app.delete() }
  }
}

struct Failure: Error {
  var message: String
}

/// Waits for the completion of a call.
func wait(_ start: (@escaping ((any Error)?) -> Void) -> Void) throws {
  let done = DispatchSemaphore(value: 0)
  nonisolated(unsafe) var failure: (any Error)?
  start {
    // Read only after the semaphore was signalled.
    failure = $0
    done.signal()
  }
  done.wait()
  if let failure { throw failure }
}

/// Waits for asynchronous work.
@discardableResult
func waitFor<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) throws -> T {
  let done = DispatchSemaphore(value: 0)
  let result = Mutex<Result<T, any Error>?>(nil)
  Task {
    let outcome: Result<T, any Error>
    do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
    result.withLock { $0 = outcome }
    done.signal()
  }
  done.wait()
  guard let outcome = result.withLock({ $0 }) else { throw Failure(message: "no result") }
  return try outcome.get()
}
