import Foundation
import HearthModel
import Testing

@testable import HearthAuthentication

@Suite("The form of a token")
struct TokenTests {
  private static func part(_ json: String) -> String {
    TestIssuer.url(Data(json.utf8).base64EncodedString())
  }

  private static func token(_ header: String, _ payload: String = "{}", signature: String = "c2ln") -> String {
    "\(part(header)).\(part(payload)).\(signature)"
  }

  @Test("a token is read with all kinds of claims")
  func read() throws {
    let payload =
      #"{"sub":"a","n":1,"big":9223372036854775807,"d":1.5,"t":true,"z":null,"l":[1,"x"],"m":{"k":{"i":2}}}"#
    let token = try Token(Self.token(#"{"alg":"RS256","kid":"k"}"#, payload))
    #expect(token.algorithm == .rs256 && token.keyID == "k")
    #expect(
      token.claims
        == [
          "sub": .string("a"), "n": .integer(1), "big": .integer(.max), "d": .double(1.5), "t": .boolean(true),
          "z": .null, "l": .array([.integer(1), .string("x")]), "m": .map(["k": .map(["i": .integer(2)])]),
        ])
    #expect(token.signature == Array("sig".utf8))
    #expect(String(decoding: token.signedBytes, as: UTF8.self).split(separator: ".").count == 2)
  }

  @Test(
    "anything else is refused with the rule, and without a word of the token",
    arguments: [
      ("", "parts"), ("a", "parts"), ("a.b", "parts"), ("a.b.c.d", "parts"),
      ("!.e30.c2ln", "base64url"), (token(#"{"alg":"RS256"}"#, signature: ""), "signature"),
      (token(#"{"alg":"RS256"}"#, signature: "c2ln="), "signature"),
      // Bits that no byte needs, which would make one token many.
      (token(#"{"alg":"RS256"}"#, signature: "c2l"), "signature"),
      (token(#"{"alg":"RS256"}"#, signature: "c3"), "signature"),
      (token(#"{"alg":"none"}"#), "algorithm"), (token(#"{"alg":"None"}"#), "algorithm"),
      (token(#"{"alg":"RS512"}"#), "algorithm"), (token(#"{"alg":1}"#), "algorithm"), (token("{}"), "algorithm"),
      (token("[]"), "JSON object"), (token("nonsense"), "JSON object"),
      (token(#"{"alg":"RS256"}"#, "[1]"), "JSON object"), (token(#"{"alg":"RS256"}"#, "\"x\""), "JSON object"),
      (token(#"{"alg":"RS256","crit":["x"]}"#), "crit"),
      (token(#"{"alg":"RS256"}"#, String(repeating: "[", count: 5_000)), "JSON object"),
      (token(#"{"alg":"RS256"}"#, "{\"a\":" + String(repeating: "{\"a\":", count: 1_500)), "JSON object"),
      (String(repeating: "a", count: 1 << 20), "bytes"),
    ])
  func refused(text: String, rule: String) throws {
    let error = try #require(throws: TokenError.self) { _ = try Token(text) }
    #expect(error.description.contains(rule), "\(error)")
    #expect(error.description.count < 200)
  }
}
