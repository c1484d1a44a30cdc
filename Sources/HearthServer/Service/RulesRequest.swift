internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthRules
internal import Logging
internal import NIOCore

/// The emulator's request `PUT /emulator/v1/projects/<project>:securityRules`, with which tests load rules.
struct RulesRequest: Sendable {
  private let rules: AccessRules
  private let logger: Logger

  /// - Parameter logger: Is told of mistakes that do not prevent rules from being used.
  init(_ rules: AccessRules, _ logger: Logger) {
    self.rules = rules
    self.logger = logger
  }

  /// The body of the request.
  private struct Body: Decodable {
    struct Rules: Decodable {
      struct File: Decodable {
        var content: String
        var name: String?
      }

      var files: [File]
    }

    var rules: Rules
  }

  /// The method whose requests ``EmulatorCall`` makes.
  var method: CallMethod {
    .encoded("SetSecurityRules", .oneRequest) { call, message in
      let (name, body) = EmulatorCall.parts(of: message)
      let parts = name.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == "projects", !parts[1].isEmpty else {
        throw StatusError.invalid("path: \"\(name.prefix(200))\" is not projects/<project>")
      }
      guard let files = try? JSONDecoder().decode(Body.self, from: Data(body)).rules.files, files.count == 1 else {
        throw StatusError.invalid(
          "The body is not a JSON object with rules.files, an array of one file with content: "
            + #"{"rules": {"files": [{"content": "rules_version = '2'; …"}]}}"#)
      }
      let fileName = String((files[0].name ?? "firestore.rules").prefix(200))
      let made: RuleSet
      do {
        made = try RuleSet(files[0].content)
      } catch {
        throw StatusError.invalid("The rules are not valid: \(error)")
      }
      rules.replace(made, of: String(parts[1]), fileName: fileName)
      guard !made.warnings.isEmpty else { return }
      for issue in made.warnings {
        logger.warning(
          "a warning about the rules",
          metadata: ["project": .escaped(parts[1]), "warning": .escapedLines("\(issue)")])
      }
      try await call.send(Array((Self.answer(made, fileName: fileName).indented + "\n").utf8), isHeldBack: true)
    }
  }

  /// The warnings in the form of the emulator's answer, which its command line prints.
  private static func answer(_ rules: RuleSet, fileName: String) -> JSONText {
    let places = RulePlaces(rules.source)
    let issues = rules.warnings.map { issue in
      JSONText.object([
        ("sourcePosition", places.json(of: issue.range, fileName: fileName)), ("description", .string(issue.message)),
        ("severity", .string("WARNING")),
      ])
    }
    return .object([("issues", .array(issues))])
  }
}
