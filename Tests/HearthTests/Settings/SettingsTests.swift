import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Settings")
struct SettingsTests {
  func fresh(projectID: String = "demo-hearth") throws -> Firestore {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: projectID))
    return Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
  }

  @Test("the getter hands out copies of equal value")
  func copies() throws {
    let firestore = try fresh()
    let settings = firestore.settings
    settings.host = "localhost:8080"
    settings.cacheSettings = MemoryCacheSettings()
    #expect(firestore.settings.host == "firestore.googleapis.com")
    firestore.settings = settings
    settings.host = "elsewhere"
    #expect(firestore.settings.host == "localhost:8080")
    #expect(firestore.settings.cacheSettings.isEqual(MemoryCacheSettings()))
    #expect(firestore.settings == firestore.settings)
    #expect(firestore.settings.copy() as? FirestoreSettings == firestore.settings)
  }

  @Test("settings are equal by value")
  func equality() {
    let changes: [(FirestoreSettings) -> Void] = [
      { $0.host = "a" }, { $0.isSSLEnabled = false }, { $0.dispatchQueue = .global() },
      { $0.cacheSettings = MemoryCacheSettings() },
      { $0.cacheSettings = PersistentCacheSettings(sizeBytes: 2_000_000) },
      { $0.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: "/x")) },
      { $0.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting()) },
      { $0.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 5)) },
    ]
    for (i, change) in changes.enumerated() {
      for (j, other) in changes.enumerated() {
        let a = FirestoreSettings()
        let b = FirestoreSettings()
        change(a)
        other(b)
        #expect((a == b) == (i == j), "\(i) and \(j)")
        if i == j { #expect(a.hash == b.hash) }
      }
    }
  }

  @Test("settings are fixed by the first use; equal ones may still be assigned")
  func frozen() throws {
    let firestore = try fresh()
    let settings = firestore.settings
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    settings.cacheSettings = MemoryCacheSettings()
    firestore.settings = settings
    _ = firestore.collection("a")
    firestore.settings = settings
    settings.host = "127.0.0.1:2"
    #expect(throws: ProgrammingError.self) { try firestore.set(settings.values()) }
    #expect(throws: ProgrammingError.self) { try firestore.setEmulator(host: "localhost", port: 8080) }
    #expect(firestore.settings.host == "127.0.0.1:1")
  }

  @Test("every call that needs the client fixes the settings, and no other call does")
  func firstUse() async throws {
    let uses: [(String, (Firestore) -> Void)] = [
      ("collection", { _ = $0.collection("a") }), ("document", { _ = $0.document("a/b") }),
      ("collectionGroup", { _ = $0.collectionGroup("a") }), ("batch", { _ = $0.batch() }),
      ("runTransaction", { $0.runTransaction({ _, _ in nil }, completion: { _, _ in }) }),
      ("enableNetwork", { $0.enableNetwork() }), ("disableNetwork", { $0.disableNetwork() }),
      ("waitForPendingWrites", { $0.waitForPendingWrites { _ in } }),
      ("addSnapshotsInSyncListener", { $0.addSnapshotsInSyncListener {} }),
      ("persistentCacheIndexManager", { _ = $0.persistentCacheIndexManager }),
      ("setIndexConfiguration", { $0.setIndexConfiguration("{}") }), ("loadBundle", { $0.loadBundle(Data()) }),
      ("getQuery", { $0.getQuery(named: "q") { _ in } }), ("terminate", { $0.terminate() }),
    ]
    for (name, use) in uses {
      let firestore = try TestFirestore().firestore
      use(firestore)
      let changed = firestore.settings
      changed.host = "127.0.0.1:2"
      #expect(throws: ProgrammingError.self, "\(name)") { try firestore.set(changed.values()) }
      #expect(throws: Never.self, "\(name)") { try firestore.set(firestore.settings.values()) }
      try await firestore.terminate()
    }
    let firestore = try TestFirestore().firestore
    _ = Firestore.firestore(app: firestore.app)
    _ = firestore.app
    firestore.settings = firestore.settings
    firestore.useEmulator(withHost: "localhost", port: 8080)
    try await firestore.clearPersistence()
    #expect(!firestore.isRunning)
    let changed = firestore.settings
    changed.host = "127.0.0.1:3"
    firestore.settings = changed
    #expect(firestore.settings.host == "127.0.0.1:3")
  }

  @Test("a Firestore object without a configured app is explained")
  func unconfigured() throws {
    #expect(
      message { () throws(ProgrammingError) in _ = try Firestore.defaultApp(nil) }
        == "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Firestore")
    let app = try fresh().app
    #expect(
      message { () throws(ProgrammingError) in _ = try Firestore.instance(app: app, database: "", environment: [:]) }
        == "Database identifier may not be empty. Use \"(default)\" for the default database.")
  }

  @Test("an emulator switches TLS off", arguments: [("localhost", "localhost:8080"), ("::1", "[::1]:8080")])
  func emulator(host: String, expected: String) throws {
    let firestore = try fresh()
    firestore.useEmulator(withHost: host, port: 8080)
    #expect(firestore.settings.host == expected)
    #expect(!firestore.settings.isSSLEnabled)
    #expect(throws: ProgrammingError.self) { try firestore.setEmulator(host: "", port: 1) }
    #expect(throws: ProgrammingError.self) { try firestore.setEmulator(host: "localhost", port: 0) }
    #expect(throws: ProgrammingError.self) { try firestore.setEmulator(host: "localhost", port: 65_536) }
  }

  @Test("combinations without meaning are refused with the way out")
  func refused() {
    func text(_ change: (FirestoreSettings) -> Void) -> String? {
      let settings = FirestoreSettings()
      change(settings)
      return message { () throws(ProgrammingError) in _ = try settings.values() }
    }
    #expect(text { _ in } == nil)
    #expect(text { $0.isSSLEnabled = false }?.contains("non-default 'host'") == true)
    #expect(text { $0.host = "" }?.contains("firestore.googleapis.com") == true)
    #expect(text { $0.host = "http://localhost" } != nil)
    #expect(text { $0.host = "localhost:" } != nil)
    #expect(text { $0.host = "localhost:80a" } != nil)
    #expect(text { $0.host = "[::1" } != nil)
    #expect(message { () throws(ProgrammingError) in try CacheSize.validate(1_048_575) }?.contains("1048576") == true)
    #expect(message { () throws(ProgrammingError) in try CacheSize.validate(-1) } == nil)
    let remote = URL(string: "https://example.com") ?? URL(fileURLWithPath: "/")
    #expect(message { () throws(ProgrammingError) in try PersistentCacheSettings.validate(directory: remote) } != nil)
  }

  @available(*, deprecated)
  @Test("the old switches work, together too, but not together with cacheSettings")
  func legacy() throws {
    let settings = FirestoreSettings()
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    #expect(try settings.values().cache == .persistent(PersistentCacheSettings(sizeBytes: -1)))
    settings.isPersistenceEnabled = false
    #expect(try settings.values().cache == .memory(.leastRecentlyUsed(sizeBytes: -1)))
    settings.cacheSettings = PersistentCacheSettings()
    #expect(throws: ProgrammingError.self) { try settings.values() }
    settings.isPersistenceEnabled = true
    settings.cacheSizeBytes = 104_857_600
    #expect(try settings.values().cache == .persistent(PersistentCacheSettings()))
  }

  @Test(
    "addresses are taken apart",
    arguments: [
      ("firestore.googleapis.com", true, "firestore.googleapis.com", 443), ("localhost", false, "localhost", 80),
      ("localhost:8080", false, "localhost", 8080), ("[::1]:9", false, "::1", 9), ("[::1]", true, "::1", 443),
    ])
  func endpoints(text: String, usesTLS: Bool, host: String, port: Int) throws {
    let endpoint = try Endpoint(host: text, usesTLS: usesTLS)
    #expect(endpoint.host == host)
    #expect(endpoint.port == port)
    #expect(endpoint.usesTLS == usesTLS)
  }

  @Test("FIRESTORE_EMULATOR_HOST replaces the default host only, without TLS")
  func environment() throws {
    let environment = ["FIRESTORE_EMULATOR_HOST": "localhost:9099"]
    let settings = FirestoreSettings()
    #expect(
      try settings.values().endpoint(environment: environment) == Endpoint(host: "localhost:9099", usesTLS: false))
    #expect(try settings.values().endpoint(environment: [:]).port == 443)
    settings.host = "example.com"
    #expect(try settings.values().endpoint(environment: environment).host == "example.com")
    let bad = message { () throws(ProgrammingError) in
      _ = try SettingsValues().endpoint(environment: ["FIRESTORE_EMULATOR_HOST": "localhost:x"])
    }
    #expect(bad?.hasPrefix("Environment variable FIRESTORE_EMULATOR_HOST") == true)
  }

  @Test("one object for an app and database until it is terminated")
  func identity() async throws {
    let firestore = try fresh()
    #expect(Firestore.firestore(app: firestore.app) === firestore)
    #expect(Firestore.firestore(app: firestore.app, database: "(default)") === firestore)
    #expect(Firestore.firestore(app: firestore.app, database: "other") !== firestore)
    try await firestore.terminate()
    try await firestore.terminate()
    #expect(Firestore.firestore(app: firestore.app) !== firestore)
    #expect(
      message { () throws(ProgrammingError) in _ = try firestore.startedRuntime() }
        == "The client has already been terminated.")
  }

  @Test("deleting an app terminates its objects and frees its name")
  func deletion() async throws {
    let firestore = try fresh()
    #expect(FirebaseApp.allApps?[firestore.app.name] === firestore.app)
    #expect(await firestore.app.delete())
    #expect(FirebaseApp.app(name: firestore.app.name) == nil)
    #expect(throws: ProgrammingError.self) { try firestore.startedRuntime() }
    #expect(await !firestore.app.delete())
  }

  @Test("a missing project id is explained with all ways to set it")
  func projectID() throws {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(googleAppID: "", gcmSenderID: ""))
    let app = try #require(FirebaseApp.app(name: name))
    let text = message { () throws(ProgrammingError) in
      _ = try Firestore.instance(app: app, database: "(default)", environment: [:])
    }
    for way in ["FirebaseOptions(projectID:", "GoogleService-Info.plist", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"] {
      #expect(text?.contains(way) == true, "\(way)")
    }
    let found = try Firestore.instance(app: app, database: "x", environment: ["GCLOUD_PROJECT": "from-environment"])
    #expect(found.databaseID.projectID == "from-environment")
    let both = ["GOOGLE_CLOUD_PROJECT": "first", "GCLOUD_PROJECT": "second"]
    #expect(app.options.resolvedProjectID(environment: both) == "first")
    #expect(throws: ProgrammingError.self) { try FirebaseApp.register(name: name, options: app.options) }
    #expect(throws: ProgrammingError.self) { try FirebaseApp.register(name: "", options: app.options) }
  }

  @Test("options are read from a property list")
  func propertyList() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("GoogleService-Info.plist").path
    let list = ["PROJECT_ID": "from-plist", "API_KEY": "k", "GOOGLE_APP_ID": "1:2", "GCM_SENDER_ID": "3"]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    try data.write(to: URL(fileURLWithPath: path))
    let options = try #require(FirebaseOptions(contentsOfFile: path))
    #expect(options.projectID == "from-plist")
    #expect(options.googleAppID == "1:2")
    #expect(FirebaseOptions(contentsOfFile: path + ".missing") == nil)
    try Data("not a list".utf8).write(to: URL(fileURLWithPath: path))
    #expect(FirebaseOptions(contentsOfFile: path) == nil)
  }

  @Test("cache folders follow the platform's rules and are one folder for any name")
  func folders() {
    let custom = CacheFolder.path(
      base: URL(fileURLWithPath: "/var/lib/till"), app: "../x/y", projectID: "demo", database: "(default)",
      environment: [:])
    #expect(custom == "/var/lib/till/..%2Fx%2Fy/demo/(default)")
    #expect(CacheFolder.escaped("..") == "%2E%2E")
    #expect(CacheFolder.escaped("a b%") == "a%20b%25")
    #expect(CacheFolder.escaped("") != "")
    #if os(Linux)
      #expect(CacheFolder.defaultBase(environment: ["XDG_DATA_HOME": "/d"]).path == "/d/hearth")
      #expect(CacheFolder.defaultBase(environment: ["HOME": "/home/u"]).path == "/home/u/.local/share/hearth")
      #expect(
        CacheFolder.defaultBase(environment: ["HOME": "/home/u", "XDG_DATA_HOME": "relative"]).path
          == "/home/u/.local/share/hearth")
    #endif
  }
}
