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

  private let plistName = "GoogleService-Info.plist"
  private let jsonName = "google-services.json"

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
}
