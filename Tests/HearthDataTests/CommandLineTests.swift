import HearthModel
import HearthTransport
import Logging
import Testing

@testable import HearthData

@Suite("The words of a command line")
struct CommandLineTests {
  private let database = DatabaseID(projectID: "demo")

  @Test(
    "conditions are cut into field, operator and value",
    arguments: [
      ("population >= 1000000", "population", FieldFilter.Operator.greaterThanOrEqual, "1000000"),
      ("population>=1000000", "population", .greaterThanOrEqual, "1000000"),
      ("state == \"CA\"", "state", .equal, "\"CA\""), ("state=CA", "state", .equal, "CA"),
      ("a.b != null", "a.b", .notEqual, "null"), ("`a b>c`.d < 1", "`a b>c`.d", .lessThan, "1"),
      ("tags array-contains  x y ", "tags", .arrayContains, "x y"),
      ("tags ARRAY_CONTAINS_ANY [1]", "tags", .arrayContainsAny, "[1]"), ("a not-in [1]", "a", .notIn, "[1]"),
      ("in in [1]", "in", .in, "[1]"), ("  a<=-1", "a", .lessThanOrEqual, "-1"),
    ])
  func conditions(text: String, field: String, op: FieldFilter.Operator, value: String) throws {
    let condition = try ConditionText(parsing: text)
    #expect((condition.field, condition.op, condition.value) == (field, op, value))
  }

  @Test(
    "what is no condition is refused",
    arguments: [
      "", "a", "a ~ 1", "== 1", "a ==", "a inn [1]", "`a == 1", "a in 5", "a in []", "a == [1", "a..b == 1", "a == 'b'",
    ])
  func refusedConditions(text: String) {
    var query = DataQuery(collection: "cities")
    query.conditions = [text]
    let error = #expect(throws: DataError.self) { try query.query(in: database) }
    #expect(error?.isWrongArgument == true)
  }

