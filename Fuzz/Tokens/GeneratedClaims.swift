import TestSupport

/// The payload of a token, by choices, and whether it must be accepted.
struct GeneratedClaims {
  static let now = 1_800_000_000

  private(set) var isGood = true
  private(set) var subject = ""
  private var members: [String] = []

  /// - Parameter signer: Whose key signs.
  init(of signer: TokenSigner, by choices: inout ByteChoices) {
    add("iss", signer.issuer, ["https://id.example.org", "", "demo"], &choices)
    switch choices.below(8) {
    case 0:
      let bad = ["\"other\"", "[]", "[1]", "null", "{}", "[\"x\",[\"\(signer.audience)\"]]"]
      addBad("aud", choices.element(bad))
    case 1: isGood = false
    case 2, 3: members.append(#""aud":["x",1,"\#(signer.audience)"]"#)
    default: members.append(#""aud":"\#(signer.audience)""#)
    }
    add(
      "exp", good: ["\(Self.now + 3_600)", "\(Self.now - 59)", "\(Self.now).5", "1e300", "9223372036854775807"],
      bad: ["\(Self.now - 60)", "0", "-1", "\"\(Self.now + 60)\"", "null", "true", "1e400", "[]"], isNeeded: true,
      &choices)
    for name in ["nbf", "iat", "auth_time"] {
      add(
        name, good: ["\(Self.now)", "\(Self.now + 60)", "0", "-1e300", "1.5"],
        bad: ["\(Self.now + 61)", "1e300", "\"0\"", "null", "false", "{}"], isNeeded: false, &choices)
    }
    subject = choices.element(["alice", "é😀", String(repeating: "x", count: 255), "a/b"])
    let badSubjects = ["", String(repeating: "x", count: 256)]
    switch choices.below(12) {
    case 0: addBad("sub", "\"\(choices.element(badSubjects))\"")
    case 1: addBad("sub", choices.element(["1", "null", "[\"alice\"]"]))
    case 2: isGood = false
    default: members.append("\"sub\":\"\(subject)\"")
    }
    addNested(&choices)
  }

  /// The payload as JSON.
  var payload: [UInt8] { Array("{\(members.joined(separator: ","))}".utf8) }

  private mutating func addBad(_ name: String, _ json: String) {
    isGood = false
    members.append("\"\(name)\":\(json)")
  }

  private mutating func add(_ name: String, _ good: String, _ bad: [String], _ choices: inout ByteChoices) {
    switch choices.below(12) {
    case 0: addBad(name, "\"\(choices.element(bad))\"")
    case 1: addBad(name, choices.element(["1", "null", "[\"\(good)\"]", "{}"]))
    case 2: isGood = false
    default: members.append("\"\(name)\":\"\(good)\"")
    }
  }

  private mutating func add(
    _ name: String, good: [String], bad: [String], isNeeded: Bool, _ choices: inout ByteChoices
  ) {
    switch choices.below(12) {
    case 0: addBad(name, choices.element(bad))
    case 1, 2: if isNeeded { isGood = false }
    default: members.append("\"\(name)\":\(choices.element(good))")
    }
  }

  /// Claims may nest 32 levels, the payload among them.
  private mutating func addNested(_ choices: inout ByteChoices) {
    guard choices.chance(30) else { return }
    let depth = choices.element([1, 31, 32, 5_000])
    if depth > 31 { isGood = false }
    let (open, close) = choices.chance(50) ? ("[", "]") : (#"{"a":"#, "}")
    let inner = choices.element(["1", "null", "\"x\"", "1e400", "01", "-0", "18446744073709551616"])
    // Neither is a number that JSON has, or that a claim can be.
    if ["1e400", "01"].contains(inner) { isGood = false }
    members.append(
      "\"more\":" + String(repeating: open, count: depth) + inner + String(repeating: close, count: depth))
  }
}
