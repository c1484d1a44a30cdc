import HearthRules
import RulesSupport
import Testing

@Suite("Matches of queries")
struct CollectionGroupTests {
  /// The emulator has answered the same, except for the two that use a variable for the path or the id.
  @Test(
    "a query is allowed if a match takes all documents that it can return",
    arguments: [
      ("match /{p=**}/q/{id} { allow list; }", true, true), ("match /q/{id} { allow list; }", true, false),
      ("match /c/{a}/q/{id} { allow list; }", false, false), ("match /{p=**} { allow list; }", true, true),
      ("match /c/{p=**} { allow list; }", false, false),
      ("match /{p=**}/{coll}/{id} { allow list: if coll == 'q'; }", true, true),
      ("match /{p=**}/q/{id} { allow list: if p is path; }", true, false),
      ("match /{p=**}/q/{id} { allow list: if id != null; }", false, false),
      ("match /{p=**}/c/{a}/q/{id} { allow list; }", false, false), ("match /{p=**}/q/x { allow list; }", false, false),
      ("match /q/{id=**} { allow list; }", true, false), ("match /q/x { allow list; }", false, false),
      ("match /q/{id=**} { allow list: if string(id) != ''; }", false, false),
      ("match /{a}/{b} { allow list: if a == 'q'; }", true, false), ("match /q/{id} { allow get; }", false, false),
      // Ours is stricter: the documents of a group have other paths.
      ("match /{p=**} { allow list: if request.path[3] == 'q'; }", true, false),
    ])
  func matches(_ body: String, _ isCollectionAllowed: Bool, _ isGroupAllowed: Bool) throws {
    let rules = try RuleSet(RuleSources.file(body))
    for (isGroup, isAllowed) in [(false, isCollectionAllowed), (true, isGroupAllowed)] {
      let query = RuleQuery(parent: RuleSources.root, collection: "q", hasAllDescendants: isGroup)
      let decision = rules.evaluate(query, auth: .null, time: RuleSources.time, lookUp: RuleSources.lookUp)
      #expect(decision.isAllowed == isAllowed, "\(body), group: \(isGroup)")
    }
  }

  @Test("a query of a collection below a document sees the names of its path")
  func subcollection() throws {
    let rules = try RuleSet(RuleSources.file("match /c/{a}/q/{id} { allow list: if a == 'x'; }"))
    for (id, isAllowed) in [("x", true), ("y", false)] {
      let query = RuleQuery(parent: RuleSources.root + ["c", id], collection: "q")
      #expect(
        rules.evaluate(query, auth: .null, time: RuleSources.time, lookUp: RuleSources.lookUp).isAllowed == isAllowed)
    }
  }

  @Test("a query has 30 disjuncts at most, and all of them have to be allowed")
  func disjuncts() throws {
    let rules = try RuleSet(RuleSources.file("match /q/{id} { allow list: if resource.data.a < 30; }"))
    func isAllowed(_ values: [Int64]) -> Bool {
      let filter = RuleFilter.field(["a"], .in, .list(values.map { .int($0) }))
      let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: filter)
      return rules.evaluate(query, auth: .null, time: RuleSources.time, lookUp: RuleSources.lookUp).isAllowed
    }
    #expect(isAllowed(Array(0..<30)))
    #expect(!isAllowed([1, 2, 30]))
    #expect(!isAllowed(Array(0..<31)))
    #expect(!isAllowed([]))
  }

  @Test("documents that several disjuncts need are named once")
  func documents() throws {
    let rules = try RuleSet(
      RuleSources.file(
        "match /q/{id} { allow list: if exists(/databases/$(database)/documents/d/$(resource.data.a)); }"))
    let filter = RuleFilter.or(["1", "2", "1"].map { .field(["a"], .equal, .string($0)) })
    let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: filter)
    let decision = rules.evaluate(query, auth: .null, time: RuleSources.time) { _ in .notRead }
    let wanted = ["1", "2"].map { LookedUpDocument(path: RuleSources.root + ["d", $0], isAfterwards: false) }
    #expect(decision.answer == .needsDocuments(wanted))
  }
}
