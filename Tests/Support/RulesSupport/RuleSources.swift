import Foundation
package import HearthRules

/// The surroundings of the corpora: the caller, the stored document, and the text around an expression.
package enum RuleSources {
  /// The claims of the caller's token.
  package static let claims =
    #"{"sub":"alice","user_id":"alice","email":"a@b.c","iat":1700000000,"exp":4000000000,"auth_time":1700000000,"role":"admin","n":7,"firebase":{"sign_in_provider":"custom","identities":{}},"aud":"p","iss":"https://securetoken.google.com/p"}"#

  package static let auth: RuleValue = .map([
    "uid": .string("alice"),
    "token": .map([
      "sub": .string("alice"), "user_id": .string("alice"), "email": .string("a@b.c"), "iat": .int(1_700_000_000),
      "exp": .int(4_000_000_000), "auth_time": .int(1_700_000_000), "role": .string("admin"), "n": .int(7),
      "firebase": .map(["sign_in_provider": .string("custom"), "identities": .map([:])]), "aud": .string("p"),
      "iss": .string("https://securetoken.google.com/p"),
    ]),
  ])

  package static let time = RuleTimestamp(seconds: 1_800_000_000, nanoseconds: 0)

  /// The document `d/one`, as the emulator takes it.
  package static let documentJSON =
    #"{"fields":{"a":{"integerValue":"1"},"s":{"stringValue":"x"},"m":{"mapValue":{"fields":{"k":{"integerValue":"2"}}}},"l":{"arrayValue":{"values":[{"integerValue":"1"}]}},"t":{"timestampValue":"2020-01-01T00:00:00Z"},"g":{"geoPointValue":{"latitude":1,"longitude":2}},"r":{"referenceValue":"projects/PROJECT/databases/(default)/documents/d/one"},"b":{"bytesValue":"AAH/"},"n":{"nullValue":null},"f":{"doubleValue":1.5}}}"#

  package static let document = RuleMap([
    "a": .int(1), "s": .string("x"), "m": .map(["k": .int(2)]), "l": .list([.int(1)]),
    "t": .timestamp(RuleTimestamp(seconds: 1_577_836_800, nanoseconds: 0)),
    "g": RuleLatLng(latitude: 1, longitude: 2).map { .latlng($0) } ?? .null,
    "r": .path(RulePath(root + ["d", "one"])), "b": .bytes([0, 1, 255]), "n": .null, "f": .float(1.5),
  ])

  package static let root = ["databases", "(default)", "documents"]

  /// The paths for which whole files are asked.
  package static let paths = ["c/x", "c/x/d/y", "d/one", "c/z"]

  /// A file with declarations within the outermost match.
  package static func file(_ body: String) -> String {
    "rules_version = '2';\nservice cloud.firestore {\n match /databases/{database}/documents {\n\(body)\n }\n}\n"
  }

  package static func lookUp(_ document: LookedUpDocument) -> DocumentLookup {
    document.path == root + ["d", "one"] ? .found(Self.document) : .missing
  }

  // MARK: - Verdicts of ours

  package static func decide(_ rules: RuleSet, get path: String) -> RuleDecision {
    let names = root + path.split(separator: "/").map(String.init)
    let request = RuleRequest(
      .get, path: names, auth: auth, time: time, document: path == "d/one" ? document : nil)
    return rules.evaluate(request, lookUp: lookUp)
  }

  /// The verdict on an expression, as a letter of ``RuleCase/Verdict``.
  package static func verdict(on expression: String) -> String {
    guard let rules = try? RuleSet(file(" match /c/{id} { allow get: if \(expression); }")) else { return "C" }
    let decision = decide(rules, get: "c/x")
    if decision.isAllowed { return "T" }
    return decision.refusals.contains { $0.failure != nil } ? "E" : "F"
  }

  /// The verdict on a file for ``paths``.
  package static func verdict(onFile source: String) -> String {
    guard let rules = try? RuleSet(source) else { return "C" }
    return paths.map { decide(rules, get: $0).isAllowed ? "T" : "D" }.joined()
  }

  /// The verdict on a condition of `allow list`.
  package static func verdict(on query: RuleQueryCorpus.Query) -> String {
    let source = file(
      "function f(a) { return a == 1; } match /q/{id} { allow list: if \(query.condition); } match /n/{id} { allow list: if !(\(query.condition)); }"
    )
    guard let rules = try? RuleSet(source) else { return "C" }
    func isAllowed(_ collection: String) -> Bool {
      let query = RuleQuery(
        parent: root, collection: collection, filter: query.filter, orders: query.orders, limit: query.limit,
        offset: query.offset)
      return rules.evaluate(query, auth: auth, time: time, lookUp: lookUp).isAllowed
    }
    return isAllowed("q") ? "T" : isAllowed("n") ? "F" : "E"
  }
}
