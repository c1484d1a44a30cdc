public import Foundation
internal import HearthModel
internal import Synchronization

/// A database: the source of references, queries and batches.
///
/// ```swift
/// FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
/// let db = Firestore.firestore()
/// try await db.collection("cities").document("SF").setData(["name": "San Francisco"])
/// ```
///
/// A cache on the device keeps the documents that were read, and queues writes, so that programs work without a network; see
/// ``FirestoreSettings/cacheSettings``. There is one object for each app and database until it is terminated. It may be used from any
/// thread; calls take effect in their order.
///
/// ## Common rules
///
/// - Completions and listeners run one after the other on *the settings' queue*, ``FirestoreSettings/dispatchQueue``. By default that is
///   the main queue. The `async` forms need no queue.
/// - Errors are `NSError`s of ``FirestoreErrorDomain``. Names such as `unavailable` are cases of ``FirestoreErrorCode/Code``.
/// - Errors of the cache's file are `resourceExhausted` when the disk is full, `dataLoss` when the file is damaged,
///   `failedPrecondition` when it cannot be used as it is (a folder that cannot be written, a file of a newer release), and
///   otherwise `unavailable`.
/// - A cancelled task gets `CancellationError` from the `async` form that it awaits. Only reads are cancelled with it; writes and other
///   running operations continue.
/// - A *programming error*, such as a malformed path, stops the process with a message that names the call. (The official SDK raises an
///   exception that Swift programs cannot catch.) The line of the call is in the backtrace: the debugger shows it, and on Linux the environment
///   variable `SWIFT_BACKTRACE=enable=yes` prints it. Failures of disk, network and backend, and contents of files, are never programming errors.
/// - A client may fail to start, because its settings name a file that cannot be read, or because its cache cannot be opened. Then each of
///   its operations reports that error.
public final class Firestore: NSObject, Sendable {
  enum Phase {
    case configured
    case running(ClientRuntime)
    case terminated(ClientRuntime?)
  }

  struct State {
    var settings = SettingsValues()
    /// The number of changes of the settings before the start.
    var settingsChangeCount = 0
    var phase = Phase.configured
    /// Created on first use, released when the client is terminated.
    var indexManager: PersistentCacheIndexManager?
  }

  /// For each key there is one object that is not terminated. It retains its app, so the app's identity stays unique.
  private struct Key: Hashable {
    let app: ObjectIdentifier
    let database: [UInt8]

    init(_ app: FirebaseApp, _ database: String) {
      self.app = ObjectIdentifier(app)
      self.database = Array(database.utf8)
    }
  }

  private static let instances = Mutex<[Key: Firestore]>([:])
  /// The objects that are terminated and not closed yet.
  private static let closing = Mutex<[ObjectIdentifier: Firestore]>([:])

  /// The app that the database belongs to.
  public let app: FirebaseApp
  let databaseID: DatabaseID
  let state = Mutex(State())

  private init(app: FirebaseApp, databaseID: DatabaseID) {
    self.app = app
    self.databaseID = databaseID
  }

  /// The default database of the default app. It is a programming error if the app is not configured yet. See ``firestore(app:database:)``.
  public class func firestore() -> Firestore {
    firestore(database: "(default)")
  }

  /// The default database of an app. See ``firestore(app:database:)``.
  public class func firestore(app: FirebaseApp) -> Firestore {
    firestore(app: app, database: "(default)")
  }

  /// A named database of the default app. It is a programming error if the app is not configured yet. See ``firestore(app:database:)``.
  public class func firestore(database: String) -> Firestore {
    firestore(app: requireValid { () throws(ProgrammingError) in try defaultApp() }, database: database)
  }

  /// A named database of an app: the same object until it is terminated, then a new one with the settings' defaults.
  ///
  /// - Parameters:
  ///   - app: Its options need a ``FirebaseOptions/projectID``, which the environment may supply; without one it is a programming error.
  ///   - database: The database's id; `"(default)"` is the default one. An empty id is a programming error.
  public class func firestore(app: FirebaseApp, database: String) -> Firestore {
    requireValid { () throws(ProgrammingError) in
      try instance(app: app, database: database, environment: ProcessInfo.processInfo.environment)
    }
  }

