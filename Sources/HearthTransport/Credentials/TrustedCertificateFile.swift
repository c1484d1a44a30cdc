internal import Foundation

/// A PEM file with the certificates of authorities to trust, see ``TransportConfiguration/trustedCertificateFiles``.
package enum TrustedCertificateFile {
  /// The reason why a file cannot be used.
  package enum Fault: Error {
    /// The system does not let us read it.
    case unreadable(String)
    /// There is no certificate in it, or one that is damaged. Continues the sentence "the file …".
    case content(String)
  }

  /// Larger files are something else; the authorities of a whole system have a quarter of this.
  private static let maximumBytes = 1024 * 1024

  package static func check(_ path: String) throws(Fault) {
    if let fault = fault(try content(of: path)) { throw .content(fault) }
  }

  /// The bytes of a file of certificates or keys.
  static func content(of path: String) throws(Fault) -> Data {
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      return try file.read(upToCount: maximumBytes + 1) ?? Data()
    } catch {
      throw .unreadable(FileFailure.reason(error))
    }
  }

  private static func fault(_ content: Data) -> String? {
    guard content.count <= maximumBytes else {
      return "has more than \(maximumBytes) bytes, so it is not a list of certificates"
    }
    let (begin, end) = (Data("-----BEGIN CERTIFICATE-----".utf8), Data("-----END CERTIFICATE-----".utf8))
    var number = 0
    var rest = content
    while let start = rest.range(of: begin) {
      number += 1
      guard let stop = rest[start.upperBound...].range(of: end) else {
        return "has certificate \(number) without an end (\"-----END CERTIFICATE-----\" is missing)"
      }
      let text = rest[start.upperBound..<stop.lowerBound].filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
      guard let bytes = Data(base64Encoded: text), isSequence([UInt8](bytes)) else {
        return "has certificate \(number) damaged: it is not base64 of one ASN.1 sequence"
      }
      rest = rest[stop.upperBound...]
    }
    return number == 0 ? "has no certificate in PEM form (\"-----BEGIN CERTIFICATE-----\" is missing)" : nil
  }

  /// Returns whether the bytes are one DER sequence (ITU-T X.690) that ends where they do, as every certificate is.
  private static func isSequence(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 2, bytes[0] == 0x30 else { return false }
    guard bytes[1] & 0x80 != 0 else { return Int(bytes[1]) == bytes.count - 2 }
    let lengthBytes = Int(bytes[1] & 0x7f)
    guard (1...4).contains(lengthBytes), bytes.count >= 2 + lengthBytes else { return false }
    let length = bytes[2..<(2 + lengthBytes)].reduce(0) { $0 << 8 | Int($1) }
    return length == bytes.count - 2 - lengthBytes
  }
}
