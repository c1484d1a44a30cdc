import Foundation
import TestSupport
import Testing

@testable import Hearth

@Suite("Configuration of an app")
struct ConfigurationTests {
  private static let plist = """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict>
    <key>PROJECT_ID</key><string>from-plist</string><key>GOOGLE_APP_ID</key><string>1:2:ios:3</string>
    <key>GCM_SENDER_ID</key><string>2</string><key>API_KEY</key><string>key</string>
    <key>BUNDLE_ID</key><string>com.example.app</string><key>CLIENT_ID</key><string>client</string>
    <key>STORAGE_BUCKET</key><string>bucket</string><key>DATABASE_URL</key><string>https://db</string>
    </dict></plist>
    """
  private static let json = """
    {"project_info": {"project_number": "2", "firebase_url": "https://db", "project_id": "from-json",
      "storage_bucket": "bucket"},
     "client": [{"client_info": {"mobilesdk_app_id": "1:2:android:3"},
       "oauth_client": [{"client_id": "client", "client_type": 3}], "api_key": [{"current_key": "key"}]}],
     "configuration_version": "1"}
    """
  private static let variable = """
    {"projectId": "from-variable", "storageBucket": "bucket", "databaseURL": "https://db"}
    """

  private func search(
    _ files: [String: String], second: [String: String] = [:], environment: [String: String] = [:]
  ) throws -> (options: FirebaseOptions, folder: TemporaryFolder) {
    let folder = try TemporaryFolder()
    for (name, group) in [("bundle", files), ("work", second)] {
      let url = folder.url.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      for (name, content) in group {
        try Data(content.utf8).write(to: url.appendingPathComponent(name))
      }
    }
    let search = ConfigurationSearch(
      folders: ["bundle", "work"].map { folder.url.appendingPathComponent($0).path }, environment: environment)
    return (search.options(), folder)
  }

  private static let plistName = "GoogleService-Info.plist"
  private static let jsonName = "google-services.json"
  private let plistName = Self.plistName
  private let jsonName = Self.jsonName

