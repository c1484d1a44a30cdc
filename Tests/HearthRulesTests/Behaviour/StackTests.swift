import HearthRules
import RulesSupport
import Testing

/// A call that takes another number of operands than it leaves would give its neighbours to other operators.
@Suite("Operands of calls")
struct StackTests {
  @Test(
    "a call takes all its operands, however many and whether it succeeds or not",
    arguments: [
      "debug(\(list(300)))", "nofun(\(list(300)))", "'a'.nofun(\(list(300)))", "'a'.size(\(list(300)))",
      "f(\(list(300)))",
      "f()", "g(1)", "int(\(list(300)))", "math.abs(\(list(300)))", "math.nofun(\(list(300)))", "nofun()",
      "'a'.nofun()",
      "'a'.replace('a')", "[\(list(300))]", "h(1)", "h(1, 2)",
    ])
  func operands(_ call: String) throws {
    let functions =
      "function f(a) { return a; } function g() { return true; } function h(a) { let b = \(call.hasPrefix("h") ? "a" : call); return a == b; }"
    func isAllowed(_ condition: String) throws -> Bool {
      let source = RuleSources.file(functions + " match /c/{id} { allow get: if \(condition); }")
      return RuleSources.decide(try RuleSet(source), get: "c/x").isAllowed
    }
    #expect(try !isAllowed("id == 'y' && (\(call) == 1 || true)"))
    #expect(try isAllowed("id == 'x' && (\(call) == 1 || true)"))
    #expect(try !isAllowed("(\(call) == 1 || true) && id == 'y'"))
    #expect(try isAllowed("[id == 'y' || (\(call) == 1 || true), false][0]"))
    #expect(try !isAllowed("true ? (\(call) == 1 || true) && id == 'y' : true"))
    #expect(try isAllowed("[1, (\(call) == 1 || true) ? 2 : 3, 4] == [1, 2, 4]"))
  }

  private static func list(_ count: Int) -> String { Array(repeating: "true", count: count).joined(separator: ",") }
}
