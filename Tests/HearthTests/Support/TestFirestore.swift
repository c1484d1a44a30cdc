import Foundation
import Synchronization
import Testing

@testable import Hearth

/// A Firestore object of an app of its own, with callbacks on a queue of its own and, by default, a memory cache and a port
/// where nobody listens.
struct TestFirestore {
  let app: FirebaseApp
  let firestore: Firestore

  /// - Parameter name: Two objects of one name, directory and project share a cache folder.
  init(
    name: String = UUID().uuidString, projectID: String = "demo-hearth",
    cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings(), host: String = "127.0.0.1:1",
    conflictRules: [Hearth.ConflictRule] = []
  ) throws {
    if FirebaseApp.app(name: name) == nil {
      FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: projectID))
    }
    app = try #require(FirebaseApp.app(name: name))
    firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = host
    settings.isSSLEnabled = false
    settings.cacheSettings = cache
    settings.dispatchQueue = DispatchQueue(label: "test")
    settings.conflictRules = conflictRules
    firestore.settings = settings
  }

  /// The same with the network switched off.
  static func offline(
    name: String = UUID().uuidString, cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings()
  ) async throws -> Firestore {
    let firestore = try TestFirestore(name: name, cache: cache).firestore
    try await firestore.disableNetwork()
    return firestore
  }
}

/// A folder that is gone when the test ends.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// All regular files below, as paths relative to the folder, with their contents.
  func contents() -> [String: Data] {
    var result: [String: Data] = [:]
    let files = FileManager.default.enumerator(atPath: url.path)
    while let path = files?.nextObject() as? String {
      guard files?.fileAttributes?[.type] as? FileAttributeType == .typeRegular else { continue }
      result[path] = FileManager.default.contents(atPath: url.appendingPathComponent(path).path)
    }
    return result
  }
}

/// Events that callbacks report and a test waits for, in order.
final class Recorder<Event: Sendable>: Sendable {
  private let stream: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  private let all = Mutex<[Event]>([])

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  func record(_ event: Event) {
    all.withLock { $0.append(event) }
    continuation.yield(event)
  }

  /// Everything so far, waited for or not.
  var events: [Event] { all.withLock { $0 } }

  /// The next event that was not waited for yet.
  func next() async throws -> Event {
    try await next { _ in true }
  }

  /// The next event of this kind; the ones before it are skipped.
  func next(where isWanted: (Event) -> Bool) async throws -> Event {
    for await event in stream where isWanted(event) { return event }
    throw CancellationError()
  }
}

extension Query {
  /// Records a listener's snapshots.
  func record(
    includeMetadataChanges: Bool = false, source: ListenSource = .default
  ) -> (recorder: Recorder<Result<QuerySnapshot, NSError>>, registration: any ListenerRegistration) {
    let recorder = Recorder<Result<QuerySnapshot, NSError>>()
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges).withSource(source)
    let registration = addSnapshotListener(options: options) { snapshot, error in
      recorder.record(result(snapshot, error))
    }
    return (recorder, registration)
  }
}

extension DocumentReference {
  /// Records a listener's snapshots.
  func record(
    includeMetadataChanges: Bool = false
  ) -> (recorder: Recorder<Result<DocumentSnapshot, NSError>>, registration: any ListenerRegistration) {
    let recorder = Recorder<Result<DocumentSnapshot, NSError>>()
    let registration = addSnapshotListener(includeMetadataChanges: includeMetadataChanges) { snapshot, error in
      recorder.record(result(snapshot, error))
    }
    return (recorder, registration)
  }
}

/// The arguments of a callback as a result; exactly one of them must be present.
func result<Snapshot>(_ snapshot: Snapshot?, _ error: (any Error)?) -> Result<Snapshot, NSError> {
  switch (snapshot, error) {
  case (let snapshot?, nil): .success(snapshot)
  case (nil, let error?): .failure(error as NSError)
  default: .failure(NSError(domain: "test", code: 1))
  }
}

/// The error that an operation throws, as an application sees it.
func thrown(_ body: () async throws -> Void) async -> NSError? {
  do {
    try await body()
    return nil
  } catch {
    return error as NSError
  }
}

extension QuerySnapshot {
  var ids: [String] { documents.map(\.documentID) }
}

/// The message of a broken rule.
func message(_ body: () throws(ProgrammingError) -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return error.message
  }
}
