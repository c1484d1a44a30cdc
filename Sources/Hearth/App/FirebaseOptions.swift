public import Foundation
internal import Synchronization

/// The options of an app, above all its project. Firestore needs ``projectID`` and sends ``googleAppID`` to the backend; the other entries
/// exist for source compatibility. The object may be used from any thread.
public final class FirebaseOptions: NSObject, NSCopying, Sendable {
  private struct Entries: Equatable {
    var projectID: String?
    var apiKey: String?
    var googleAppID: String
    var gcmSenderID: String
    var bundleID: String
    var clientID: String?
    var databaseURL: String?
    var storageBucket: String?
    var appGroupID: String?
    var fault: String?
  }

  private let entries: Mutex<Entries>

  /// Makes options with the two entries that the official SDK requires; set ``projectID`` afterwards.
  ///
  /// - Parameters:
  ///   - googleAppID: See ``googleAppID``; may be empty.
  ///   - gcmSenderID: See ``gcmSenderID``; may be empty.
  public init(googleAppID: String, gcmSenderID: String) {
    entries = Mutex(
      Entries(
        googleAppID: googleAppID, gcmSenderID: gcmSenderID, bundleID: Bundle.main.bundleIdentifier ?? ""))
  }

  /// Makes options with everything that Firestore needs.
  ///
  /// ```swift
  /// FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
  /// ```
  ///
  /// - Parameter projectID: See ``projectID``.
  public convenience init(projectID: String) {
    self.init(googleAppID: "", gcmSenderID: "")
    self.projectID = projectID
  }

  /// Reads the entries of a `GoogleService-Info.plist` (XML or binary), of a `google-services.json`, or of JSON as in
  /// `FIREBASE_CONFIG`.
  ///
  /// It is nil if the file cannot be read, has none of these formats, or has an entry of a wrong type; the log has the reason, with the
  /// file and the entry. A file without a project id is valid. If a `google-services.json` lists several apps, the first one counts.
  ///
  /// - Parameter path: The file. Files of more than 1 MiB are refused.
  public convenience init?(contentsOfFile path: String) {
    do throws(ConfigurationFault) {
      self.init(entries: try ConfigurationFile.options(contentsOfFile: path).entries.withLock { $0 })
    } catch {
      HearthLog.error(error.message)
      return nil
    }
  }

  private init(entries: Entries) {
    self.entries = Mutex(entries)
  }

  /// The project's id, for example `"my-project"`. If it is nil, the id comes from the environment variable `GOOGLE_CLOUD_PROJECT` or
  /// `GCLOUD_PROJECT`, or from the service account whose file `GOOGLE_APPLICATION_CREDENTIALS` names, in this order.
  public var projectID: String? {
    get { entries.withLock { $0.projectID } }
    set { entries.withLock { $0.projectID = newValue } }
  }
  /// The key of the project's web API, or nil. It is not used.
  public var apiKey: String? {
    get { entries.withLock { $0.apiKey } }
    set { entries.withLock { $0.apiKey = newValue } }
  }
  /// The app's id in the project, for example `"1:1234567890:ios:321abc456def7890"`, or empty. It is sent with every request in the header
  /// `x-firebase-gmpid` (firebase-ios-sdk firebase_metadata_provider_apple.mm, UpdateMetadata).
  public var googleAppID: String {
    get { entries.withLock { $0.googleAppID } }
    set { entries.withLock { $0.googleAppID = newValue } }
  }
  /// The project's number, or empty. It is not used.
  public var gcmSenderID: String {
    get { entries.withLock { $0.gcmSenderID } }
    set { entries.withLock { $0.gcmSenderID = newValue } }
  }
  /// The app's bundle identifier; by default that of the main bundle. It is not used.
  public var bundleID: String {
    get { entries.withLock { $0.bundleID } }
    set { entries.withLock { $0.bundleID = newValue } }
  }
  /// The OAuth client id, or nil. It is not used.
  public var clientID: String? {
    get { entries.withLock { $0.clientID } }
    set { entries.withLock { $0.clientID = newValue } }
  }
  /// The address of the project's Realtime Database, or nil. It is not used.
  public var databaseURL: String? {
    get { entries.withLock { $0.databaseURL } }
    set { entries.withLock { $0.databaseURL = newValue } }
  }
  /// The name of the project's storage bucket, or nil. It is not used.
  public var storageBucket: String? {
    get { entries.withLock { $0.storageBucket } }
    set { entries.withLock { $0.storageBucket = newValue } }
  }
  /// The app group that the app shares with its extensions, or nil. It is not used.
  public var appGroupID: String? {
    get { entries.withLock { $0.appGroupID } }
    set { entries.withLock { $0.appGroupID = newValue } }
  }

  /// A copy with the same entries, which can be changed independently.
  public func copy(with zone: NSZone? = nil) -> Any {
    FirebaseOptions(entries: entries.withLock { $0 })
  }

  /// Two options are equal when all entries are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirebaseOptions else { return false }
    let otherEntries = other.entries.withLock { $0 }
    return entries.withLock { $0 == otherEntries }
  }

  /// A hash of the project and app ids.
  public override var hash: Int {
    var hasher = Hasher()
    entries.withLock {
      hasher.combine($0.projectID)
      hasher.combine($0.googleAppID)
    }
    return hasher.finalize()
  }

  /// The error of the configuration that was found, if these options replace it.
  var fault: String? {
    get { entries.withLock { $0.fault } }
    set { entries.withLock { $0.fault = newValue } }
  }

  /// ``googleAppID`` in the form that a header can carry, or nil.
  var headerAppID: String? {
    let appID = googleAppID
    guard !appID.isEmpty else { return nil }
    guard appID.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      HearthLog.warning("App id \"\(appID)\" is not sent: headers carry visible ASCII characters only.")
      return nil
    }
    return appID
  }

  /// The effective project id: the entry, or the environment's.
  func resolvedProjectID(environment: [String: String]) -> String? {
    let named = [projectID, environment["GOOGLE_CLOUD_PROJECT"], environment["GCLOUD_PROJECT"]]
      .compactMap { $0 }.first { !$0.isEmpty }
    if let named { return named }
    // A file that is wrong is reported when the client starts, if it is needed then.
    return environment[ClientCredentials.serviceAccountVariable]
      .flatMap { ClientCredentials.projectID(ofServiceAccountFile: $0) }
  }
}
