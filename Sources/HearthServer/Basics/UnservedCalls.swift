/// The calls of Firestore's clients and tools that this server does not serve, with the reasons that it returns.
enum UnservedCalls {
  private static let page = "See docs/server.md, \"Calls that are not served\"."

  private static let reading =
    "The security rules of a project can be replaced with PUT, and not be read. \(page)"
  private static let exports =
    "Exports and imports of the emulator are not served over HTTP; use `hearth data export` and `hearth data import`. \(page)"
  private static let webChannel =
    "WebChannel, which the Web SDK uses for Listen and Write in browsers, is not served. \(page)"
  private static let beta =
    "The API google.firestore.v1beta1 is not served; google.firestore.v1 is, in REST at paths that begin with /v1/. \(page)"
  private static let admin =
    "Of the API google.firestore.admin.v1 only ListDatabases is served, over gRPC: databases are created by their first commit, and indexes are declared in "
    + "the file of --indexes. \(page)"
  private static let datastore =
    "The API google.datastore.v1 (Datastore mode) is not served; google.firestore.v1 is. \(page)"

  private static let services = [
    "google.firestore.v1beta1.Firestore": beta, "google.firestore.v1beta2.FirestoreAdmin": admin,
    "google.firestore.v1beta1.FirestoreAdmin": admin, "google.firestore.admin.v1.FirestoreAdmin": admin,
    "google.datastore.v1.Datastore": datastore,
  ]

  /// The reasons for the custom methods at the emulator's own paths.
  private static let emulatorMethods = [
    "securityRules": reading, "export": exports, "import": exports,
  ]

  /// The custom methods of google.firestore.admin.v1 on a database.
  private static let adminMethods: Set<Substring> = [
    "exportDocuments", "importDocuments", "bulkDeleteDocuments", "restore", "clone",
  ]

  /// The methods of google.datastore.v1, on a project.
  private static let datastoreMethods: Set<Substring> = [
    "lookup", "runQuery", "runAggregationQuery", "beginTransaction", "commit", "rollback", "allocateIds", "reserveIds",
  ]

  /// - Parameter path: The path of a call of gRPC, such as `/google.firestore.v1beta1.Firestore/Commit`.
  /// - Returns: The text that says what is missing and what to use in its place; nil for a path of no known API.
  static func reason(call path: String) -> String? {
    services[String(path.drop { $0 == "/" }.prefix { $0 != "/" })]
  }

  /// - Parameter path: The path of a request of HTTP that no method is bound to.
  /// - Returns: As ``reason(call:)``.
  static func reason(path: Substring) -> String? {
    if path.hasPrefix("/v1beta1/") { return beta }
    if path.hasPrefix("/emulator/v1/") {
      guard let method = path.split(separator: ":").dropFirst().last else { return nil }
      return emulatorMethods[String(method)]
    }
    if path.hasPrefix("/google.firestore.v1.Firestore/"), path.hasSuffix("/channel") { return webChannel }
    guard path.hasPrefix("/v1/projects/") else { return nil }
    let parts = path.split(separator: "/")
    let method = parts.count == 3 ? parts[2].split(separator: ":").dropFirst().last : nil
    if let method, datastoreMethods.contains(method) { return datastore }
    return isAdmin(parts) ? admin : nil
  }

  /// `projects/*/databases`, `projects/*/locations/…`, and all of a database but its documents.
  private static func isAdmin(_ parts: [Substring]) -> Bool {
    guard parts.count >= 4 else { return false }
    if parts[3] == "locations" { return true }
    guard parts[3] == "databases" else { return false }
    guard parts.count > 5 else {
      let method = parts.last?.split(separator: ":").dropFirst().last
      return method.map(adminMethods.contains) ?? true
    }
    return ["collectionGroups", "operations", "backupSchedules", "userCreds"].contains(parts[5])
  }
}