  @Test("the first of bundle, working folder and environment counts, property lists before JSON")
  func order() throws {
    let both = [plistName: Self.plist, jsonName: Self.json]
    let environment = ["FIREBASE_CONFIG": Self.variable, "GOOGLE_CLOUD_PROJECT": "from-project"]
    #expect(try search(both, environment: environment).options.projectID == "from-plist")
    #expect(
      try search([jsonName: Self.json], second: both, environment: environment).options.projectID == "from-json")
    #expect(try search([:], second: both, environment: environment).options.projectID == "from-plist")
    #expect(try search([:], environment: environment).options.projectID == "from-variable")
    #expect(try search([:], environment: ["FIREBASE_CONFIG": ""]).options.projectID == nil)
  }

  @Test("a property list gives all entries")
  func propertyList() throws {
    let options = try search([plistName: Self.plist]).options
    #expect(options.googleAppID == "1:2:ios:3")
    #expect(options.gcmSenderID == "2")
    #expect(options.apiKey == "key")
    #expect(options.bundleID == "com.example.app")
    #expect(options.clientID == "client")
    #expect(options.storageBucket == "bucket")
    #expect(options.databaseURL == "https://db")
    #expect(options.fault == nil)
  }

  @Test("google-services.json gives the entries of its first app")
  func androidFile() throws {
    let (_, folder) = try search([jsonName: Self.json])
    let options = try #require(
      FirebaseOptions(contentsOfFile: folder.url.appendingPathComponent("bundle/\(jsonName)").path))
    #expect(options.projectID == "from-json")
    #expect(options.googleAppID == "1:2:android:3")
    #expect(options.gcmSenderID == "2")
    #expect(options.apiKey == "key")
    #expect(options.clientID == "client")
    #expect(options.storageBucket == "bucket")
    #expect(options.databaseURL == "https://db")
  }

  @Test("FIREBASE_CONFIG may be the path of a file")
  func variablePath() throws {
    let (_, folder) = try search(["config.json": Self.variable])
    let path = folder.url.appendingPathComponent("bundle/config.json").path
    let options = try search([:], environment: ["FIREBASE_CONFIG": path]).options
    #expect(options.projectID == "from-variable")
    #expect(options.storageBucket == "bucket")
  }

  @Test("a file without a project id takes the environment's")
  func projectFromEnvironment() throws {
    let environment = ["GOOGLE_CLOUD_PROJECT": "from-project"]
    let options = try search([plistName: #"{"appId": "1"}"#], environment: environment).options
    #expect(options.fault == nil)
    #expect(options.resolvedProjectID(environment: environment) == "from-project")
  }

  @Test("the project of a service account counts last")
  func projectOfServiceAccount() throws {
    let (_, folder) = try search(["account.json": String(decoding: TestServiceAccount.file(), as: UTF8.self)])
    let path = folder.url.appendingPathComponent("bundle/account.json").path
    let options = FirebaseOptions(googleAppID: "", gcmSenderID: "")
    #expect(options.resolvedProjectID(environment: ["GOOGLE_APPLICATION_CREDENTIALS": path]) == "demo-hearth")
    #expect(
      options.resolvedProjectID(environment: ["GOOGLE_APPLICATION_CREDENTIALS": path, "GCLOUD_PROJECT": "p"]) == "p")
    #expect(options.resolvedProjectID(environment: ["GOOGLE_APPLICATION_CREDENTIALS": "/nowhere"]) == nil)
  }

  @Test(
    "a configuration that is there and wrong is named, not passed over",
    arguments: [
      ("GoogleService-Info.plist", "no list", "neither a property list of entries nor JSON"),
      ("GoogleService-Info.plist", "", "neither a property list of entries nor JSON"),
      ("GoogleService-Info.plist", plist.replacingOccurrences(of: "PROJECT_ID", with: "PROJECT"), "has no project id"),
      (
        "GoogleService-Info.plist", plist.replacingOccurrences(of: "<string>key</string>", with: "<true/>"),
        "member \"API_KEY\" is not a string"
      ),
      ("google-services.json", "[]", "is not a JSON object"),
      ("google-services.json", #"{"project_info": 1}"#, "member \"project_info\" is not an object"),
      ("google-services.json", #"{"project_info": {"project_id": 5}}"#, "\"project_info\": member \"project_id\""),
      (
        "google-services.json", #"{"project_info": {"project_id": "p"}, "client": {}}"#,
        "member \"client\" is not an array of objects"
      ),
    ])
  func wrongFile(name: String, content: String, fault: String) throws {
    let (options, folder) = try search([name: content], second: [plistName: Self.plist])
    let path = folder.url.appendingPathComponent("bundle/\(name)").path
    #expect(options.fault?.contains(fault) == true, "\(options.fault ?? "-")")
    #expect(options.fault?.contains("\"\(path)\"") == true)
  }

  @Test(
    "an environment variable that is wrong is named",
    arguments: ["{", "{\"projectId\": 1}", "/nowhere/config.json", "{}"])
  func wrongVariable(value: String) throws {
    let fault = try search([:], environment: ["FIREBASE_CONFIG": value]).options.fault
    #expect(fault?.hasPrefix("Environment variable FIREBASE_CONFIG") == true, "\(fault ?? "-")")
  }

  @Test("a wrong configuration makes every operation fail with the reason, and stops nothing")
  func faultyApp() async throws {
    let (options, _) = try search([plistName: "no list"])
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: options)
    let app = try #require(FirebaseApp.app(name: name))
    let firestore = Firestore.firestore(app: app)
    let error = await #expect(throws: (any Error).self) { _ = try await firestore.document("a/b").getDocument() }
    #expect((error as NSError?)?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect((error as NSError?)?.localizedDescription == options.fault)
    _ = await app.delete()
  }

  @Test("options whose file cannot be used are nil")
  func noOptions() throws {
    #expect(FirebaseOptions(contentsOfFile: "/nowhere/GoogleService-Info.plist") == nil)
    let (_, folder) = try search([plistName: "no list"])
    #expect(FirebaseOptions(contentsOfFile: folder.url.appendingPathComponent("bundle/\(plistName)").path) == nil)
  }

  @Test("of several apps in google-services.json the first one counts")
  func severalClients() throws {
    let json = """
      {"project_info": {"project_id": "p"}, "client": [
        {"client_info": {"mobilesdk_app_id": "1:2:android:first"}, "oauth_client": [], "api_key": []},
        {"client_info": {"mobilesdk_app_id": "1:2:android:second"}, "api_key": [{"current_key": "key"}]}]}
      """
    let options = try search([jsonName: json]).options
    #expect(options.googleAppID == "1:2:android:first")
    #expect(options.apiKey == nil && options.clientID == nil)
    #expect(try search([jsonName: #"{"project_info": {"project_id": "p"}, "client": []}"#]).options.projectID == "p")
  }

  @Test("files that are nested deeply or far too large are refused", arguments: [jsonName, plistName])
  func hostileFiles(name: String) throws {
    let nested = try search([name: String(repeating: "[", count: 500_000)]).options.fault
    #expect(nested?.contains("neither a property list of entries nor JSON") == true, "\(nested ?? "-")")
    let large = try search([name: String(repeating: " ", count: 1_100_000)]).options.fault
    #expect(large?.contains("more than 1048576 bytes") == true, "\(large ?? "-")")
  }

  @Test("a folder in the place of a file is named")
  func folderForFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent(plistName)
    try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    let fault = ConfigurationSearch(folders: [folder.url.path], environment: [:]).options().fault
    #expect(fault?.hasPrefix("Configuration file \"\(path.path)\" cannot be read") == true, "\(fault ?? "-")")
  }

  @Test(
    "ids that no project and no database can have are reported by every operation",
    arguments: [
      ("a/b", "(default)", "Project id \"a/b\""), ("a b", "(default)", "Project id \"a b\""),
      ("caf\u{e9}", "(default)", "Project id \"caf\u{e9}\""), ("p\r\nx: y", "(default)", "Project id"),
      ("p", "d/documents", "Database id \"d/documents\""),
    ])
  func impossibleIDs(projectID: String, database: String, fault: String) async throws {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: projectID))
    let app = try #require(FirebaseApp.app(name: name))
    let firestore = Firestore.firestore(app: app, database: database)
    let settings = firestore.settings
    settings.cacheSettings = MemoryCacheSettings()
    firestore.settings = settings
    let error = await thrown { _ = try await firestore.document("a/b").getDocument() }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error?.localizedDescription.hasPrefix(fault) == true, "\(error?.localizedDescription ?? "-")")
    _ = await app.delete()
  }

  @Test("an app id that a header cannot carry is not sent")
  func headerAppID() {
    #expect(FirebaseOptions(googleAppID: "1:2:ios:3", gcmSenderID: "").headerAppID == "1:2:ios:3")
    #expect(FirebaseOptions(googleAppID: "", gcmSenderID: "").headerAppID == nil)
    #expect(FirebaseOptions(googleAppID: "1\r\nx: y", gcmSenderID: "").headerAppID == nil)
  }
}