  static func defaultApp(_ app: FirebaseApp? = FirebaseApp.app()) throws(ProgrammingError) -> FirebaseApp {
    guard let app else {
      throw ProgrammingError(
        "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Firestore")
    }
    return app
  }

  static func instance(
    app: FirebaseApp, database: String, environment: [String: String]
  ) throws(ProgrammingError) -> Firestore {
    guard !database.isEmpty else {
      throw ProgrammingError("Database identifier may not be empty. Use \"(default)\" for the default database.")
    }
    let key = Key(app, database)
    if let instance = instances.withLock({ $0[key] }), !instance.isTerminated { return instance }
    let databaseID = DatabaseID(projectID: try projectID(of: app, environment: environment), database: database)
    return instances.withLock { instances in
      if let instance = instances[key], !instance.isTerminated { return instance }
      let instance = Firestore(app: app, databaseID: databaseID)
      instances[key] = instance
      return instance
    }
  }

  private static func projectID(
    of app: FirebaseApp, environment: [String: String]
  ) throws(ProgrammingError) -> String {
    let options = app.options
    if let projectID = options.resolvedProjectID(environment: environment) { return projectID }
    // Such a client never runs: each operation reports the error.
    if options.fault != nil { return "unknown" }
    throw ProgrammingError(
      """
      No project id for app \(app.name). Set it in the options (FirebaseOptions(projectID: "my-project"), or \
      options.projectID before FirebaseApp.configure(options:)); for FirebaseApp.configure(), put GoogleService-Info.plist \
      (PROJECT_ID) or google-services.json (project_info.project_id) into the main bundle or the working folder, or set \
      the environment variable FIREBASE_CONFIG; or set GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT. With an emulator any id will \
      do, such as "demo-test".
      """)
  }

  /// Logs debug messages as well (true), or only notices, warnings and errors (false, the default), for all Firestore objects. Messages go
  /// to swift-log's logger `"hearth"`; they contain no tokens.
  public class func enableLogging(_ logging: Bool) {
    HearthLog.setVerbose(logging)
  }

  // MARK: - Settings

  /// The settings; the getter returns a copy.
  ///
  /// They are fixed when the object is first used: by any call except ``useEmulator(withHost:port:)`` and
  /// ``clearPersistence(completion:)``. Assigning different settings afterwards is a programming error; assigning equal settings has no
  /// effect. Conflicting values are a programming error, too; see the properties of ``FirestoreSettings``.
  public var settings: FirestoreSettings {
    get { FirestoreSettings(state.withLock { $0.settings }) }
    set {
      requireValid { () throws(ProgrammingError) in try set(newValue.values()) }
    }
  }

  func set(_ settings: SettingsValues) throws(ProgrammingError) {
    // Holds the former settings, and with them objects of the application, which must not be released under the lock.
    var replaced = settings
    let isRefused = state.withLock { state in
      if case .configured = state.phase {
        swap(&state.settings, &replaced)
        state.settingsChangeCount += 1
        return false
      }
      return state.settings != settings
    }
    guard !isRefused else {
      throw ProgrammingError(
        """
        Firestore instance has already been started and its settings can no longer be changed. You can only set settings \
        before calling any other methods on a Firestore instance.
        """)
    }
  }

  /// Sets the address of an emulator, or of `hearth serve`, and switches TLS off. It is a change of ``settings``, so call it before the
  /// first use. The cache does not depend on the address; to keep caches apart, use a separate app for the emulator.
  ///
  /// - Parameters:
  ///   - host: A name or address, without scheme and path; an empty one is a programming error.
  ///   - port: 1 to 65535; anything else is a programming error.
  public func useEmulator(withHost host: String, port: Int) {
    requireValid { () throws(ProgrammingError) in try setEmulator(host: host, port: port) }
  }

  func setEmulator(host: String, port: Int) throws(ProgrammingError) {
    guard !host.isEmpty else { throw ProgrammingError("Cannot set host to an empty string.") }
    let settings = settings
    if settings.host != FirestoreSettings.defaultHost {
      HearthLog.warning("Overriding previously set host value \(settings.host): using \(host):\(port).")
    }
    settings.host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    settings.isSSLEnabled = false
    try set(settings.values())
  }

