internal import Foundation
public import Hearth
internal import HearthModel
internal import HearthServer
internal import Logging
internal import Synchronization

/// A backend in the process of a test that does what the test says: it delays, fails, refuses, and cannot be reached.
///
/// ```swift
/// let backend = try await ScriptedBackend.start()
/// let db = backend.firestore()
/// backend.reject(.writes.at("cities/SF"), with: .permissionDenied)
/// let receipt = db.document("cities/SF").withReceipt.setData(["name": "San Francisco"])
/// // … what the app shows …
/// try await db.terminate()
/// await backend.stop()
/// ```
///
/// It is the server of the program `hearth serve` in memory, on a free port of this machine, so queries, transactions, listeners and
/// server timestamps are answered as by any backend; the script stands before it. ``others`` is a client that the script does not concern:
/// another device, or the test that prepares data. Every test can have a backend of its own, and run at the same time as others.
public final class ScriptedBackend: Sendable {
  /// Host and port, as `FirestoreSettings.host` takes them.
  public var address: String { "127.0.0.1:\(server.port)" }

  /// A client that no script concerns, with a cache in memory. It is terminated by ``stop()``.
  public let others: Firestore

  private let server: EmbeddedServer
  private let script: Script
  /// Where the devices with a name have their caches.
  private let folder: URL
  /// The last client of each device.
  private let devices = Mutex<[String: Firestore]>([:])

  private init(server: EmbeddedServer, script: Script) {
    self.server = server
    self.script = script
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-testing-\(UUID().uuidString)")
    others = Self.firestore(address: "127.0.0.1:\(server.port)") { $0.credentials = .emulatorOwner }
  }

  /// Starts a backend without data.
  ///
  /// - Throws: If no port of this machine can be used.
  public static func start() async throws -> ScriptedBackend {
    let script = Script()
    let quiet = Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet) {
      $0.interceptor = ScriptInterceptor(script: script)
    }
    return ScriptedBackend(server: server, script: script)
  }

  /// Starts a backend, runs a test with it, and stops it whether the test throws or not.
  ///
  /// - Parameters:
  ///   - isolation: The actor to run `body` on, by default that of the caller.
  ///   - body: The test. It terminates the clients that it has made.
  /// - Returns: The result of `body`.
  /// - Throws: As ``start()``, and what `body` throws.
  public static func run<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (ScriptedBackend) async throws -> Result
  ) async throws -> Result {
    let backend = try await start()
    do {
      let result = try await body(backend)
      await backend.stop()
      return result
    } catch {
      await backend.stop()
      throw error
    }
  }

  /// Lets everything go that is held, ends, and removes the caches of ``firestore(named:_:)``.
  public func stop() async {
    script.reset()
    try? await others.terminate()
    await server.shutdown()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: - Clients

  /// A new client with a cache in memory and an app of its own, like another device.
  ///
  /// - Parameter configure: Changes the settings, for example to give the client a persistent cache.
  public func firestore(_ configure: (FirestoreSettings) -> Void = { _ in }) -> Firestore {
    Self.firestore(address: address, configure)
  }

  /// A client of a device with a cache on disk: the same object until it is terminated, and then a new one that opens the cache of the
  /// one before. So a test restarts an app by terminating the client and asking for the name again.
  ///
  /// ```swift
  /// let first = backend.firestore(named: "phone")
  /// // … writes without a connection …
  /// try await first.terminate()
  /// let second = backend.firestore(named: "phone")   // has these writes
  /// ```
  ///
  /// The caches lie in a temporary folder of this backend, which ``stop()`` removes. Devices with different names share nothing.
  ///
  /// - Parameters:
  ///   - name: Letters, digits, `-` and `_`, as in the name of an app.
  ///   - configure: Changes the settings of a new object. One that was not terminated keeps its own.
  public func firestore(named name: String, _ configure: (FirestoreSettings) -> Void = { _ in }) -> Firestore {
    let db = Firestore.firestore(app: Self.app(named: "\(folder.lastPathComponent)-\(name)"))
    let isNew = devices.withLock { devices in
      defer { devices[name] = db }
      return devices[name] !== db
    }
    guard isNew else { return db }
    Self.set(db, address: address) {
      $0.cacheSettings = PersistentCacheSettings(directory: folder)
      configure($0)
    }
    return db
  }

  private static func firestore(address: String, _ configure: (FirestoreSettings) -> Void) -> Firestore {
    let db = Firestore.firestore(app: app(named: UUID().uuidString))
    set(db, address: address, configure)
    return db
  }

  private static func app(named name: String) -> FirebaseApp {
    if let app = FirebaseApp.app(name: name) { return app }
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-test"))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("An app that was made has a name.") }
    return app
  }

  private static func set(_ db: Firestore, address: String, _ configure: (FirestoreSettings) -> Void) {
    let settings = FirestoreSettings()
    settings.host = address
    settings.isSSLEnabled = false
    settings.cacheSettings = MemoryCacheSettings()
    settings.dispatchQueue = DispatchQueue(label: "hearth.testing")
    configure(settings)
    db.settings = settings
  }

  // MARK: - The script

  /// Ends all streams, and refuses all calls until ``goOnline()``: the network is there, and the backend is not.
  ///
  /// A transaction's commit or a read that the backend has received is answered. A write that it has received without its answer having
  /// arrived is sent again by a client, and is committed once.
  ///
  /// Clients count as offline after their first failed attempt, and try again after pauses that grow. `Outbox.retryNow()` ends a pause.
  public func goOffline() { script.setReachable(false) }

  /// Lets clients reach the backend again.
  public func goOnline() { script.setReachable(true) }

  /// Answers requests with an error. The backend does not see them, and commits nothing of them.
  ///
  /// Exactly these requests fail: the writes that a client has sent before are answered first, and those behind are sent again.
  ///
  /// Which codes a client takes as final is a rule of the protocol: a write that fails with `unavailable` is sent again, one that fails with
  /// `permissionDenied` is refused.
  ///
  /// - Parameters:
  ///   - requests: The requests that fail. The whole of a batch of writes fails if one of its documents is meant.
  ///   - code: The error's code.
  ///   - message: The error's text.
  ///   - times: The number of failures; nil until ``reset()``.
  public func reject(
    _ requests: BackendRequests, with code: FirestoreErrorCode.Code, message: String = "Refused by the script.",
    times: Int? = 1
  ) {
    let code = StatusCode(rawValue: code.rawValue) ?? .unknown
    script.fail(requests, StatusError(code: code == .ok ? .unknown : code, message: message), times: times)
  }

  /// Keeps requests waiting until ``release()``. The backend has not seen them before.
  ///
  /// A client's writes are committed in order, so those behind one that is held wait as well, and are not counted. Listeners and reads wait
  /// for themselves alone.
  public func hold(_ requests: BackendRequests) { script.hold(requests) }

  /// The number of requests that are held.
  public var heldCount: Int { script.heldCount }

  /// Lets everything go that is held, and what comes later.
  public func release() { script.release() }

  /// Keeps each request waiting for a time of the clock. Tests that use ``hold(_:)`` are faster, and do not depend on the machine.
  public func delay(_ requests: BackendRequests, by duration: Duration) { script.delay(requests, by: duration) }

  /// Forgets the script: everything is reachable, nothing fails, waits or is held.
  public func reset() { script.reset() }

  /// The writes that the backend has got from clients of the script, in order, also those that it did not commit. One that is sent again,
  /// because its answer did not arrive, is there once.
  public var receivedWrites: [ReceivedWrite] { script.writes }
}
