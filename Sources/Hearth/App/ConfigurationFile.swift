internal import Foundation

/// An error in a Firebase configuration. Its text names the place and the member, and no value.
struct ConfigurationFault: Error, Equatable, CustomStringConvertible {
  let message: String
  var description: String { message }
}

/// Reads the formats in which Firebase provides a project's identity:
///
/// | form | project id |
/// |---|---|
/// | `GoogleService-Info.plist` (Apple platforms) | `PROJECT_ID` |
/// | `google-services.json` (Android) | `project_info.project_id` |
/// | JSON as in `FIREBASE_CONFIG` (servers) and on the Web | `projectId` |
struct ConfigurationFile {
  /// Real files have a few KiB; larger ones are something else.
  private static let maximumBytes = 1024 * 1024

  private let source: String
  private let members: [String: Any]

  static func options(contentsOfFile path: String) throws(ConfigurationFault) -> FirebaseOptions {
    let content: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      content = try file.read(upToCount: maximumBytes + 1) ?? Data()
    } catch {
      throw ConfigurationFault(
        message: "Configuration file \"\(path)\" cannot be read: \((error as NSError).localizedDescription)")
    }
    guard content.count <= maximumBytes else {
      throw ConfigurationFault(
        message: "Configuration file \"\(path)\" has more than \(maximumBytes) bytes, so it is not one of Firebase's.")
    }
    return try options(content, source: "Configuration file \"\(path)\"")
  }

  /// - Parameter source: The name of the content in messages.
  static func options(_ content: Data, source: String) throws(ConfigurationFault) -> FirebaseOptions {
    if PropertyListEntries.isPropertyList(content) {
      let entries: [String: PropertyListEntries.Entry]
      do throws(PropertyListEntries.Fault) {
        entries = try PropertyListEntries.read(appleNames, from: content)
      } catch {
        throw ConfigurationFault(message: "\(source): the property list \(error.message).")
      }
      return try ConfigurationFile(source: source, members: entries.mapValues(\.member)).appleOptions()
    }
    if let json = try? JSONSerialization.jsonObject(with: content) {
      guard let members = json as? [String: Any] else {
        throw ConfigurationFault(message: "\(source) is not a JSON object.")
      }
      let file = ConfigurationFile(source: source, members: members)
      return members["project_info"] == nil ? try file.serverOptions() : try file.androidOptions()
    }
    throw ConfigurationFault(message: "\(source) is neither a property list of entries nor JSON.")
  }

  private static let appleNames: Set = [
    "GOOGLE_APP_ID", "GCM_SENDER_ID", "PROJECT_ID", "API_KEY", "BUNDLE_ID", "CLIENT_ID", "DATABASE_URL",
    "STORAGE_BUCKET",
  ]

  private func appleOptions() throws(ConfigurationFault) -> FirebaseOptions {
    let options = FirebaseOptions(
      googleAppID: try text("GOOGLE_APP_ID") ?? "", gcmSenderID: try text("GCM_SENDER_ID") ?? "")
    options.projectID = try text("PROJECT_ID")
    options.apiKey = try text("API_KEY")
    if let bundleID = try text("BUNDLE_ID") { options.bundleID = bundleID }
    options.clientID = try text("CLIENT_ID")
    options.databaseURL = try text("DATABASE_URL")
    options.storageBucket = try text("STORAGE_BUCKET")
    return options
  }

  private func androidOptions() throws(ConfigurationFault) -> FirebaseOptions {
    let project = try object("project_info")
    let client = try objects("client")?.first
    let app = try client?.object("client_info")
    let options = FirebaseOptions(
      googleAppID: try app?.text("mobilesdk_app_id") ?? "", gcmSenderID: try project.text("project_number") ?? "")
    options.projectID = try project.text("project_id")
    options.databaseURL = try project.text("firebase_url")
    options.storageBucket = try project.text("storage_bucket")
    options.apiKey = try client?.objects("api_key")?.first?.text("current_key")
    options.clientID = try client?.objects("oauth_client")?.first?.text("client_id")
    return options
  }

  private func serverOptions() throws(ConfigurationFault) -> FirebaseOptions {
    let options = FirebaseOptions(
      googleAppID: try text("appId") ?? "", gcmSenderID: try text("messagingSenderId") ?? "")
    options.projectID = try text("projectId")
    options.apiKey = try text("apiKey")
    options.databaseURL = try text("databaseURL")
    options.storageBucket = try text("storageBucket")
    return options
  }

  private func text(_ name: String) throws(ConfigurationFault) -> String? {
    guard let value = members[name], !(value is NSNull) else { return nil }
    guard let text = value as? String else { throw fault(name, "is not a string") }
    return text.isEmpty ? nil : text
  }

  private func object(_ name: String) throws(ConfigurationFault) -> ConfigurationFile {
    guard let value = members[name] as? [String: Any] else { throw fault(name, "is not an object") }
    return ConfigurationFile(source: "\(source), \"\(name)\"", members: value)
  }

  private func objects(_ name: String) throws(ConfigurationFault) -> [ConfigurationFile]? {
    guard let value = members[name], !(value is NSNull) else { return nil }
    guard let list = value as? [[String: Any]] else { throw fault(name, "is not an array of objects") }
    return list.map { ConfigurationFile(source: "\(source), \"\(name)\"", members: $0) }
  }

  private func fault(_ name: String, _ fault: String) -> ConfigurationFault {
    ConfigurationFault(message: "\(source): member \"\(name)\" \(fault).")
  }
}

extension PropertyListEntries.Entry {
  /// The name of this entry as a member of ``ConfigurationFile``.
  fileprivate var member: Any {
    switch self {
    case .text(let text): text
    case .other: [Any]()
    }
  }
}
