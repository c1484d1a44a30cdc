import ArgumentParser
import HearthData
import HearthModel
import HearthRules
import HearthServer

/// `hearth rules explain`: decides on one request, and shows the value of every expression on the way.
struct RulesExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Decide on one request, and show the value of every expression.",
    usage: """
      hearth rules explain <rules> --method METHOD --path PATH [<options>]
      hearth rules explain <rules> --cases FILE --case NAME
      """,
    discussion: """
      hearth rules explain firestore.rules --method get --path users/ada --uid ada \\
        --document 'users/ada={"role": "admin"}'

      Values are JSON, as `hearth data --help` shows it. The exit status is 0 whatever is decided, 1 for rules or cases that cannot be read, and 64 for a mistake in the options.
      """)

  @Argument(
    help: ArgumentHelp("The file of rules, such as firestore.rules.", valueName: "rules"),
    completion: .file(extensions: ["rules"]))
  var rules: String

  @Option(help: "A file with cases, as `hearth rules test` takes it.", completion: .file(extensions: ["json"]))
  var cases: String?

  @Option(name: .customLong("case"), help: "The name of the case in the file.")
  var caseName: String?

  @OptionGroup(title: "The request") var request: RuleRequestOptions

  @OptionGroup var report: RuleReportOptions

  func validate() throws {
    guard (cases == nil) == (caseName == nil) else {
      throw ValidationError("--cases and --case belong together: a file, and the name of a case in it.")
    }
    if cases != nil {
      guard request.isEmpty else {
        throw ValidationError("--cases names a request, so other options of the request are not taken.")
      }
    } else {
      guard request.method != nil, request.path != nil else {
        throw ValidationError("A request has --method and --path, or is one of --cases.")
      }
      guard request.claims == nil || request.uid != nil else {
        throw ValidationError("--claims needs --uid: they are of the user's token.")
      }
    }
  }

  func run() throws {
    let rules = try RulesCommand.rules(path: self.rules)
    do {
      let explanation = RuleExplanation(try ruleCase(), by: rules, rulesFile: self.rules)
      let output = StandardOutput()
      guard !report.isJSON else { return try output.writeLine(explanation.json.compact) }
      for line in explanation.lines { try output.writeLine(line) }
    } catch {
      let status = RulesCommand.failure(error, of: "explain")
      // A mistake in the options, unless it is in a file.
      throw error is RuleCaseError && cases == nil ? ExitCode.validationFailure : status
    }
  }

  private func ruleCase() throws -> RuleCase {
    let now = ServerClock.system.now()
    guard let cases, let caseName else { return try request.ruleCase(now: now) }
    let file = try RuleCaseFile(path: cases, now: now)
    if let found = file.cases.first(where: { $0.name == caseName }) { return found }
    let nearest = NearestWord.of(caseName, in: file.cases.map(\.name)).map { " Did you mean \"\($0)\"?" } ?? ""
    throw DataError("\(cases): no case is called \"\(caseName)\".\(nearest)")
  }
}

/// A request in the words of a command line.
struct RuleRequestOptions: ParsableArguments {
  @Option(help: "get, list, create, update or delete.")
  var method: String?

  @Option(help: "The path of the document, or for list that of the collection.")
  var path: String?

  @Option(help: "The id of the user who calls; without it nobody is signed in.")
  var uid: String?

  @Option(help: ArgumentHelp("The claims of the user's token, an object.", valueName: "json"))
  var claims: String?

  @Option(help: "The time of the request, such as 2026-03-01T12:30:00Z; by default now.")
  var time: String?

  @Option(help: ArgumentHelp("For create and update: the fields of the document after the write.", valueName: "json"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "A document that exists before the request, such as 'users/ada={\"age\": 36}'. Can be repeated.",
      valueName: "path=json"))
  var document: [String] = []

  @Option(
    help: ArgumentHelp(
      "A document after the request, for getAfter; null for one that is gone. Can be repeated.", valueName: "path=json")
  )
  var documentAfter: [String] = []

