import Foundation
import TestSupport
import Testing

/// Both commands have one parser; each case goes through both programs. Words are looked at before a server or a folder is.
@Suite("The grammar of hearth data and hearth cache", .timeLimit(.minutes(5)))
struct CommandGrammarTests {
  private func outputs(_ arguments: [String]) async throws -> [Programs.Output] {
    let hearth = Programs.product("hearth")
    return [
      try await Programs.runInBackground(
        hearth, ["data", "query", "cities", "--host", "127.0.0.1:1"] + arguments),
      try await Programs.runInBackground(hearth, ["cache", "query", "/no/folder", "cities"] + arguments),
    ]
  }

  private func expectRefusal(_ arguments: [String], _ advice: String) async throws {
    for (output, name) in zip(try await outputs(arguments), ["data", "cache"]) {
      #expect(output.status == 64, "\(name) \(arguments): \(output.status) \(output.text)")
      #expect(output.text.hasPrefix("hearth \(name): --"), "\(output.text)")
      #expect(output.text.contains(advice), "\(name) \(arguments): \(output.text)")
      #expect(!output.text.contains("..\n") && output.text.filter { $0 == "\n" }.count == 1, "\(output.text)")
    }
  }

  @Test(
    "an operator that does not exist is refused with its place and the nearest one",
    arguments: [
      ("n <> 2", "\"<>\" (character 3). Write 'n != 2'"), ("n => 1", "Write 'n >= 1'"), ("n =< 50", "Write 'n <= 50'"),
      ("n === 1", "Write 'n == 1'"), ("n !== 1", "Write 'n != 1'"), ("n =! 1", "Write 'n != 1'"),
      ("n ==< 1", "Write 'n <= 1'"), ("n ==> 1", "Write 'n >= 1'"), ("n ~= 1", "Write 'n == 1'"),
      ("n~1", "Write 'n == 1'"), ("n << 1", "Write 'n < 1'"), ("n >> 1", "Write 'n > 1'"), ("n >< 1", "Write 'n != 1'"),
      ("n ! 1", "Write 'n != 1'"), ("n := 1", "Write 'n == 1'"), ("n ≠ 1", "Write 'n != 1'"), ("n≤1", "Write 'n <= 1'"),
      ("n = > 1", "Write 'n >= 1'"), ("state ! = CA", "\"! =\" (character 7). Write 'state != CA'"),
      ("n & 1", "The operators are ==, !="), ("n is 1", "Write 'n == 1'"),
      ("n is not 1", "Write 'n != 1'"), ("n eq 1", "Write 'n == 1'"), ("tags inn [1]", "Write 'tags in [1]'"),
      ("tags not in [1]", "Write 'tags not-in [1]'"), ("tags contains 1", "Write 'tags array-contains 1'"),
      ("tags array-contain 1", "Write 'tags array-contains 1'"), ("first name == x", "'`first name` == x'"),
    ])
  func operators(condition: String, advice: String) async throws {
    try await expectRefusal(["--where", condition], advice)
  }