  @Test("a query has the filters, orders, limits and positions of its words")
  func query() throws {
    var words = DataQuery(collection: "cities")
    words.conditions = [
      "state == CA", "since > {\"$timestamp\": \"1970-01-01T00:00:01Z\"}", "__name__ > SF", "zip == \"94103\"",
    ]
    words.orders = ["since:desc", "name"]
    words.limit = 3
    words.startAfter = "[{\"$timestamp\": \"1970-01-01T00:00:09Z\"}, \"x\", \"NY\"]"
    let query = try words.query(in: database)
    func reference(_ path: String) throws -> Value {
      .reference(ReferenceValue(database: database, key: try DocumentKey(parsing: path)))
    }
    #expect(
      query.filters == [
        .field(try FieldPath(["state"]), .equal, "CA"),
        .field(
          try FieldPath(["since"]), .greaterThan, .timestamp(Timestamp(seconds: 1, nanoseconds: 0))),
        .field(.documentKey, .greaterThan, try reference("cities/SF")),
        .field(try FieldPath(["zip"]), .equal, "94103"),
      ])
    #expect(query.explicitOrders.map(\.path.canonicalString) == ["since", "name"])
    #expect(query.explicitOrders.map(\.direction) == [.descending, .ascending])
    #expect(query.limit == 3)
    let position: [Value] = [.timestamp(Timestamp(seconds: 9, nanoseconds: 0)), "x", try reference("cities/NY")]
    #expect(query.startAt == Bound(position: position, isInclusive: false))
  }

  @Test("texts that only look odd are texts")
  func oddTexts() throws {
    for text in [
      "5 o'clock", "http://a/?b=c&d=e", "a: b", "2026-03-01", "10.0.0.1", "Tom & Jerry", "rock 'n roll band", "x~y",
      "say \"a && b\" twice", "the 'x == y' of it", "read “p || q” first", "a `b < c` d",
    ] {
      var query = DataQuery(collection: "cities")
      query.conditions = ["a == \(text)"]
      #expect(try query.query(in: database).filters == [.field(try FieldPath(["a"]), .equal, .string(text))])
    }
  }

  @Test("what stands in quotation marks is masked, and an apostrophe opens none")
  func quotedParts() {
    for (text, masked) in [
      (#"a "b && c" d"#, "a xxxxxxxx d"), (#""a \" == b" c"#, "xxxxxxxxxxx c"), ("it's a && b's", "it's a && b's"),
      (#"5" && 6" x"#, #"5" && 6" x"#), ("\"a && b", "xxxxxxx"), ("a 'b", "a 'b"), ("", ""), ("„a=b“ «c»", "xxxxx xxx"),
    ] {
      #expect(String(QuotedParts.masked(Array(text)[...])) == masked, "\(text)")
    }
  }

  @Test("a position is no condition, so operators in it are text")
  func positions() throws {
    var words = DataQuery(collection: "cities")
    words.orders = ["name"]
    words.startAt = "a && b"
    #expect(try words.query(in: database).startAt?.position == ["a && b"])
  }

  @Test(
    "an order is a field and a direction in any spelling",
    arguments: [
      ("n", OrderBy.Direction.ascending), ("n:desc", .descending), ("n desc", .descending), (" n : DESC ", .descending),
      ("n ascending", .ascending), ("`n`:descending", .descending), ("n:asc", .ascending),
    ])
  func orders(text: String, direction: OrderBy.Direction) throws {
    #expect(try OrderText.order(text) == OrderBy(path: try FieldPath(["n"]), direction: direction))
  }

  @Test("the nearest word is found for slips, and none for other words")
  func nearest() {
    let known = ["query", "count", "collections", "databases", "watch"]
    #expect(NearestWord.of("qurey", in: known) == "query" && NearestWord.of("cuont", in: known) == "count")
    #expect(
      NearestWord.of("collection", in: known) == "collections" && NearestWord.of("data", in: known) == "databases")
    #expect(NearestWord.of("frobnicate", in: known) == nil && NearestWord.of("x", in: known) == nil)
    #expect(NearestWord.distance("ab", "ba") == 1 && NearestWord.distance("", "abc") == 3)
  }

  @Test("words that make no query are refused")
  func refusedQueries() {
    func fails(_ change: (inout DataQuery) -> Void) {
      var words = DataQuery(collection: "cities")
      change(&words)
      #expect(throws: DataError.self) { try words.query(in: database) }
    }
    fails { $0.collection = "cities/SF" }
    fails { $0.collection = "" }
    fails { ($0.collection, $0.isCollectionGroup) = ("a/b/c", true) }
    fails { $0.limit = 0 }
    fails { $0.orders = ["name:sideways"] }
    fails { ($0.startAt, $0.startAfter) = ("1", "2") }
    fails { $0.endAt = "[1, 2]" }
    fails { $0.endBefore = "[]" }
  }

  @Test("who is refused without a token is asked for one, and who has one is told that its caller may not")
  func refusals() {
    let error = StatusError(code: .permissionDenied, message: "Missing or insufficient permissions.")
    let without = DataError(error, doing: "Reading", at: "x:1", hasCaller: false).description
    #expect(without.contains("give --token (or HEARTH_TOKEN)"), "\(without)")
    let with = DataError(error, doing: "Reading", at: "x:1", hasCaller: true).description
    #expect(with.contains("The caller whose token was given may not do this"), "\(with)")
    #expect(!with.contains("credentials") && !with.contains(".."), "\(with)")
  }

  @Test("only a connection that failed brings the advice to start a backend")
  func unavailable() {
    func text(_ message: String) -> String {
      DataError(StatusError(code: .unavailable, message: message), doing: "Reading", at: "x:1", hasCaller: false)
        .description
    }
    for answer in ["The database is out of reach; try again.", "The server is shutting down."] {
      #expect(text(answer) == "Reading: UNAVAILABLE: \(answer)")
    }
    for failure in ["Cannot connect to x:1: it is slow", "x:1 is unavailable: no", "Lost the connection to x:1: end"] {
      #expect(text(failure).contains("Start one with `hearth serve --in-memory`"), "\(text(failure))")
    }
  }

  @Test("a locked server without TLS that refuses the owner asks for the token that was not given")
  func lockedWithoutTLS() {
    let message = "The token is not accepted: it is none of the administrators' secrets, and not a JSON Web Token."
    func text(_ hasCaller: Bool) -> String {
      DataError(
        StatusError(code: .unauthenticated, message: message), doing: "Reading", at: "x:1", hasCaller: hasCaller
      ).description
    }
    #expect(text(false).contains("No token was given. To a server without TLS `hearth data` sends \"owner\""))
    #expect(!text(true).contains("No token was given"))
  }

  @Test("calls that are repeated for want of room say so once, and before they end")
  func retries() async throws {
    let notices = FailureList()
    var options = ConnectionChoice.Options()
    options.host = "127.0.0.1:1"
    let quiet = Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() }
    let backend = try DataBackend(
      ConnectionChoice(options, environment: [:]), logger: quiet, pause: .milliseconds(1), onRetry: { notices.add($0) })
    for code in [StatusCode.aborted, .resourceExhausted, .resourceExhausted] {
      var failures = 3
      try await backend.retrying("Writing") { () async throws(StatusError) in
        failures -= 1
        if failures >= 0 { throw StatusError(code: code, message: "The server's disk is full.") }
        #expect(notices.all.count == (code == .aborted ? 0 : 1))
      }
    }
    #expect(notices.all == ["Writing: The server's disk is full. It is tried again, for about a minute."])
    await backend.shutdown()
  }

  @Test("a token with the word before it is refused with the option that it comes from")
  func bearer() {
    var options = ConnectionChoice.Options()
    func text(_ environment: [String: String]) -> String {
      do {
        _ = try ConnectionChoice(options, environment: environment)
        return "taken"
      } catch {
        return error.description
      }
    }
    #expect(text(["HEARTH_TOKEN": "Bearer a.b."]).hasPrefix("HEARTH_TOKEN begins with the word Bearer"))
    options.token = "bearer a.b."
    #expect(text([:]).hasPrefix("--token begins with the word Bearer"))
  }

  @Test(
    "a port alone is no host: the system would take it for the address of another machine",
    arguments: ["28412", ":28412"])
  func portAlone(text: String) {
    var options = ConnectionChoice.Options()
    options.host = text
    let error = #expect(throws: DataError.self) { try ConnectionChoice(options, environment: [:]) }
    #expect(error?.description == "--host \"\(text)\": a port alone; write 127.0.0.1:28412.")
    #expect(error?.isWrongArgument == true)
    options.host = nil
    let variable = #expect(throws: DataError.self) {
      try ConnectionChoice(options, environment: ["FIRESTORE_EMULATOR_HOST": text])
    }
    #expect(variable?.description.contains("HOST is \"\(text)\": a port alone; write") == true)
    options.host = "70000"
    #expect(throws: DataError.self) { try ConnectionChoice(options, environment: [:]) }
  }

  @Test("a name with a dot is pointed out where it is no path")
  func dottedNames() throws {
    var write = DocumentWrite(key: try DocumentKey(parsing: "a/b"))
    let advice = write.nameAdvice(json: #"{"x": 1, "a.b": {"c.d": 1}}"#)
    #expect(advice?.hasPrefix("The field `a.b` has a dot in its name.") == true, "\(advice ?? "")")
    for json in [#"{"a": 1}"#, #"{"...": 1}"#, "[]", "{"] { #expect(write.nameAdvice(json: json) == nil) }
    write.mode = .update
    #expect(write.nameAdvice(json: #"{"a.b": 1}"#) == nil)
  }

  @Test("collections with commas are refused with the option for each, and taken in backquotes")
  func collections() throws {
    let paths = try DataPath.collections(["a", "`b,c`", "d/e/f"], of: "--collection")
    #expect(paths.map(\.canonicalString) == ["a", "b,c", "d/e/f"])
    let error = #expect(throws: DataError.self) { try DataPath.collections(["a,b c"], of: "--collection") }
    #expect(
      error?.description.contains(
        "\",\" (character 2) separates no collections. Repeat the option: --collection a --collection 'b c'.")
        == true, "\(error?.description ?? "")")
    #expect(error?.isWrongArgument == true)
    let slash = #expect(throws: DataError.self) { try DataPath.document("cities//SF") }
    #expect(slash?.description.contains("Write cities/SF.") == true, "\(slash?.description ?? "")")
  }

  @Test("the backend follows from options and environment")
  func connection() throws {
    func choice(
      _ environment: [String: String] = [:], _ change: (inout ConnectionChoice.Options) -> Void = { _ in }
    ) throws -> ConnectionChoice {
      var options = ConnectionChoice.Options()
      change(&options)
      return try ConnectionChoice(options, environment: environment)
    }
    let plain = try choice()
    #expect(plain.place == "127.0.0.1:8080" && !plain.usesTLS && plain.databaseID.projectID == "demo")
    #expect(plain.credentials is OwnerCredentials)
    let emulator = try choice(["FIRESTORE_EMULATOR_HOST": "localhost:9000", "GOOGLE_CLOUD_PROJECT": "p"])
    #expect(emulator.place == "localhost:9000" && emulator.databaseID.projectID == "p")
    // A key file of the environment is not looked at where another backend is named.
    let named = try choice(["GOOGLE_APPLICATION_CREDENTIALS": "/none", "FIRESTORE_EMULATOR_HOST": "x:1"]) {
      $0.host = "[::1]:8081"
    }
    #expect(named.host == "::1" && named.port == 8081 && named.place == "[::1]:8081")
    #expect(throws: DataError.self) { try choice(["GOOGLE_APPLICATION_CREDENTIALS": "/none"]) }
    let secure = try choice {
      ($0.host, $0.usesTLS, $0.token) = ("example.com", true, "secret")
    }
    #expect(secure.port == 443 && secure.usesTLS && !"\(secure.credentials)".contains("secret"))
    for wrong in ["http://a", "a:0", "a:x", "[::1", "[]:1", ":80", ""] {
      #expect(throws: DataError.self, "\(wrong)") { try choice { $0.host = wrong } }
    }
    #expect(throws: DataError.self) { try choice { ($0.token, $0.credentialsFile) = ("a", "b") } }
    // A secret does not travel unencrypted, but within this machine. Tokens for development are none.
    for host in ["example.com", "10.9.9.1:8080", "127.example.com"] {
      let error = #expect(throws: DataError.self) { try choice { ($0.host, $0.token) = (host, "secret") } }
      #expect(error.map { "\($0)" }?.contains("Add --tls") == true)
      #expect(throws: DataError.self) { try choice(["HEARTH_TOKEN": "a.b.c"]) { $0.host = host } }
      for token in ["owner", "a.b."] { _ = try choice { ($0.host, $0.token) = (host, token) } }
    }
    for host in ["127.0.0.1:1", "localhost", "[::1]:1"] { _ = try choice { ($0.host, $0.token) = (host, "secret") } }
  }

  @Test("changes in place of values become transforms and removals, by the paths of their fields")
  func changes() throws {
    var write = DocumentWrite(key: try DocumentKey(parsing: "a/b"))
    write.mode = .merge
    let json =
      #"{"m": {"n": {"$increment": 1}, "k": 2}, "l": {"$arrayUnion": ["x"]}, "t": {"$serverTimestamp": true}, "g": {"$delete": true}, "max": {"$maximum": 1.5}, "r": {"$arrayRemove": [1]}}"#
    let merge = try write.mutation(json: json, place: "--json", in: database)
    guard case .patch(let fields, let mask) = merge.operation else {
      Issue.record("\(merge)")
      return
    }
    #expect(try fields.decoded() == ["m": ["k": 2]])
    #expect(mask.paths.map(\.canonicalString).sorted() == ["g", "m.k"])
    #expect(
      merge.transforms == [
        FieldTransform(path: try FieldPath(["m", "n"]), operation: .increment(1)),
        FieldTransform(path: try FieldPath(["l"]), operation: .arrayUnion(["x"])),
        FieldTransform(path: try FieldPath(["t"]), operation: .serverTimestamp),
        FieldTransform(path: try FieldPath(["max"]), operation: .maximum(1.5)),
        FieldTransform(path: try FieldPath(["r"]), operation: .arrayRemove([1])),
      ])
    write.mode = .update
    let update = try write.mutation(
      json: #"{"a.n": {"$increment": 1}, "b": {"$delete": true}, "c": 1}"#, place: "--json", in: database)
    guard case .patch(_, let paths) = update.operation else {
      Issue.record("\(update)")
      return
    }
    #expect(paths.paths.map(\.canonicalString).sorted() == ["b", "c"])
    #expect(update.transforms == [FieldTransform(path: try FieldPath(["a", "n"]), operation: .increment(1))])
    write.mode = .replace
    #expect(throws: DataError.self) {
      try write.mutation(json: #"{"a": {"$delete": true}}"#, place: "--json", in: database)
    }
  }

  @Test(
    "JSON that cannot be read is refused with line and column, what is expected there, and what stands there",
    arguments: [
      (
        "{bad",
        "line 1, column 2: a string in quotation marks is expected, but \"b\" stands there: names stand in double"
      ),
      ("{'a': 1}", "column 2: a string in quotation marks is expected, but \"'\" stands there: JSON has only double"),
      ("{\"a\": 1,}", "column 9: a string in quotation marks is expected, but \"}\" stands there: leave out the comma"),
      ("{\"a\": 1 \"b\": 2}", "column 9: \",\" or \"}\" is expected, but a quotation mark stands there."),
      ("{\n  \"é\": [1 2]}", "line 2, column 11: \",\" or \"]\" is expected, but \"2\" stands there."),
      (
        "{\"a\": True}",
        "column 7: a value is expected, but \"T\" stands there: a text stands in double quotation marks"
      ),
      ("{\"a\": 1};", "column 9: there is more after the value: \";\"."),
      ("{\"a\"", "column 5: \":\" is expected, but the text ends there."),
      ("", "column 1: the text ends where a value is expected."),
    ])
  func brokenJSON(json: String, fault: String) throws {
    let write = DocumentWrite(key: try DocumentKey(parsing: "a/b"))
    let error = #expect(throws: DataError.self) { try write.mutation(json: json, place: "--json", in: database) }
    #expect(
      error?.description.hasPrefix("--json, line ") == true && error?.description.contains(fault) == true,
      "\(error?.description ?? "")")
  }

  @Test("paths with spaces are quoted for a shell, and one that a shell has cut says so")
  func spaces() throws {
    for plain in ["cities/SF", "都市/東京", "a/x.y_z-1@b:c,d+e=f%~"] { #expect(ShellWord.bare(plain) == plain) }
    for (text, word) in [
      ("cities/San Francisco", "'cities/San Francisco'"), ("a/it's", #"'a/it'\''s'"#), ("a/$b", "'a/$b'"), ("", "''"),
      ("~a/b", "'~a/b'"), ("-a/b", "'-a/b'"), ("a/b\u{3000}c", "'a/b\u{3000}c'"),
    ] {
      #expect(ShellWord.bare(text) == word)
    }
    #expect(try DataPath.documents(["cities/San Francisco", "a/b"]).map(\.id) == ["San Francisco", "b"])
    for words in [["cities/San", "Francisco"], ["new", "cities/SF"]] {
      let error = #expect(throws: DataError.self) { try DataPath.documents(words) }
      #expect(error?.description.hasSuffix("quote it: '\(words.joined(separator: " "))'.") == true)
      #expect(error?.isWrongArgument == true)
    }
    #expect(throws: DataError.self) { try DataPath.documents(["a", "b", "c"]) }
  }

  @Test("set, merge and update write what they say")
  func writes() throws {
    var write = DocumentWrite(key: try DocumentKey(parsing: "a/b"))
    let json = #"{"x": {"y": 1, "z": {}}, "l": [1]}"#
    #expect(try write.mutation(json: json, place: "--json", in: database).precondition == .none)
    write.mode = .merge
    let merge = try write.mutation(json: json, place: "--json", in: database)
    guard case .patch(_, let mask) = merge.operation else {
      Issue.record("\(merge)")
      return
    }
    #expect(mask.paths.map(\.canonicalString) == ["l", "x.y", "x.z"] && merge.precondition == .none)
    write.mode = .update
    write.removedFields = ["gone"]
    let update = try write.mutation(json: #"{"x.y": 2}"#, place: "--json", in: database)
    guard case .patch(let fields, let paths) = update.operation else {
      Issue.record("\(update)")
      return
    }
    #expect(try fields.decoded() == ["x": ["y": 2]] && update.precondition == .exists(true))
    #expect(paths.paths.map(\.canonicalString) == ["gone", "x.y"])
    for (wrong, reason) in [
      ("{\n\"a\":\n x}", "line 3, column 2"), (#"{"a": 1, "a.b": 2}"#, "cannot both"), ("[]", "object"),
      (#"{"a": {"$x": 1}}"#, "a.$x"),
    ] {
      let error = #expect(throws: DataError.self) { try write.mutation(json: wrong, place: "--json", in: database) }
      #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }
  }
}
