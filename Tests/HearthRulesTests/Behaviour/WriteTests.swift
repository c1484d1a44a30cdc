import HearthRules
import RulesSupport
import Testing

@Suite("Rules for writes")
struct WriteTests {
  private static func decide(
    _ allow: String, _ method: RuleMethod, before: [String: RuleValue]?, after: [String: RuleValue]?
  ) throws -> Bool {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow \(allow); }"))
    let request = RuleRequest(
      method, path: RuleSources.root + ["c", "x"], auth: RuleSources.auth, time: RuleSources.time,
      document: before.map { RuleMap($0) }, changed: after.map { RuleMap($0) })
    return rules.evaluate(request) { _ in .missing }.isAllowed
  }

  @Test("read and write stand for their methods, and no others")
  func methods() throws {
    for method in RuleMethod.allCases {
      let isRead = method == .get || method == .list
      #expect(try Self.decide("read", method, before: nil, after: nil) == isRead)
      #expect(try Self.decide("write", method, before: nil, after: nil) == !isRead)
      #expect(try Self.decide(method.rawValue, method, before: nil, after: nil))
    }
  }

  @Test("writes are in the transaction of their commit, and reads are in none")
  func inTransaction() throws {
    for method in RuleMethod.allCases where method != .list {
      let isWrite = method != .get
      #expect(
        try Self.decide("\(method.rawValue): if request.inTransaction == \(isWrite)", method, before: nil, after: nil))
    }
  }

  @Test(
    "a new document has no resource, and request.resource is what it will be",
    arguments: [
      "resource == null", "request.resource.data.a == 1", "request.resource.id == 'x'", "request.method == 'create'",
      "request.resource.__name__ == /databases/(default)/documents/c/x",
      "request.resource.keys().hasOnly(['data', 'id', '__name__'])", "request.resource.data.keys() == ['a']",
    ])
  func create(_ condition: String) throws {
    #expect(try Self.decide("create: if \(condition)", .create, before: nil, after: ["a": .int(1)]))
  }

  @Test(
    "an update sees the document before and after",
    arguments: [
      ("resource.data.a == 1 && request.resource.data.a == 2", true),
      ("request.resource.data.diff(resource.data).affectedKeys().hasOnly(['a'])", true),
      ("request.resource.data.diff(resource.data).affectedKeys().hasOnly(['b'])", false),
      ("request.resource.data.b == resource.data.b", true),
      ("request.resource.data.owner == resource.data.owner", false),
    ])
  func update(_ condition: String, _ isAllowed: Bool) throws {
    #expect(
      try Self.decide(
        "update: if \(condition)", .update, before: ["a": .int(1), "b": .string("x")],
        after: ["a": .int(2), "b": .string("x")]) == isAllowed)
  }

  @Test("a number that is none and stays so is no change, as in production")
  func unchangedNaN() throws {
    let condition = "update: if request.resource.data.diff(resource.data).affectedKeys().hasOnly(['a'])"
    let before: [String: RuleValue] = ["a": .int(1), "n": .float(.nan), "l": .list([.float(.nan)])]
    let after = before.merging(["a": .int(2)]) { $1 }
    #expect(try Self.decide(condition, .update, before: before, after: after))
    #expect(try !Self.decide(condition, .update, before: before, after: after.merging(["n": .float(1)]) { $1 }))
  }

  @Test("a deletion has a resource and no request.resource")
  func delete() throws {
    #expect(
      try Self.decide(
        "delete: if resource.data.a == 1 && request.resource == null", .delete, before: ["a": .int(1)], after: nil))
  }
}
