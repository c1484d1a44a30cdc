import HearthRules
import RulesSupport
import Testing

@Suite("Queries that name documents")
struct QueriesByNameTests {
  private static func name(_ id: String, in collection: String = "q") -> RuleValue {
    .path(RulePath(RuleSources.root + [collection, id]))
  }

  private static func isAllowed(_ body: String, _ filter: RuleFilter, isGroup: Bool = false) throws -> Bool {
    let query = RuleQuery(parent: RuleSources.root, collection: "q", hasAllDescendants: isGroup, filter: filter)
    return try RuleSet(RuleSources.file(body))
      .evaluate(query, auth: RuleSources.auth, time: RuleSources.time, lookUp: RuleSources.lookUp).isAllowed
  }

  private static let alice = RuleFilter.field(["__name__"], .equal, name("alice"))
  private static let both = RuleFilter.field(["__name__"], .in, .list([name("alice"), name("bob")]))

  /// The emulator has answered the same.
  @Test(
    "each document is decided with its id",
    arguments: [
      ("match /q/{id} { allow list: if id == request.auth.uid; }", true, false),
      ("match /q/{id} { allow list: if id in ['alice', 'bob']; }", true, true),
      ("match /q/alice { allow list; }", true, false),
      ("match /q/{id} { allow list: if resource.id == 'alice'; }", true, false),
      ("match /q/{id} { allow list: if resource.__name__ == /databases/$(database)/documents/q/alice; }", true, false),
      ("match /q/{id} { allow list: if request.path == /databases/$(database)/documents/q/alice; }", true, false),
      ("match /q/{id} { allow list: if request.method == 'list'; }", true, true),
      ("match /q/{id} { allow get: if id == 'alice'; }", false, false),
      ("match /{p=**} { allow list: if p[1] == 'alice'; }", true, false),
    ])
  func ids(_ body: String, _ isOneAllowed: Bool, _ areBothAllowed: Bool) throws {
    #expect(try Self.isAllowed(body, Self.alice) == isOneAllowed, "\(body)")
    #expect(try Self.isAllowed(body, Self.both) == areBothAllowed, "\(body)")
    let or = RuleFilter.or([Self.alice, .field(["__name__"], .equal, Self.name("bob"))])
    #expect(try Self.isAllowed(body, or) == areBothAllowed, "\(body)")
    let narrower = RuleFilter.and([Self.both, .field(["a"], .equal, .int(1))])
    #expect(try Self.isAllowed(body, narrower) == areBothAllowed, "\(body)")
  }

  @Test("what filters leave open, the contents of the named documents decide, each of them")
  func contents() throws {
    let rules = try RuleSet(
      RuleSources.file("match /q/{id} { allow list: if resource.data.owner == request.auth.uid && resource.id == id; }")
    )
    func decide(_ filter: RuleFilter, _ documents: [String: DocumentLookup]) -> RuleDecision {
      let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: filter)
      return rules.evaluate(query, auth: RuleSources.auth, time: RuleSources.time) {
        documents[$0.path.last ?? ""] ?? .notRead
      }
    }
    let names = ["alice", "bob"].map { LookedUpDocument(path: RuleSources.root + ["q", $0], isAfterwards: false) }
    #expect(decide(Self.both, [:]).answer == .needsDocuments(names))
    let own = DocumentLookup.found(RuleMap(["owner": .string("alice")]))
    let others = DocumentLookup.found(RuleMap(["owner": .string("bob")]))
    #expect(decide(Self.both, ["alice": own, "bob": own]).isAllowed)
    #expect(decide(Self.both, ["alice": own, "bob": own]).named == names)
    #expect(decide(Self.both, ["alice": own, "bob": own]).documents.isEmpty)
    for other in [others, .missing, .found(RuleMap([:]))] {
      #expect(decide(Self.both, ["alice": own, "bob": other]).answer == .denied)
      #expect(decide(Self.both, ["alice": other, "bob": own]).answer == .denied)
    }
    #expect(decide(.or([Self.alice, .field(["a"], .equal, .int(1))]), ["alice": own]).answer == .denied)
    // What the filters tell is enough.
    let filtered = RuleFilter.and([Self.both, .field(["owner"], .equal, .string("alice"))])
    #expect(decide(filtered, [:]).isAllowed)
    #expect(decide(filtered, [:]).named.isEmpty)
  }

  @Test("a filter that leaves other documents open says nothing of their ids")
  func others() throws {
    let body = "match /q/{id} { allow list: if id == 'alice'; } match /{p=**}/q/{id} { allow list: if id == 'alice'; }"
    #expect(try Self.isAllowed(body, Self.alice))
    let filters: [RuleFilter] = [
      .or([Self.alice, .field(["a"], .equal, .int(1))]), .field(["__name__"], .notEqual, Self.name("alice")),
      .field(["__name__"], .greaterOrEqual, Self.name("alice")), .field(["a"], .equal, Self.name("alice")),
      // None of these is a document of the collection.
      .field(["__name__"], .equal, Self.name("alice", in: "r")), .field(["__name__"], .equal, .string("alice")),
      .field(["__name__"], .equal, .path(RulePath(RuleSources.root + ["q", "alice", "q", "alice"]))),
      .field(["__name__"], .equal, .path(RulePath(["databases", "other", "documents", "q", "alice"]))),
    ]
    for filter in filters { #expect(try !Self.isAllowed(body, filter), "\(filter)") }
    #expect(try !Self.isAllowed(body, Self.alice, isGroup: true))
  }
}