  @Option(
    name: .customLong("where"), help: "For list: a condition such as 'age >= 18'. Can be repeated, and all must hold.")
  var conditions: [String] = []

  @Option(
    name: [.customLong("order-by"), .customLong("order")], help: "For list: FIELD or FIELD:desc. Can be repeated.")
  var orders: [String] = []

  @Option(parsing: .unconditional, help: "For list: no more documents than this.")
  var limit: Int?

  @Option(parsing: .unconditional, help: "For list: the number of documents that are left out first.")
  var offset: Int?

  @Flag(
    name: [.customLong("collection-group"), .customLong("group")],
    help: "For list: all collections with the id that --path is.")
  var collectionGroup = false

  /// True if no option was given.
  var isEmpty: Bool {
    [method, path, uid, claims, time, data].allSatisfy { $0 == nil }
      && [document, documentAfter, conditions, orders].allSatisfy(\.isEmpty) && limit == nil && offset == nil
      && !collectionGroup
  }

  /// The request as a case of a file.
  ///
  /// - Throws: `RuleCaseError` that names what is wrong.
  func ruleCase(now: Timestamp) throws -> RuleCase {
    var members: [(name: String, value: JSONText)] = []
    func add(_ name: String, _ value: JSONText?) { if let value { members.append((name, value)) } }
    add("method", method.map { .string($0) })
    add("path", path.map { .string($0) })
    if let uid {
      let token = try claims.map { [(name: "token", value: try Self.json($0, "--claims"))] } ?? []
      add("auth", .object([("uid", .string(uid))] + token))
    }
    add("time", time.map { .string($0) })
    add("data", try data.map { try Self.json($0, "--data") })
    add("where", conditions.isEmpty ? nil : .array(conditions.map { .string($0) }))
    add("orderBy", orders.isEmpty ? nil : .array(orders.map { .string($0) }))
    add("limit", limit.map { .number("\($0)") })
    add("offset", offset.map { .number("\($0)") })
    if collectionGroup { add("collectionGroup", .bool(true)) }
    let json = JSONText.object([
      ("name", .string("request")), ("request", .object(members)),
      ("documents", .object(try document.map { try Self.document($0, "--document") })),
      ("documentsAfter", .object(try documentAfter.map { try Self.document($0, "--document-after") })),
    ])
    do throws(RuleCaseError) {
      return try RuleCaseReader(json, at: RuleCasePlace(words: Self.place), documents: [:], now: now).read()
    } catch {
      throw RuleCaseError(description: Self.withOption(error.description))
    }
  }

  private static let place = "the request"
  private static let options = [
    "method": "--method", "path": "--path", "auth": "--uid", "time": "--time", "data": "--data", "where": "--where",
    "orderBy": "--order-by", "limit": "--limit", "offset": "--offset", "collectionGroup": "--collection-group",
    "documents": "--document", "documentsAfter": "--document-after",
  ]

  /// An error about a member of the case, as one about the option that it was made of.
  private static func withOption(_ error: String) -> String {
    for (member, option) in options {
      for start in ["\(place) \"request\": request: \"\(member)\"", "\(place) \"request\": \"\(member)\""]
      where error.hasPrefix(start) {
        return option + error.dropFirst(start.count)
      }
    }
    return error
  }

  private static func json(_ text: String, _ option: String) throws(RuleCaseError) -> JSONText {
    do {
      return try JSONTextReader.read(Array(text.utf8)[...])
    } catch {
      throw RuleCaseError(description: "\(option): this is not JSON: \(error.message), at byte \(error.offset + 1).")
    }
  }

  private static func document(
    _ text: String, _ option: String
  ) throws(RuleCaseError) -> (name: String, value: JSONText) {
    guard let sign = text.firstIndex(of: "=") else {
      throw RuleCaseError(
        description: "\(option): a path, an equals sign and JSON are expected: 'users/ada={\"age\": 36}'.")
    }
    return (String(text[..<sign]), try json(String(text[text.index(after: sign)...]), option))
  }
}
