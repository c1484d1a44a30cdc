import Foundation
import JWTKit
import TestSupport

/// Tokens, headers and keys to begin with.
enum TokenSeeds {
  private static let generatedCount = 40

  static func make(_ fuzz: TokenFuzz) throws -> [[UInt8]] {
    var random = SeededGenerator(seed: 1)
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(random.below(256)) } }
    let unsigned = fuzz.goodTokens.map { token in
      token.split(separator: ".").dropLast().joined(separator: ".") + ".c2lnbmF0dXJl"
    }
    var seeds: [[UInt8]] = unsigned.map { seed(.text, Array($0.utf8)) }
    seeds += unsigned.map { seed(.header, Array("bearer  \($0) ".utf8)) }
    seeds += ["Basic dXNlcjpwYXNz", "Bearer owner", "Bearer"].map { seed(.header, Array($0.utf8)) }
    for (number, signer) in fuzz.signers.enumerated() {
      let claims =
        #"{"iss":"\#(signer.issuer)","aud":["\#(signer.audience)"],"sub":"a","exp":1900000000,"n":[1,{"x":null}]}"#
      seeds.append(seed(.payload, [UInt8(number)] + Array(claims.utf8)))
      seeds.append(seed(.tokenHeader, [UInt8(number)] + Array(signer.header.utf8)))
    }
    for number in 0..<generatedCount {
      seeds.append(seed(.claims, bytes(number + 1)))
      seeds.append(seed(.changes, bytes(number / 2 + 1)))
    }
    return seeds + keys.map { seed(.keys, Array($0.utf8)) }
  }

  private static func seed(_ kind: TokenFuzz.Kind, _ bytes: [UInt8]) -> [UInt8] { [kind.rawValue] + bytes }

  private static var keys: [String] {
    let certificate = TestAuthority.server.replacing("\n", with: "\\n")
    return [
      TestAuthority.server, TestServiceAccount.publicKey, #"{"k1":"\#(certificate)","k2":"\#(certificate)"}"#,
      ES256PrivateKey().publicKey.pemRepresentation,
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"e","use":"sig","alg":"ES256"}]}"#,
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"o"},{"kty":"RSA","n":"\#(modulus)","e":"AQAB","kid":"r","alg":"RS256"}]}"#,
    ]
  }

  /// A number of 2048 bits.
  private static let modulus = String(repeating: "v", count: 341) + "w"
}
