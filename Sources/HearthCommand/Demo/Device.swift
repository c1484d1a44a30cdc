import Foundation
import Hearth

/// An address of a Firestore backend that speaks plain text (`hearth serve`, or Google's emulator).
struct BackendAddress: Sendable, CustomStringConvertible {
  var host: String
  var port: Int

  var description: String { "\(host):\(port)" }

  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// Reads `HOST:PORT`; nil when it is not of that form.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port), colon != text.startIndex, !text.contains(where: { "/@?# ".contains($0) })
    else { return nil }
    self.init(host: String(text[..<colon]), port: port)
  }
}

/// A user of a backend with TLS.
struct SignedIn {
  /// The certificate to trust, in PEM form.
  var certificateFile: String
  var credentials: any FirestoreCredentials
}

/// One device of the story: a Firestore client with a cache of its own.
struct Device {
  let firestore: Firestore

  /// - Parameters:
  ///   - name: the app name; several devices can live in one process under different names.
  ///   - project: the project's id, the same for all devices.
  ///   - backend: the server that the device synchronizes with.
  ///   - cache: the folder of the durable cache, or nil for a cache in memory.
  ///   - signedIn: the user, if the backend has TLS and tells users apart.
  init(name: String, project: String, backend: BackendAddress, cache: URL?, signedIn: SignedIn? = nil) throws {
    if FirebaseApp.app(name: name) == nil {
      let options = FirebaseOptions(googleAppID: "1:1:swift:demo", gcmSenderID: "1")
      options.projectID = project
      FirebaseApp.configure(name: name, options: options)
    }
    guard let app = FirebaseApp.app(name: name) else {
      throw DemoError(description: "the app \(name) could not be configured")
    }
    firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = backend.description
    settings.isSSLEnabled = signedIn != nil
    if let signedIn {
      settings.credentials = signedIn.credentials
      settings.trustedCertificateFiles = [signedIn.certificateFile]
    }
    settings.dispatchQueue = DispatchQueue(label: "hearth.demo.\(name)")
    settings.cacheSettings = cache.map { PersistentCacheSettings(directory: $0) } ?? MemoryCacheSettings()
    firestore.settings = settings
  }

  /// Writes an entry of a journal together with an increment of its counter, without waiting for the backend.
  func write(entry number: Int, of journal: String) {
    let batch = firestore.batch()
    batch.setData(["number": number], forDocument: firestore.document("\(journal)-journal/entry-\(number)"))
    batch.setData(
      ["count": FieldValue.increment(Int64(1))], forDocument: firestore.document("totals/\(journal)"), merge: true)
    batch.commit()
  }
}

/// Something in the demo did not go as it must; the text says what.
struct DemoError: Error, CustomStringConvertible {
  var description: String
}

/// Collects the snapshots of a listener, so that the story can wait for a certain one.
final class SnapshotRecorder: @unchecked Sendable {
  // Safe: the listener only touches `latest` and `failure`, which are always used under `lock`; snapshots themselves are Sendable.
  // `registration` is set in `init` and only read afterwards.
  private let lock = NSLock()
  private var latest: QuerySnapshot?
  private var failure: (any Error)?
  private var registration: (any ListenerRegistration)?

  init(_ query: Query) {
    registration = query.addSnapshotListener(includeMetadataChanges: true) { [weak self] snapshot, error in
      guard let self else { return }
      self.lock.withLock {
        self.latest = snapshot ?? self.latest
        self.failure = error ?? self.failure
      }
    }
  }

  /// Waits until the newest snapshot satisfies `condition`, 30 seconds at most.
  func wait(for what: String, until condition: (QuerySnapshot) -> Bool) async throws -> QuerySnapshot {
    try await waitUntil(what) {
      let (snapshot, error) = lock.withLock { (latest, failure) }
      if let error { throw error }
      return snapshot.flatMap { condition($0) ? $0 : nil }
    }
  }

  func stop() {
    registration?.remove()
  }
}

/// Asks again and again, 30 seconds at most, until there is an answer.
func waitUntil<T>(_ what: String, _ answer: () throws -> T?) async throws -> T {
  let deadline = ContinuousClock.now + .seconds(30)
  while ContinuousClock.now < deadline {
    if let value = try answer() { return value }
    try await Task.sleep(for: .milliseconds(5))
  }
  throw DemoError(description: "waited 30 seconds in vain for \(what)")
}
