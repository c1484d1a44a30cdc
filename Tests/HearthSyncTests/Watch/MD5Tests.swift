import Crypto
import TestSupport
import Testing

@testable import HearthSync

@Suite("MD5")
struct MD5Tests {
  private func hex(_ text: String) -> String {
    var text = text
    let halves = text.withUTF8 { MD5.digest(of: UnsafeRawBufferPointer($0)) }
    return hex(bytes(halves))
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private func bytes(_ halves: (UInt64, UInt64)) -> [UInt8] {
    [halves.0, halves.1].flatMap { half in withUnsafeBytes(of: half.littleEndian) { Array($0) } }
  }

  @Test(
    "gives the digests of RFC 1321, A.5",
    arguments: [
      ("", "d41d8cd98f00b204e9800998ecf8427e"),
      ("a", "0cc175b9c0f1b6a831c399e269772661"),
      ("abc", "900150983cd24fb0d6963f7d28e17f72"),
      ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
      ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
      (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"
      ),
      (
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        "57edf4a22be3c955ac49da2e2107b67a"
      ),
    ])
  func vectors(_ text: String, _ digest: String) {
    #expect(hex(text) == digest)
  }

  @Test("gives the digests of swift-crypto, for every length up to five blocks")
  func differential() {
    var random = SeededGenerator(seed: 1321)
    for count in 0...320 {
      let message = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      let own = message.withUnsafeBytes { MD5.digest(of: $0) }
      #expect(bytes(own) == Array(Insecure.MD5.hash(data: message)), "\(count) bytes")
    }
  }
}