  @Test(
    "a missing part of a condition is named",
    arguments: [
      ("", "a field, an operator and a value"), ("== 1", "a field is missing before \"==\" (character 1)"),
      ("n", "Quote the whole condition for the shell."), ("amount >", "a value is missing after \">\" (character 9)"),
      ("amount in", "a value is missing after \"in\""), ("a..b == 1", "single dots"), ("\"n\" == 1", "Write n"),
      ("\"first name\" == 1", "Write `first name`."), ("\"a && b\" == 1", "Write `a && b`."),
      ("`n == 1", "an operator is missing"), ("n in 3", "needs a list"), ("n in []", "needs a list"),
      ("state in CA", #"Write 'state in ["CA"]'"#), ("state in CA,NY", #"Write 'state in ["CA", "NY"]'"#),
      (#"addr["zip"] == 1"#, "because of the character [. Fields within maps are written with dots: addr.zip."),
      ("addr['zip'] == 1", "written with dots: addr.zip."), ("addr/zip == 1", "written with dots: addr.zip."),
      ("a::b == 1", "written with dots: a.b."),
      ("addr->zip == 1", "\"->\" (character 5) is none. Write 'addr.zip == 1'"),
      ("tags[0] == x", "look for one with array-contains"),
    ])
  func parts(condition: String, advice: String) async throws {
    try await expectRefusal(["--where", condition], advice.replacingOccurrences(of: "a field is", with: "field is"))
  }

  @Test(
    "a negation before a condition is refused with the opposite operator",
    arguments: [
      ("not state == CA", "no negation before it (character 1). Write 'state != CA'"), ("NOT n >= 5", "Write 'n < 5'"),
      ("!state == CA", "Write 'state != CA'"), ("!(n in [1])", "Write 'n not-in [1]'"),
      ("not(n < 5)", "Write 'n >= 5'"),
      ("not tags array-contains a", "There is no opposite of array-contains."),
    ])
  func negations(condition: String, advice: String) async throws {
    try await expectRefusal(["--where", condition], advice)
  }

  @Test(
    "a value that is most likely meant as something else is refused with both ways to write it",
    arguments: [
      ("name == 'San Francisco'", #"Write 'name == "San Francisco"' or 'name == San Francisco'"#),
      ("name == “x”", #"Write 'name == "x"'"#), ("name == x\"", #"Write 'name == "x"'"#),
      ("name == \"x", "not complete JSON"),
      ("name == [1", "not complete JSON"), ("ok == True", "Write 'ok == true'"), ("ok == NULL", "Write 'ok == null'"),
      ("n > NaN", #"{"$double": "NaN"}"#), ("n > 01", "Write 'n > 1'"), ("n > .5", "Write 'n > 0.5'"),
      ("n > 1,000", "Write 'n > 1000'"), ("n == x && m == 2", "Repeat --where"),
      (#"n > 5 && m == "x""#, #"--where 'n > 5' --where 'm == "x"'"#), ("n == 'a' && m > 2", "Repeat --where"),
      (#"n > 5 and m == "x""#, #"--where 'n > 5' --where 'm == "x"'"#),
      ("n == x or m > 2", "There is no \"or\""), ("n == x || m > 2", "There is no \"or\""),
      ("n like x", "The operators are"),
      (#"n == "x" && m == 2"#, "Repeat --where"), (#"n == "a \" b" and m > 2"#, "Repeat --where"),
      ("zip == '94103'", #"Write 'zip == "94103"'. If"#), ("ok == 'true'", #"Write 'ok == "true"'. If"#),
      ("name == ''", #"Write 'name == ""'. If"#), ("n == '1,2'", #"Write 'n == "1,2"'. If"#),
      ("n > 1,5", "Write 'n > 1.5' for a number, 'n > [1, 5]' for a list"),
      ("n in 1, 2, 3", "Write 'n in [1, 2, 3]' for a list"), ("n > 1,000,000", "Write 'n > 1000000'"),
      (#"n == "x && y"#, "not complete JSON"), ("n == 'x && y'", "in double quotation marks or in none"),
      (#"n foo "a == b""#, "The operators are"), ("n == “a || b”", "in double quotation marks or in none"),
      (#"n == "x" and "y""#, "not complete JSON"),
      ("n > {\"$time\": 1}", "the nearest is $timestamp"),
      ("tags array-contains-any ['bay']", #"Write 'tags array-contains-any ["bay"]'"#),
      ("state in [CA, 'New York', 5]", #"Write 'state in ["CA", "New York", 5]'"#),
      ("t > {'$timestamp': '2026-03-01T12:30:00Z'}", #"Write 't > {"$timestamp": "2026-03-01T12:30:00Z"}'"#),
      ("t > {\"$timestamp\": 1700000000}", #"write {"$timestamp": "2023-11-14T22:13:20Z"}"#),
      ("p == {\"$geopoint\": {\"latitude\": 1.5, \"longitude\": 2}}", #"write {"$geopoint": [1.5, 2]}"#),
    ])
  func values(condition: String, advice: String) async throws {
    try await expectRefusal(["--where", condition], advice)
  }

  @Test(
    "a semicolon or a comma is refused with its place and the right form",
    arguments: [
      ("n == 5;", "ends in \";\". Write 'n == 5'. If"),
      ("state == CA;", "Write 'state == CA'. If that is part of a text"),
      (#"name == "x";"#, #"Write 'name == "x"'. If"#), ("n in [1, 2],", "ends in \",\". Write 'n in [1, 2]'"),
      ("name == 'x';", #"Write 'name == "x"'"#), ("n == 5,", "Write 'n == 5'"),
      ("n == 5; m == 3", "--where 'n == 5' --where 'm == 3'"), ("a == x, b > 2", "--where 'a == x' --where 'b > 2'"),
      (#"a == "x" && b == "y; z""#, #"--where 'a == "x"' --where 'b == "y; z"'"#),
      ("n; m == 1", "\";\" (character 2) separates no conditions"), ("n,m == 1", "\",\" (character 2) separates no"),
      ("n ; m == 1", "\";\" (character 3) separates no"),
    ])
  func separators(condition: String, advice: String) async throws {
    try await expectRefusal(["--where", condition], advice)
  }

  @Test(
    "an order that is not understood is refused with the nearest one, under both names of the option",
    arguments: [
      ("n:down", "\"down\" (character 3). Write 'n:desc'"), ("n up", "Write 'n:asc'"), ("n:dsc", "Write 'n:desc'"),
      ("n:sideways", "The directions are asc and desc"), ("n:", "Write 'n:desc' or 'n'"), (":desc", "field is missing"),
      ("n,m", "(character 2) is not part of it. Repeat --order-by for each further one: --order-by 'n' --order-by 'm'"),
      ("n:desc;", "Write 'n:desc'"), ("n desc; m", "--order-by 'n desc' --order-by 'm'"), ("-n", "Write 'n:desc'"),
      ("n desc asc", "Write 'n:desc'"), ("a/b", "character /"), ("n,desc", "is not part of it. Write 'n:desc'"),
      ("n, DESC, m", "--order-by 'n:desc' --order-by 'm'"),
      ("n=desc", "not behind \"=\" (character 2). Write 'n:desc'"),
      ("n/asc", "Write 'n:asc'"), ("addr[\"zip\"]", "written with dots: addr.zip."),
    ])
  func orders(order: String, advice: String) async throws {
    try await expectRefusal(["--order-by=\(order)"], advice)
    try await expectRefusal(["--order=\(order)"], advice)
  }

  @Test(
    "positions, limits and paths are refused alike",
    arguments: [
      (["--limit", "0"], "--limit 0"),
      (["--start-at", "[1, 2]"], "The orders are __name__. Without --order-by a position is the id of a document"),
      (["--order-by", "n", "--end-at", "[1, \"a\", 2]"], "such as '[\"CA\", 5]'. The orders are n, __name__."),
      (["--start-after", "true"], "compared with ids or paths of documents. Without --order-by a position is the id"),
      (["--start-at", "1", "--start-after", "2"], "exclude each other"), (["--end-at", "'x'"], "--end-at"),
      (
        ["--order-by", "state", "--order-by", "n", "--start-at", "CA,860000"],
        #"--start-at "CA,860000": a position with a value for each order is a list in brackets. Write '["CA", 860000]'"#
      ),
    ])
  func positions(arguments: [String], advice: String) async throws {
    try await expectRefusal(arguments, advice)
  }
}
