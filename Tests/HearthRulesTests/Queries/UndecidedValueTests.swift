import RulesSupport
import Testing

@testable import HearthRules

/// Conditions about what the filters of a query leave open. Some document of the result does not meet them.
@Suite("What a query leaves open")
struct UndecidedValueTests {
  private func isAllowed(_ condition: String, _ filter: RuleFilter) throws -> Bool {
    let rules = try RuleSet(RuleSources.file("match /q/{id} { allow list: if \(condition); }"))
    let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: filter)
    return rules.evaluate(query, auth: RuleSources.auth, time: RuleSources.time, lookUp: RuleSources.lookUp).isAllowed
  }

  @Test(
    "is no member of a list or a map, so that no comparison of these decides on it",
    arguments: [
      "!(['secret'].hasAny([resource.data.v]))", "!('secret' in [resource.data.v, 'x'])",
      "[resource.data.v] != ['secret']",
      "!(['secret'].toSet().hasAny([resource.data.v].toSet()))", "['secret'].removeAll([resource.data.v]).size() == 1",
      "{'v': 'secret'}.diff({'v': resource.data.v}).changedKeys().size() == 1",
      "{'v': resource.data.v} != {'v': 'secret'}",
      "[resource.data] != [{'v': 'secret'}]", "resource.data.v.hasAll([])",
    ])
  func members(condition: String) throws {
    #expect(try !isAllowed(condition, .field(["v"], .greaterOrEqual, .string(""))))
  }

  @Test("a member that a comparison has decided is one")
  func decidedMember() throws {
    #expect(try isAllowed("[resource.data.v >= ''][0]", .field(["v"], .greaterOrEqual, .string(""))))
    #expect(try isAllowed("resource.data.v in ['a', 'b']", .field(["v"], .equal, .string("a"))))
  }

  @Test(
    "a filter by a floating-point number that is whole is allowed only if one by the integer is, too",
    arguments: [
      ("!(resource.data.v in [3, 4])", RuleFilter.Relation.equal, RuleValue.float(3)),
      ("!(resource.data.v in [3, 4])", .in, .list([.float(3)])),
      ("!(resource.data.v is int)", .equal, .float(3)), ("!(string(resource.data.v) == '3')", .equal, .float(3)),
      ("!resource.data.v.hasAny([7])", .equal, .list([.float(7)])),
      ("!resource.data.v.hasAny([7])", .arrayContains, .float(7)),
      ("!resource.data.v.values().hasAny([7])", .equal, .map(["a": .float(7)])),
      ("!exists(/databases/(default)/documents/d/$(resource.data.v is int ? 'one' : 'none'))", .equal, .float(1)),
      ("exists(/databases/(default)/documents/d/$(resource.data.v is int ? 'one' : 'none'))", .equal, .float(1)),
    ])
  func wholeNumbers(condition: String, relation: RuleFilter.Relation, value: RuleValue) throws {
    #expect(try !isAllowed(condition, .field(["v"], relation, value)))
  }

  @Test("a filter by a number that is not whole is exact, and one that is proves what holds for both types")
  func otherNumbers() throws {
    #expect(try isAllowed("resource.data.v == 3 && resource.data.v < 4", .field(["v"], .equal, .float(3))))
    #expect(try isAllowed("resource.data.v == 3.5 && resource.data.v is float", .field(["v"], .equal, .float(3.5))))
    #expect(try isAllowed("resource.data.v in [1, 2]", .field(["v"], .equal, .int(1))))
  }

  @Test("a reference or a time that a filter excludes may stand for others")
  func excluded() throws {
    let path = RuleValue.path(RulePath(RuleSources.root + ["users", "x"]))
    for value in [path, .list([path]), .map(["p": path]), .timestamp(RuleSources.time)] {
      for filter in [RuleFilter.field(["v"], .notEqual, value), .field(["v"], .notIn, .list([value]))] {
        #expect(try !isAllowed("resource.data.v != /databases/(default)/documents/users/x", filter))
      }
    }
    #expect(try isAllowed("resource.data.v != 'a'", .field(["v"], .notEqual, .string("a"))))
  }

  @Test("a number from 2^53 on that a filter excludes proves nothing, because rules compare it as a double")
  func excludedLargeNumbers() throws {
    // The number of the filter, and one to which rules take it for equal.
    let large: [(RuleValue, String)] = [
      (.float(0x1p53), "9007199254740993"), (.int(1 << 53), "9007199254740992.0"),
      (.int(.max), "9223372036854775808.0"),
      (.float(0x1p53), "9007199254740992"), (.int((1 << 53) + 1), "9007199254740992.0"),
    ]
    for (number, text) in large {
      for (value, literal) in [(number, text), (.list([number]), "[\(text)]"), (.map(["n": number]), "{'n': \(text)}")]
      {
        for filter in [RuleFilter.field(["v"], .notEqual, value), .field(["v"], .notIn, .list([value]))] {
          #expect(try !isAllowed("resource.data.v != \(literal)", filter), "\(literal)")
        }
      }
    }
    let last = RuleFilter.field(["v"], .notEqual, .int((1 << 53) - 1))
    #expect(try isAllowed("resource.data.v != \((1 << 53) - 1)", last))
  }

  @Test("a filter by a place with a coordinate of 0 is allowed only if one by that of -0 is, too")
  func zeroCoordinates() throws {
    for (latitude, longitude) in [(0.0, 1.0), (-0.0, 1), (1, 0), (0, -0.0)] {
      let place = try RuleValue.latlng(#require(RuleLatLng(latitude: latitude, longitude: longitude)))
      for zero in ["0.0", "-0.0"] {
        let condition = "!(resource.data.v.latitude() in [\(zero)] || resource.data.v.longitude() in [\(zero)])"
        #expect(try !isAllowed(condition, .field(["v"], .equal, place)), "\(latitude), \(longitude), \(zero)")
      }
      #expect(try isAllowed("resource.data.v.latitude() < 2", .field(["v"], .equal, place)))
    }
  }

  @Test("an offset is a number, also where a query has none")
  func offset() throws {
    let rules = try RuleSet(RuleSources.file("match /q/{id} { allow list: if request.query.offset == 0; }"))
    let none = RuleQuery(parent: RuleSources.root, collection: "q")
    for (offset, isAllowed) in [(nil, true), (0, true), (1, false)] as [(Int64?, Bool)] {
      var query = none
      if let offset { query.offset = offset }
      #expect(
        rules.evaluate(query, auth: .null, time: RuleSources.time, lookUp: RuleSources.lookUp).isAllowed == isAllowed)
    }
  }
}

@Suite("Members of sets")
struct LooseKeyTests {
  @Test("different maps, places and vectors have different hashes, so that a set of them costs no more than others")
  func hashes() {
    let values: [(Int) -> RuleValue] = [
      { .map(["a": .int(Int64($0))]) }, { .map(["a": .map(["b": .int(Int64($0))])]) }, { .vector([Double($0)]) },
      { .list([.map(["a": .int(Int64($0))])]) },
    ]
    for value in values {
      #expect(Set((0..<1_000).map { LooseKey(value($0)).hashValue }).count > 900)
    }
    #expect(LooseKey(.map(["a": .int(1), "b": .int(2)])) == LooseKey(.map(["b": .float(2), "a": .float(1)])))
    #expect(
      LooseKey(.map(["a": .int(1), "b": .int(2)])).hashValue
        == LooseKey(.map(["b": .float(2), "a": .float(1)])).hashValue)
  }
}
