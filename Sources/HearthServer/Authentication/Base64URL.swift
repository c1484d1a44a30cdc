internal import Foundation

/// Base64 with the alphabet for URLs, without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
  /// - Parameter isStrict: True for the one text that stands for the bytes. False to take the ordinary alphabet, padding, and any value of
  ///   the bits that the last character has left as well.
  /// - Returns: Nil for text of another form.
  package static func decoded(_ text: some Collection<UInt8>, isStrict: Bool) -> [UInt8]? {
    var base64: [UInt8] = []
    base64.reserveCapacity(text.count + 3)
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"): base64.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): base64.append(UInt8(ascii: "/"))
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        guard !isStrict else { return nil }
        base64.append(byte)
      default: base64.append(byte)
      }
    }
    while !base64.count.isMultiple(of: 4) { base64.append(UInt8(ascii: "=")) }
    guard let bytes = Data(base64Encoded: Data(base64)) else { return nil }
    guard !isStrict || Array(bytes.base64EncodedData()) == base64 else { return nil }
    return [UInt8](bytes)
  }

  package static func encoded(_ bytes: some Collection<UInt8>) -> String {
    let base64 = Data(bytes).base64EncodedString()
    return base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
