internal import ArgumentParser
internal import Foundation
internal import HearthAuthentication
internal import HearthRPC
internal import HearthServer
internal import Logging

/// The callers that `hearth serve` tells apart.
struct CallerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      A file with security rules, such as firestore.rules, which say what users and callers without a token may do. It is read \
      again when it changes. Without other options of this group, tokens are believed without a check, for development.
      """, valueName: "file"), completion: .file(extensions: ["rules"]))
  var rules: String?

  @Option(
    help: ArgumentHelp(
      """
      A project whose databases users and callers without a token may use, on a server that tells callers apart. Users of Firebase \
      Auth may always use that of --firebase-project. Can be repeated.
      """, valueName: "project"))
  var project: [String] = []

  @Option(
    help: ArgumentHelp(
      "A database of these projects that they may use, in place of (default). Can be repeated.",
      valueName: "database"))
  var database: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      A file with secrets, one in each line, of at least 32 bytes. A caller that sends one as its bearer token is an \
      administrator, for whom no rules apply.
      """, valueName: "file"), completion: .file())
  var adminTokenFile: String?

  @Option(
    help: ArgumentHelp(
      """
      The key file of a Google service account (JSON). Tokens that the account signs itself are an administrator's. Can be \
      repeated.
      """, valueName: "file"), completion: .file(extensions: ["json"]))
  var serviceAccount: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      A Firebase project, whose ID tokens of Firebase Auth identify users. --rules says what they may do.
      """, valueName: "project"))
  var firebaseProject: String?

  @Option(
    help: ArgumentHelp(
      "The keys of --firebase-project: a file, or an https address, in place of Google's.", valueName: "file or address"
    ))
  var firebaseKeys: String?

  @Option(
    help: ArgumentHelp(
      "An OpenID provider whose ID tokens identify users: the value of iss in its tokens.", valueName: "issuer"))
  var tokenIssuer: String?

  @Option(
    help: ArgumentHelp("The value of aud in tokens of --token-issuer. Can be repeated.", valueName: "audience"))
  var tokenAudience: [String] = []

  @Option(
    help: ArgumentHelp(
      "The keys of --token-issuer (a JSON Web Key set, certificates, or a public key): a file, or an https address.",
      valueName: "file or address"))
  var tokenKeys: String?

  @Option(
    help: ArgumentHelp(
      "A file with the secret of at least 32 bytes with which --token-issuer signs (HS256), in place of --token-keys.",
      valueName: "file"), completion: .file())
  var tokenSecretFile: String?

  @Option(
    help: ArgumentHelp(
      "The number of a Firebase project whose App Check tokens every caller but administrators must send.",
      valueName: "project number"))
  var appCheckProject: String?

  @Option(
    help: ArgumentHelp(
      "The keys of --app-check-project: a file, or an https address, in place of Google's.",
      valueName: "file or address"))
  var appCheckKeys: String?

  @Option(
    help: """
      Calls of one address that fail to authenticate within a minute; more fail with RESOURCE_EXHAUSTED unless their credentials \
      were verified before; 0 is no limit. (default: \(ServerLimits.usualFailedAuthentications); none on a loopback address and \
      with --tls-at-proxy)
      """)
  var maxFailedAuthenticationsPerMinute: Int?

  var secretFiles: [SecretFile] {
    (serviceAccount + [adminTokenFile, tokenSecretFile].compactMap { $0 }).map { SecretFile(path: $0) }
  }

  /// True if callers are told apart.
  var tellsCallersApart: Bool {
    adminTokenFile != nil || !serviceAccount.isEmpty || firebaseProject != nil || tokenIssuer != nil
  }

  /// The databases for callers other than administrators.
  private var databases: UsersDatabases { UsersDatabases(projects: usersProjects, databases: databaseIDs) }

  private var databaseIDs: [String] { database.isEmpty ? ["(default)"] : database }

  /// The same databases as texts, such as `my-app/(default)`.
  var usersDatabases: [String] {
    usersProjects.flatMap { project in databaseIDs.map { "\(project)/\($0)" } }
  }

  private var usersProjects: [String] { project + [firebaseProject].compactMap { $0 } }

  /// The projects for users of `--token-issuer`; nil for all. Rules know users by their subject alone, and two issuers may have the same one:
  /// so the project of Firebase's users is theirs, unless `--project` names it, too.
  private var issuersProjects: [String]? { firebaseProject == nil ? nil : project }

  func validate() throws {
    if let failures = maxFailedAuthenticationsPerMinute, !(0...Int(Int32.max)).contains(failures) {
      throw ValidationError(
        "--max-failed-authentications-per-minute is \(failures): choose a number between 1 and \(Int32.max), or 0 for none."
      )
    }
    if tellsCallersApart, rules != nil, usersProjects.isEmpty {
      throw ValidationError("--rules needs --project: the projects whose databases users may use.")
    }
    if !tellsCallersApart, !(project + database).isEmpty {
      throw ValidationError(
        "--project and --database are for callers that are told apart: --firebase-project, --token-issuer or --admin-token-file."
      )
    }
    if firebaseKeys != nil, firebaseProject == nil {
      throw ValidationError("--firebase-keys needs --firebase-project, whose keys they are.")
    }
    if appCheckKeys != nil, appCheckProject == nil {
      throw ValidationError("--app-check-keys needs --app-check-project, whose keys they are.")
    }
    if let appCheckProject,
      appCheckProject.isEmpty || !appCheckProject.allSatisfy(\.isASCII) || Int64(appCheckProject) == nil
    {
      throw ValidationError(
        "--app-check-project is \(appCheckProject), but must be the number of the project, which is not its id.")
    }
    if appCheckProject != nil, !tellsCallersApart {
      throw ValidationError(
        "--app-check-project needs callers that are told apart: --firebase-project, --token-issuer or --admin-token-file."
      )
    }
    guard tokenIssuer != nil else {
      guard tokenAudience.isEmpty, tokenKeys == nil, tokenSecretFile == nil else {
        throw ValidationError("--token-audience, --token-keys and --token-secret-file need --token-issuer.")
      }
      return
    }
    guard !tokenAudience.isEmpty else {
      throw ValidationError(
        "--token-issuer needs --token-audience: without it, tokens for any other service would be accepted.")
    }
    if firebaseProject != nil, rules != nil, project.isEmpty {
      throw ValidationError(
        "--token-issuer together with --firebase-project needs --project: the projects whose databases its users may use."
      )
    }
    guard (tokenKeys == nil) != (tokenSecretFile == nil) else {
      throw ValidationError("--token-issuer needs its keys: either --token-keys or --token-secret-file.")
    }
  }

  // MARK: - Callers

  /// Where Google publishes the keys of Firebase Auth (Firebase documentation, "Verify ID tokens using a third-party JWT library").
  private static let firebaseKeysAddress =
    "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
  private static let appCheckKeysAddress = "https://firebaseappcheck.googleapis.com/v1/jwks"

  /// - Throws: An error that names the file or address that is wrong. A key server that cannot be reached is none: it is asked again.
  func callers(_ logger: Logger) async throws -> EmbeddedServer.Callers {
    guard tellsCallersApart else { return .development() }
    var issuers: [TokenIssuer] = []
    for path in serviceAccount {
      issuers.append(try await TokenIssuer.serviceAccount(contentsOfFile: path, logger: logger))
    }
    if let firebaseProject {
      let keys = try await keys(firebaseKeys ?? Self.firebaseKeysAddress, logger)
      issuers.append(.firebase(project: firebaseProject, keys: keys))
    }
    if let tokenIssuer {
      let keys =
        if let tokenSecretFile {
          try await TokenKeys.secret(inFile: tokenSecretFile, logger: logger)
        } else {
          try await keys(tokenKeys ?? "", logger)
        }
      issuers.append(
        TokenIssuer(name: tokenIssuer, audiences: Set(tokenAudience), keys: keys, projects: issuersProjects))
    }
    var appCheck: TokenIssuer?
    if let appCheckProject {
      let keys = try await keys(appCheckKeys ?? Self.appCheckKeysAddress, logger)
      appCheck = .appCheck(projectNumber: appCheckProject, keys: keys)
    }
    let administrators = try adminTokenFile.map { try AdministratorTokens(contentsOfFile: $0) }
    return .locked(
      TokenAuthenticator(issuers: issuers, appCheck: appCheck, administrators: administrators),
      AccessRules(databases: databases))
  }

  private func keys(_ place: String, _ logger: Logger) async throws -> TokenKeys {
    guard place.contains("://") else {
      let keys = TokenKeys(TokenKeyFile(path: place), logger: logger)
      try await keys.load()
      return keys
    }
    let keys = TokenKeys(try TokenKeyAddress(place), logger: logger)
    // A failure is logged, and the address is asked again.
    try? await keys.load()
    return keys
  }
}