@Suite("Names of apps")
struct AppNameTests {
  private func fault(_ name: String) -> String? {
    message { () throws(ProgrammingError) in
      try FirebaseApp.register(name: name, options: FirebaseOptions(projectID: "demo"))
    }
  }

  @Test("names have letters, digits, hyphens and underscores only")
  func characters() async throws {
    #expect(fault("") == "App name cannot be empty.")
    for name in ["a|b", "a/b", "..", "a b", "caf\u{e9}", "a\n"] {
      #expect(fault(name)?.contains("can only contain alphanumeric") == true, "\(name)")
    }
    let name = "Aa0_-\(UUID().uuidString)"
    #expect(fault(name) == nil)
    #expect(fault(name) == "App named \(name) has already been configured.")
    let app = try #require(FirebaseApp.app(name: name))
    #expect(FirebaseApp.allApps?[name] === app)
    #expect(await app.delete())
    #expect(await app.delete() == false)
    #expect(FirebaseApp.app(name: name) == nil)
    #expect(fault(name) == nil)
    _ = await FirebaseApp.app(name: name)?.delete()
  }

  @Test("an app keeps the options it was made with")
  func options() async throws {
    let name = UUID().uuidString
    let options = FirebaseOptions(projectID: "before")
    FirebaseApp.configure(name: name, options: options)
    options.projectID = "after"
    let app = try #require(FirebaseApp.app(name: name))
    app.options.projectID = "after"
    #expect(app.options.projectID == "before")
    _ = await app.delete()
  }
}