  // MARK: - References

  /// A collection, whether it has documents or not.
  ///
  /// - Parameter collectionPath: A path from the root with an odd number of segments, such as `"cities"` or
  ///   `"cities/SF/landmarks"`; anything else is a programming error. One slash at either end is ignored.
  public func collection(_ collectionPath: String) -> CollectionReference {
    _ = runtime()
    return CollectionReference(
      firestore: self,
      path: requireValid { () throws(ProgrammingError) in try PathParser.collection(collectionPath) })
  }

  /// A document, whether it exists or not.
  ///
  /// - Parameter documentPath: A path from the root with an even number of segments, such as `"cities/SF"`; anything else is a
  ///   programming error. One slash at either end is ignored.
  public func document(_ documentPath: String) -> DocumentReference {
    _ = runtime()
    return DocumentReference(
      firestore: self,
      key: requireValid { () throws(ProgrammingError) in try PathParser.documentKey(documentPath) })
  }

  /// A query for all documents in collections of this id, wherever in the database they are.
  ///
  /// - Parameter collectionID: Not empty and without slashes; anything else is a programming error.
  public func collectionGroup(_ collectionID: String) -> Query {
    _ = runtime()
    let group = requireValid { () throws(ProgrammingError) in try PathParser.collectionGroup(collectionID) }
    return Query(firestore: self, model: HearthModel.Query(path: ResourcePath(), collectionGroup: group))
  }

  /// A new, empty batch of writes.
  public func batch() -> WriteBatch {
    _ = runtime()
    return WriteBatch(firestore: self)
  }

  // MARK: - Life cycle

  var isRunning: Bool {
    state.withLock { state in
      if case .running = state.phase { return true }
      return false
    }
  }

  /// The object behind ``persistentCacheIndexManager``.
  func indexManager() -> PersistentCacheIndexManager? {
    state.withLock { state in
      guard case .running = state.phase, case .persistent = state.settings.cache else { return nil }
      if let manager = state.indexManager { return manager }
      let manager = PersistentCacheIndexManager(self)
      state.indexManager = manager
      return manager
    }
  }

  var isTerminated: Bool {
    state.withLock { state in
      if case .terminated = state.phase { return true }
      return false
    }
  }

  /// The queue of callbacks while there is no running client.
  var settingsQueue: DispatchQueue { state.withLock { $0.settings.dispatchQueue } }

  /// - Parameter completion: Gets an error if there are writes that could not be saved.
  func terminate(then completion: @escaping @Sendable (NSError?) -> Void) {
    let isStopping = state.withLock { state in
      state.indexManager = nil
      switch state.phase {
      case .configured, .terminated(nil):
        state.phase = .terminated(nil)
        return false
      case .running(let runtime), .terminated(let runtime?):
        state.phase = .terminated(runtime)
        // Posted before other threads can see that this client is terminated, so that a successor opens the cache after this client has
        // closed it.
        Firestore.closing.withLock { $0[ObjectIdentifier(self)] = self }
        runtime.stop { [self] error in
          _ = Firestore.closing.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
          completion(error)
        }
        return true
      }
    }
    Firestore.instances.withLock { instances in
      let key = Key(app, databaseID.database)
      if instances[key] === self { instances[key] = nil }
    }
    if !isStopping { completion(nil) }
  }

  /// Terminates the app's objects. The completion gets false if there are writes that could not be saved.
  static func terminateAll(of app: FirebaseApp, then completion: @escaping @Sendable (Bool) -> Void) {
    let group = DispatchGroup()
    let areSaved = Mutex(true)
    let open = instances.withLock { $0.values.filter { $0.app === app } }
    for instance in open + closing.withLock({ $0.values.filter { $0.app === app } }) {
      group.enter()
      instance.terminate { error in
        if error != nil { areSaved.withLock { $0 = false } }
        group.leave()
      }
    }
    group.notify(queue: .global()) { completion(areSaved.withLock { $0 }) }
  }
}
