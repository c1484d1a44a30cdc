internal import HearthModel
internal import HearthRPC

/// The emulator's request `GET /emulator/v1/projects/<project>:ruleCoverage`: the values that expressions of rules had in calls.
///
/// The path may go on with `/databases/<database>` behind the project; without it the database is `(default)`. With `:ruleCoverage.html`
/// the answer is a page.
struct CoverageRequest: Sendable {
  private let rules: AccessRules

  init(_ rules: AccessRules) {
    self.rules = rules
  }

  /// The custom methods at the end of the path, with the forms of their answers.
  enum Form: String, CaseIterable {
    case json = ":ruleCoverage"
    case page = ":ruleCoverage.html"

    var contentType: String {
      switch self {
      case .json: "application/json; charset=UTF-8"
      case .page: "text/html; charset=UTF-8"
      }
    }
  }

  /// The method whose requests ``EmulatorCall`` makes.
  func method(_ form: Form) -> CallMethod {
    .encoded("GetRuleCoverage", .oneRequest) { call, message in
      let report = try rules.coverage(in: try Self.database(EmulatorCall.parts(of: message).name))
      let text =
        switch form {
        case .json: (report?.json ?? .object([("rules", .object([("files", .array([]))]))])).indented + "\n"
        case .page: report?.html ?? "<!DOCTYPE html>\n<p>No security rules are loaded for this project.</p>\n"
        }
      try await call.send(Array(text.utf8), isHeldBack: true)
    }
  }

  private static func database(_ name: String) throws(StatusError) -> DatabaseID {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let isProject = parts.count == 2
    guard isProject || parts.count == 4 && parts[2] == "databases", parts[0] == "projects",
      !parts.contains(where: \.isEmpty)
    else {
      throw .invalid(
        "path: \"\(name.prefix(200))\" is neither projects/<project> nor projects/<project>/databases/<database>")
    }
    return isProject ? DatabaseID(projectID: parts[1]) : DatabaseID(projectID: parts[1], database: parts[3])
  }
}
